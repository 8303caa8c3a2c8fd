"""The expressions of `update_where` and `merge`: SQL's nulls, exact arithmetic, errors that show the place."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from mortice.errors import InvalidArgumentError
from support.expressions import Expression

UTC = dt.timezone.utc
ROWS = pa.record_batch(
    {
        "a": pa.array([1, 2, None], pa.int32()),
        "f": [1.5, None, -2.5],
        "s": ["Ab", "c%d", None],
        "d": pa.array([Decimal("1.25"), None, Decimal("-3.50")], pa.decimal128(10, 2)),
        "day": pa.array([dt.date(2024, 1, 31)] * 3),
        "ts": pa.array([dt.datetime(1969, 12, 31, 23, 30)] * 3, pa.timestamp("us", "UTC")),
        "st": pa.array([{"x": 1}, {"x": None}, None], pa.struct([("x", pa.int32())])),
        "g": pa.array([0.1, 0.2, None], pa.float32()),
    }
)
COLUMNS = ROWS.schema


def value_of(text):
    return Expression(text, COLUMNS).evaluate(ROWS).to_pylist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + 1", [2, 3, None]),
        ("a * 1.1", [Decimal("1.1"), Decimal("2.2"), None]),
        ("2 + 3 * a - 1", [4, 7, None]),
        ("a / 2", [0.5, 1.0, None]),
        ("-7 % 4 + a * 0", [-3, -3, None]),
        ("- -a", [1, 2, None]),
        ("d * 3", [Decimal("3.75"), None, Decimal("-10.50")]),
        ("a = 1 OR f IS NULL", [True, True, None]),
        ("NOT a = 1 AND true", [False, True, None]),
        ("a IN (1, 3)", [True, False, None]),
        ("a IN (1, NULL)", [True, None, None]),
        ("a NOT IN (1, NULL)", [False, None, None]),
        ("a NOT BETWEEN 0 AND 1", [False, True, None]),
        ("a <=> NULL", [False, False, True]),
        ("(a > 1) IS NOT TRUE", [True, False, True]),
        ("s LIKE '_b' OR s LIKE '%\\%%'", [True, True, None]),
        ("s || '''' || upper(s)", ["Ab'AB", "c%d'C%D", None]),
        ("coalesce(s, 'none')", ["Ab", "c%d", "none"]),
        ("substring(s, -2, 1)", ["A", "%", None]),
        ("CASE a WHEN 1 THEN 'one' WHEN 2 THEN s END", ["one", "c%d", None]),
        ("CASE WHEN a <> 1 THEN 1 / (a - 1) ELSE 0 END", [0, 1, 0]),
        ("a <> 1 AND 1 / (a - 1) >= 1", [False, True, None]),
        ("if(a > 1, a, 0)", [0, 2, 0]),
        ("CAST(f AS INT)", [1, None, -2]),
        ("CAST(d AS DECIMAL(5, 1))", [Decimal("1.3"), None, Decimal("-3.5")]),
        ("CAST('1.25' AS DECIMAL(5, 1)) + d * 0", [Decimal("1.300"), None, Decimal("1.300")]),
        ("CAST(ts AS DATE) = day - INTERVAL 1 DAY", [False] * 3),
        ("CAST(ts AS DATE) = DATE '1969-12-31' AND year(ts) = 1969", [True] * 3),
        ("ts + INTERVAL '30' MINUTES = '1970-01-01'", [True] * 3),
        ("st.x + 1", [2, None, None]),
        ("g = 0.1", [True, False, None]),
        ("g * 2 = 0.4", [False, True, None]),
        ("greatest(a, 2)", [2, 2, 2]),
        ("nullif(a, 1)", [None, 2, None]),
    ],
)
def test_values_are_those_of_sql(text, expected):
    assert value_of(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a +", "ends where a value is expected at character 4"),
        ("a = 1 b", "has 'b', which is not expected at character 7"),
        ("(a", "its end where \\) is expected at character 3"),
        ("A + 1", "did you mean 'a'\\?\\), at character 1"),
        ("st.y", "has no field 'y', at character 1"),
        ("read_csv('x')", "calls 'read_csv'; supported: abs"),
        ("'x", "a string that does not end at character 1"),
        ("a; drop", "the sign ';' at character 2"),
        ("CAST(a AS INET)", "the type 'INET'; supported: boolean"),
        ("round(a, 1, 2)", "with 3 arguments, which takes 1 to 2 at character 1"),
        ("DATE '2024-02-30'", "DATE '2024-02-30', which is not one"),
        ("a = 'x'", "int32 and string have no type in common; cast one of them"),
        ("s + 1", "string \\+ int64 is not defined"),
        ("1 / (a - 1)", "divide by zero"),
        ("a + 9223372036854775807", "overflow"),
        ("CAST(s AS INT)", "Failed to parse string"),
        ("(" * 300 + "a" + ")" * 300, "nested more than 200 levels"),
        ("1" * 39, "more than 38 digits"),
        (" + ".join("a" * 2000), "too long"),
    ],
)
def test_what_is_not_defined_is_refused(text, message):
    with pytest.raises(InvalidArgumentError, match=message):
        value_of(text)


def test_an_unknown_column_of_a_wide_table_is_an_error_of_one_line():
    wide = pa.schema([(f"column{number}", pa.int32()) for number in range(2_000)])
    with pytest.raises(InvalidArgumentError, match="column19 and 1,980 more\\)") as raised:
        Expression("nope + 1", wide)
    assert len(str(raised.value)) < 500


def test_only_exact_conditions_are_pushed_down():
    def pushed(text):
        return Expression(text, COLUMNS).pushed_terms()

    assert pushed("3 > a AND (s = 'x' AND upper(s) = 'X') AND day IN (DATE '2024-01-01')") == [
        ("a", "<", 3),
        ("s", "=", "x"),
        ("day", "in", [dt.date(2024, 1, 1)]),
    ]
    assert pushed("a = 1 OR s = 'x'") == []
    assert pushed("a < 2147483648 AND a < 1.5 AND s IN ('x', NULL) AND day = '2024-01-01' AND st.x = 1") == []
