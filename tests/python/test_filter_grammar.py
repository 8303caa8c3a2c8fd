"""Filters as text, and as expressions of pyarrow and polars: they select what other engines select."""

import datetime as dt
import decimal
import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
from mortice.expressions import normal_form

NAN = float("nan")
MOST_TERMS = 4096
ROWS = 200
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("n", pa.int32()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("m", pa.decimal128(6, 2)),
        ("r", pa.struct([("k", pa.int64()), ("w", pa.string())])),
    ]
)
WORDS = ["", "oslo", "os", "lima", "100%", "a_b", "Łódź", "o'neil"]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A table of rows with nulls and NaN in all columns, and its rows in memory."""
    draw = random.Random(7)
    maybe = lambda value: None if draw.random() < 0.2 else value  # noqa: E731
    rows = [
        {
            "id": number,
            "n": maybe(draw.randint(-3, 3)),
            "x": maybe(draw.choice([0.0, -0.0, 1.5, -2.0, 3.0, float("nan"), float("inf")])),
            "s": maybe(draw.choice(WORDS)),
            "b": maybe(draw.random() < 0.5),
            "d": maybe(dt.date(2024, 1, draw.randint(1, 5))),
            "t": maybe(dt.datetime(2024, 1, draw.randint(1, 5), draw.randint(0, 2), tzinfo=dt.timezone.utc)),
            "m": maybe(decimal.Decimal(draw.randint(-300, 300)) / 100),
            "r": maybe({"k": maybe(draw.randint(0, 3)), "w": maybe(draw.choice(WORDS))}),
        }
        for number in range(ROWS)
    ]
    rows = pa.Table.from_pylist(rows, SCHEMA)
    table = mortice.create_table(
        tmp_path_factory.mktemp("grammar") / "t", SCHEMA, name="t", record_key="id", table_type="COPY_ON_WRITE"
    )
    table.insert(rows)
    return table, rows


def ids(rows):
    return sorted(rows["id"].to_pylist())


def random_text(draw, depth):
    """Returns a condition that DuckDB understands as well."""
    if depth > 0 and draw.random() < 0.7:
        kind = draw.choice(["and", "or", "not"])
        if kind == "not":
            return f"not ({random_text(draw, depth - 1)})"
        return f"({random_text(draw, depth - 1)} {kind} {random_text(draw, depth - 1)})"
    column, literals = draw.choice(
        [
            ("n", ["-1", "2", "1.5", "0", "3000000000"]),
            ("x", ["0", "1.5", "-2", "3e0"]),
            ("s", ["'oslo'", "'o''neil'", "'lima'", "''"]),
            ("d", ["'2024-01-03'", "date '2024-01-01'"]),
            ("t", ["timestamp '2024-01-03 01:00:00'", "'2024-01-02'"]),
            ("m", ["1.20", "-0.005", "2", "12345.6"]),
            ("r.k", ["1", "2"]),
            ("r.w", ["'oslo'", "'os'"]),
        ]
    )
    inverse = draw.choice(["", "not "])
    kind = draw.randrange(6)
    if kind == 0:
        return f"{column} is {inverse}null"
    if kind == 1:
        listed = [one for one in literals if one not in ("1.5", "-0.005", "12345.6", "3000000000")]
        return f"{column} {inverse}in ({', '.join(draw.sample(listed, 2))}{draw.choice(['', ', null'])})"
    if kind == 2:
        return f"{column} {inverse}between {draw.choice(literals)} and {draw.choice(literals)}"
    if kind == 3:
        return f"{draw.choice(['s', 'r.w'])} {inverse}like '{draw.choice(['os%', '%o', '%_o%', 'l__a', '%', 'oslo'])}'"
    if kind == 4:
        return f"{inverse}b"
    operator = draw.choice(["<", "<=", ">", ">="])
    if literals[0] in ("'oslo'", "1") or draw.random() < 0.2:
        return f"{column} {draw.choice(['=', '<>', '!='])} {literals[0]}"
    return f"{column} {operator} {draw.choice(literals)}"


def test_text_selects_what_duckdb_selects(stored):
    duckdb = pytest.importorskip("duckdb")
    table, rows = stored
    con = duckdb.connect()
    con.execute("set timezone = 'UTC'")
    con.register("given", rows)
    con.execute("create table t as from given")
    draw = random.Random(46)
    chosen = 0
    for _ in range(80):
        text = random_text(draw, 3)
        expected = sorted(row[0] for row in con.execute(f"select id from t where {text}").fetchall())
        assert ids(table.snapshot(columns="id", filters=text).to_arrow()) == expected, text
        chosen += 0 < len(expected) < ROWS
    assert chosen > 40


def expressions(field, is_in):
    """Returns expressions that pyarrow and polars both write in this way."""
    noon = dt.datetime(2024, 1, 3, 1, tzinfo=dt.timezone.utc)
    return [
        field("n") > 1,
        2 <= field("n"),  # noqa: SIM300
        field("x") > 1.5,
        ~(field("x") > 1.5),
        ~(field("x") < 1.5),
        (field("x") == 0.0) | (field("x") != 3),
        ~((field("n") > 0) & (field("x") <= 3)),
        is_in(field("s"), ["oslo", "lima"]) & field("b"),
        ~field("b") | field("n").is_null(),
        field("d") == dt.date(2024, 1, 3),
        (field("t") >= noon) & ~(field("t") == noon),
        field("m") < decimal.Decimal("1.20"),
    ]


def test_expressions_of_pyarrow_select_what_pyarrow_selects(stored):
    table, rows = stored
    more = [
        pc.field("s").isin(["oslo", None]),
        ~pc.field("s").isin(["oslo"]),
        pc.is_nan(pc.field("x")) | pc.field("x").is_null(nan_is_null=True),
        ~(pc.field("x") == NAN),
        pc.match_like(pc.field("s"), "o%") | pc.ends_with(pc.field("s"), "%") | pc.starts_with(pc.field("s"), "a_"),
        ~pc.match_substring(pc.field(("r", "w")), "s"),
        pc.field("r", "k").is_valid() & (pc.field("r", "k") == 1),
        pc.scalar(value=True) & pc.field("b"),
        (pc.field("n") == pc.scalar(pa.scalar(None, pa.int32()))) | (pc.field("n") == 1),
    ]
    for expression in [*expressions(pc.field, lambda field, values: field.isin(values)), *more]:
        expected = ids(rows.filter(expression))
        assert 0 < len(expected) < ROWS, expression
        assert ids(table.snapshot(columns=["id"], filters=expression).to_arrow()) == expected, expression
        assert ids(table.dataset().to_table(columns=["id"], filter=expression)) == expected, expression


def test_expressions_of_polars_select_what_polars_selects(stored):
    polars = pytest.importorskip("polars")
    table, rows = stored
    frame = polars.DataFrame(rows)
    nested = polars.col("r").struct.field
    more = [
        polars.col("x").is_nan() | (polars.col("n") == 1),
        polars.col("n").is_between(0, 2, closed="left"),
        polars.col("s").str.starts_with("o") | polars.col("s").str.contains("%", literal=True),
        ~nested("w").str.ends_with("o"),
        nested("k") == 1,
        ~polars.col("s").is_in(["oslo"]),
    ]
    lazy = mortice.scan_polars(table)
    for expression in [*expressions(polars.col, lambda field, values: field.is_in(values)), *more]:
        expected = sorted(frame.filter(expression)["id"])
        assert 0 < len(expected) < ROWS, expression
        assert ids(table.snapshot(columns=["id"], filters=expression).to_arrow()) == expected, expression
        assert sorted(lazy.filter(expression).select("id").collect()["id"]) == expected, expression


def test_what_a_query_cannot_evaluate_is_refused_and_a_dataset_evaluates_it(stored):
    table, rows = stored
    expression = pc.add(pc.field("n"), 1) > pc.field("x")
    with pytest.raises(mortice.InvalidArgumentError, match=r"Table.dataset\(\)"):
        table.snapshot(filters=expression)
    assert ids(table.dataset().to_table(filter=expression)) == ids(rows.filter(expression)) != []
    polars = pytest.importorskip("polars")
    expression = polars.col("n") + 1 > polars.col("x")
    with pytest.raises(mortice.InvalidArgumentError, match="scan_polars"):
        table.snapshot(filters=expression)
    expected = polars.DataFrame(rows).filter(expression)["id"]
    assert sorted(mortice.scan_polars(table).filter(expression).collect()["id"]) == sorted(expected)


@pytest.mark.parametrize(
    ("filters", "same"),
    [
        ("n > 1", [("n", ">", 1)]),
        (("n", ">", 1), [("n", ">", 1)]),
        (["n > 1", "b"], [("n", ">", 1), ("b", "=", True)]),
        ([("n", ">", 1), "b"], [("n", ">", 1), ("b", "=", True)]),
        ("s = oslo", [("s", "=", "oslo")]),
        ("r.k = 1 AND `r`.\"w\" LIKE 'o%'", [("r.k", "=", 1), ("r.w", "like", "o%")]),
        ("1 < n or 2024-01-03 = d", [[("n", ">", 1)], [("d", "=", "2024-01-03")]]),
        ("n <> 1 and not b", [("n", "!=", 1), ("b", "!=", True)]),
        ("n > 1.5", [("n", ">=", 2)]),
        ("n <=> +1", [("n", "=", 1), ("n", "is not null")]),
        ("not (b is not true)", [("b", "=", True)]),
        ("(" * 200 + "n > 1" + ")" * 200, [("n", ">", 1)]),
        ("n >= 1.5 and n < 3000000000", [("n", ">", 1), ("n", "is not null")]),
    ],
    ids=lambda value: str(value)[:60],
)
def test_forms_of_one_filter(stored, filters, same):
    table, _ = stored
    found = ids(table.snapshot(columns=["id"], filters=filters).to_arrow())
    assert found == ids(table.snapshot(columns=["id"], filters=same).to_arrow()) != []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("n >", "ends where a value is expected at character 4"),
        ("(n > 1", r"its end where \) is expected at character 7"),
        ("n > 1 n", "has 'n', which is not expected at character 7"),
        ("s = 'oslo", "a string that does not end at character 5"),
        ("n ~ 1", "the sign '~' at character 3"),
        ("n = id", "with a literal, not with the column id"),
        ("s like oslo", "a pattern in single quotes at character 3"),
        ("s in oslo", "IN without a list in brackets at character 6"),
        ("d = date 'soon'", "has DATE 'soon', which is not one"),
        ("nope = 1", 'unknown column "nope"'),
        ("r.nope = 1", 'the field "nope" of column "r"'),
        ("n like 'o%'", "with a pattern of strings|needs a literal"),
        ("n = 'one'", "needs a literal of type Int32"),
        ("upper(s) = 'X'", "calls 'upper', and filters compare columns with literals at character 1"),
        ("n + 1 = 2", "compares no column with a literal: a column is expected at character 7"),
        ("-n", r"computes a value \(negate\), and filters compare columns with literals at character 1"),
        ("1 = 1", "compares no column with a literal"),
        ("not " * 300 + "b", "nested more than 200 levels"),
        ("n > 1 && b", r"sign '&' \(and is the word for it\) at character 7"),
        ("!b", r"sign '!' \(not is the word for it\)"),
    ],
    ids=lambda value: value[:20],
)
def test_text_that_is_no_filter_is_refused(stored, text, message):
    table, _ = stored
    with pytest.raises(mortice.InvalidArgumentError, match=message):
        table.snapshot(filters=text)


def test_a_filter_that_is_too_complex_is_refused(stored):
    table, rows = stored
    text = " and ".join(f"(n = {number} or x = {number})" for number in range(20))
    with pytest.raises(mortice.InvalidArgumentError, match=str(MOST_TERMS)):
        table.snapshot(filters=text)
    alternatives = [(pc.field("n") != number) | (pc.field("x") != number) for number in range(20)]
    whole = alternatives[0]
    for one in alternatives[1:]:
        whole &= one
    assert ids(table.dataset().to_table(filter=whole)) == ids(rows.filter(whole)) != []
    assert normal_form(" or ".join(f"n = {number}" for number in range(9_999))).terms == [
        [("n", "in", [*range(9_999)])]
    ]
    assert table.count("n = 1 and false") == 0


def test_writes_have_the_same_filters(stored, tmp_path):
    _, rows = stored
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id", ordering="id")
    table.insert(rows)
    table.delete_where("s like 'o%' or r.k = 1 or n > 1.5")
    mask = pc.match_like(pc.field("s"), "o%") | (pc.field("r", "k") == 1) | (pc.field("n") > 1)
    assert ids(table.to_arrow()) == sorted(set(ids(rows)) - set(ids(rows.filter(mask))))
    some = rows.filter(pc.field("n").is_valid() & (pc.field("n") < 2)).slice(0, 20)
    before = table.count()
    table.merge_into(some, when_matched_delete="s is null or s = 'lima'", when_not_matched="ignore")
    assert table.count() == before - len(
        set(ids(some.filter(pc.field("s").is_null() | (pc.field("s") == "lima")))) - set(ids(rows.filter(mask)))
    )
