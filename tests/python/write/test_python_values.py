"""Values of Python, which no write changes: what pyarrow would cut off or leave out is refused."""

import datetime as dt
import decimal
import re

import numpy as np
import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError

UTC = dt.timezone.utc
NOON = dt.datetime(2024, 1, 2, 12)
STRUCT = pa.struct([("a", pa.int64()), ("d", pa.date32())])


def table_of(path, kind, key=None):
    columns = pa.schema([("id", key or pa.string()), ("v", kind)])
    return mortice.create_table(path / "t", columns, name="t", record_key="id")


def values_of(table):
    return [row["v"] for row in sorted(mortice.Table(table.uri).to_arrow().to_pylist(), key=lambda row: row["id"])]


@pytest.mark.parametrize("form", ["dicts", "lists"])
@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (pa.int64(), 1.5, "1.5"),
        (pa.int32(), 1.5, "1.5"),
        (pa.date32(), NOON, "12:00"),
        (pa.timestamp("us"), NOON.replace(tzinfo=UTC), "2024-01-02T12"),
        (pa.timestamp("us", "UTC"), NOON, "2024-01-02T12"),
        (pa.timestamp("us"), 5, "5"),
        (pa.string(), b"abc", "616263"),
        (pa.binary(), "abc", "abc"),
        (pa.float32(), 1e300, "1e300"),
        (pa.float32(), 2**24 + 1, "16777217"),
        (pa.decimal128(5, 1), decimal.Decimal("1.25"), "1.25"),
        (pa.list_(pa.int64()), [1, 2.5], "2.5"),
        (STRUCT, {"a": 1, "b": 2}, "'b': 2"),
        (STRUCT, {"d": NOON}, "row 1, column 'v'"),
        (pa.list_(STRUCT), [{"d": NOON}], "row 1, column 'v'"),
        (pa.map_(pa.string(), pa.int64()), [("k", 1.5)], "('k', 1.5)"),
    ],
)
def test_a_value_that_would_change_is_refused(tmp_path, form, kind, value, shown):
    table = table_of(tmp_path, kind)
    rows = [{"id": "a", "v": None}, {"id": "b", "v": value}]
    columns = {"id": ["a", "b"], "v": [None, value]}
    with pytest.raises(InvalidArgumentError, match=re.escape(shown)):
        table.upsert(rows if form == "dicts" else columns)
    assert mortice.Table(table.uri).count() == 0


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        (pa.int64(), 3.0, 3),
        (pa.int32(), np.int64(3), 3),
        (pa.float32(), 0.1, pytest.approx(0.1, abs=1e-8)),
        (pa.float32(), float("inf"), float("inf")),
        (pa.float64(), 3, 3.0),
        (pa.float64(), np.float32(0.5), 0.5),
        (pa.date32(), dt.date(2024, 1, 2), dt.date(2024, 1, 2)),
        (pa.date32(), dt.datetime(2024, 1, 2), dt.date(2024, 1, 2)),
        (pa.timestamp("us", "UTC"), NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC)),
        (pa.timestamp("us"), np.datetime64("2024-01-02T12:00:00"), NOON),
        (pa.decimal128(5, 1), 2, decimal.Decimal("2.0")),
        (pa.binary(), bytearray(b"ab"), b"ab"),
        (STRUCT, {"a": 1.0}, {"a": 1, "d": None}),
        (pa.map_(pa.string(), pa.float32()), [("k", 0.5)], [("k", 0.5)]),
        (pa.list_(pa.float32()), [0.5, None], [0.5, None]),
    ],
)
def test_a_value_that_the_column_holds_is_stored(tmp_path, kind, value, stored):
    table = table_of(tmp_path, kind)
    table.upsert([{"id": "a", "v": value}, {"id": "b"}])
    assert values_of(table) == [stored, None]


@pytest.mark.parametrize("values", [[dt.date(2024, 1, 2), NOON], [NOON, NOON.replace(tzinfo=UTC)]])
def test_values_of_several_types_are_refused(tmp_path, values):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ["a", "b"], "w": pandas.Series(values, dtype=object)})
    table = table_of(tmp_path, pa.string())
    for rows in (frame, {"id": ["a", "b"], "w": values}):
        with pytest.raises(InvalidArgumentError, match="no type in common"):
            table.upsert(rows, schema="add")


def test_keys_do_not_change_either(tmp_path):
    table = table_of(tmp_path, pa.int64(), key=pa.int64())
    table.upsert([{"id": 1, "v": 1}])
    with pytest.raises(InvalidArgumentError, match=r"1\.5"):
        table.delete([1.5])
    assert mortice.Table(table.uri).count() == 1


def test_a_column_of_polars_without_values_is_null(tmp_path):
    polars = pytest.importorskip("polars")
    table = table_of(tmp_path, pa.int64())
    table.upsert(polars.DataFrame({"id": ["a"], "v": [None]}))
    assert values_of(table) == [None]
