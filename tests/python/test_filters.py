"""Filters: their syntax, and that they are exact."""

import datetime as dt
import decimal
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
from mortice.expressions import normal_form
from support.cases import assert_same_result, hudi_result

NAME = "h11_event_time_deletes"
OPERATORS = {
    "=": pc.equal,
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("column", "literal"), [("fare", 42.18), ("seats", 3), ("ts", 11018), ("note", "n4769"), ("rider", "r2")]
)
def test_comparisons_agree_with_arrow(table_of, column, operator, literal):
    expected = hudi_result(NAME)
    mask = OPERATORS[operator](expected[column], pa.scalar(literal, expected.schema.field(column).type))
    actual = mortice.Table(table_of(NAME)).snapshot(filters=[(column, operator, literal)]).to_arrow()
    assert_same_result(expected.filter(mask), actual)


def test_null_matches_only_is_null(table_of):
    table, expected = mortice.Table(table_of(NAME)), hudi_result(NAME)
    assert expected["note"].null_count > 0
    of = lambda *term: table.snapshot(filters=[("note", *term)]).count()  # noqa: E731
    assert of("is null") == expected["note"].null_count
    assert of("is not null") == expected.num_rows - expected["note"].null_count
    assert of("=", "n4769") + of("!=", "n4769") == expected.num_rows - expected["note"].null_count
    assert of("not in", ["n4769"]) == of("!=", "n4769")


def test_in_and_not_in(table_of):
    table, expected = mortice.Table(table_of(NAME)), hudi_result(NAME)
    inside = pc.is_in(expected["city"], pa.array(["oslo", "lima"]))
    assert_same_result(expected.filter(inside), table.snapshot(filters=[("city", "in", ["oslo", "lima"])]).to_arrow())
    assert_same_result(
        expected.filter(pc.invert(inside)), table.snapshot(filters=[("city", "not in", ("oslo", "lima"))]).to_arrow()
    )
    assert table.snapshot(filters=[("city", "in", [])]).count() == 0


def test_a_list_is_not_described_for_each_of_its_literals():
    """Describing it for each took minutes for 100,000 keys."""

    class Keys(list):
        described = 0

        def __repr__(self):
            Keys.described += 1
            return super().__repr__()

    keys = Keys(f"key {number}" for number in range(1000))
    assert normal_form([("rider", "in", keys)]).terms == [[("rider", "in", list(keys))]]
    assert Keys.described == 0
    with pytest.raises(mortice.InvalidArgumentError, match="filter on 'rider' must be valid Unicode"):
        normal_form([("rider", "in", ["a", "\ud800"])])


def test_lists_of_lists_are_disjunctions_of_conjunctions(table_of):
    table, expected = mortice.Table(table_of(NAME)), hudi_result(NAME)
    filters = [[("city", "=", "oslo"), ("seats", ">", 3)], [("fare", "<", 10.0)]]
    mask = pc.or_kleene(
        pc.and_kleene(pc.equal(expected["city"], "oslo"), pc.greater(expected["seats"], 3)),
        pc.less(expected["fare"], 10.0),
    )
    assert_same_result(expected.filter(mask), table.snapshot(filters=filters).to_arrow())


def test_a_filter_without_matches_keeps_the_schema(table_of):
    table = mortice.Table(table_of(NAME))
    empty = table.snapshot(columns=["fare"], filters=[("trip_id", "=", "nobody")]).to_arrow()
    assert (empty.num_rows, empty.schema.names) == (0, ["fare"])


def test_every_type_can_be_compared(table_of):
    table, expected = mortice.Table(table_of("h10_types")), hudi_result("h10_types")
    checked = 0
    for field in expected.schema:
        present = expected[field.name].drop_null()
        if pa.types.is_nested(field.type) or len(present) == 0 or field.name.startswith("_hoodie"):
            continue
        literal = present[len(present) // 2]
        if pa.types.is_floating(field.type) and not np.isfinite(literal.as_py()):
            continue
        for operator in ("=", "<"):
            mask = OPERATORS[operator](expected[field.name], literal)
            actual = table.snapshot(filters=[(field.name, operator, literal.as_py())]).to_arrow()
            assert_same_result(expected.filter(mask), actual)
            checked += 1
    assert checked > 20


@pytest.mark.parametrize(
    "term",
    [
        ("seats", "=", "three"),
        ("seats", "=", 2.5),
        ("fare", "=", "cheap"),
        ("city", "=", 3),
        ("no_such_column", "=", 3),
        ("seats", "=", 2**40),
    ],
    ids=str,
)
def test_a_literal_that_does_not_fit_the_column_is_refused(table_of, term):
    with pytest.raises(mortice.InvalidArgumentError):
        mortice.Table(table_of(NAME)).snapshot(filters=[term]).to_arrow()


UTC = dt.timezone.utc


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.str_("x"), "x"),
        (np.bool_(True), True),
        (np.datetime64("2024-01-02T03:04:05.678", "us"), dt.datetime(2024, 1, 2, 3, 4, 5, 678000)),
        (pd.Timestamp("2024-01-02", tz="UTC"), dt.datetime(2024, 1, 2, tzinfo=UTC)),
        (pa.scalar("x"), "x"),
        (bytearray(b"x"), b"x"),
        (decimal.Decimal("1.20"), decimal.Decimal("1.20")),
        (dt.date(2024, 1, 2), dt.date(2024, 1, 2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_scalars_of_other_libraries_are_converted(given, plain):
    [[(_, _, literal)]] = normal_form([("a", "=", given)]).terms
    assert (literal, type(literal)) == (plain, type(plain))
    [[(_, _, literals)]] = normal_form([("a", "in", [given])]).terms
    assert literals == [plain]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (5, "list"),
        ({"fare": 3}, "list"),
        ([("fare", "=")], "needs a literal"),
        ([("fare", "~", 3)], "operator"),
        ([("fare", "is", None)], "is null"),
        ([("fare", "is null", 3)], "takes no literal"),
        ([("fare", "in", 3)], "list of literals"),
        ([("city", "in", "oslo")], "list of literals"),
        ([("fare", "=", object())], "Decimal"),
        ([("fare", "=", [3])], "Decimal"),
        ([("t", "=", pd.NaT)], "microseconds"),
        ([("t", "=", np.datetime64("2024-01-01", "ns"))], "datetime64"),
        ([("t", "in", np.array(["2024-01-01"], "datetime64[ns]"))], "datetime64"),
        ([("fare", "=", decimal.Decimal("NaN"))], "not a finite number"),
        ([("fare", "=", decimal.Decimal("1e38"))], "digits"),
        ([("fare", "=", 10**38)], "digits"),
        ([("city", "=", "\ud800")], "Unicode"),
        ([("\ud800", "=", 3)], "Unicode"),
        ([[]], "empty"),
        ([("fare", "=", 3), [("fare", "=", 3)]], "next to lists"),
        ([(3, "=", 3)], "term"),
        ([5], "term"),
    ],
    # Processes that share the tests must know them by the same names.
    ids=lambda value: ascii(value).split(" at 0x")[0][:40],
)
def test_malformed_filters_are_refused(filters, message):
    with pytest.raises(mortice.InvalidArgumentError, match=message):
        normal_form(filters)


def test_a_filter_is_pickled_and_is_a_filter():
    found = normal_form([("a.b", "in", [b"x", decimal.Decimal("1.20"), dt.datetime(2024, 1, 2, tzinfo=UTC), 0.5])])
    assert pickle.loads(pickle.dumps(found)).terms == found.terms
    assert repr(normal_form(found)) == repr(found) == repr(found.terms)


def test_flat_lists_and_json_lists_are_conjunctions():
    flat = [("a", "=", 1), ("b", "is null")]
    nested = [[["a", "==", 1], ["b", "IS  NULL", None]]]
    assert normal_form(flat).terms == normal_form(nested).terms == [[("a", "=", 1), ("b", "is null", None)]]
    assert normal_form(None) is normal_form([]) is None
