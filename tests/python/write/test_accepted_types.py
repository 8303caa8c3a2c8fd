"""What a write accepts: values that the table's columns hold exactly, and other columns only if that is asked for."""

import datetime as dt
import decimal

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError
from support.tables.written import NO_METADATA

LARGE = 2**60 + 1
UTC = dt.timezone.utc
DAY = dt.datetime(2024, 1, 2)
WRITES = ("upsert", "insert", "bulk_insert", "insert_overwrite", "insert_overwrite_table")


def table_of(path, kind, **options):
    columns = pa.schema([("id", pa.string()), ("v", kind), ("ts", pa.int64())])
    return mortice.create_table(path / "t", columns, name="t", record_key="id", ordering="ts", **options)


def rows_of(values, kind, first="a"):
    ids = [chr(ord(first) + at) for at in range(len(values))]
    return pa.table({"id": ids, "v": pa.array(values, kind), "ts": [1] * len(values)})


def values_of(table):
    rows = mortice.Table(table.uri).snapshot(columns=["id", "v"]).to_arrow()
    return {row["id"]: row["v"] for row in rows.to_pylist()}, rows.schema.field("v").type


@pytest.mark.parametrize(
    ("stored", "given", "values"),
    [
        (pa.int64(), pa.float64(), [1.0, None, -7.0]),
        (pa.int64(), pa.float32(), [1.0, None]),
        (pa.int32(), pa.int64(), [2**31 - 1, None, -(2**31)]),
        (pa.int32(), pa.uint64(), [7]),
        (pa.int64(), pa.uint64(), [2**63 - 1]),
        (pa.float64(), pa.int64(), [2**53, None]),
        (pa.float32(), pa.float64(), [0.5, None]),
        (pa.string(), pa.large_string(), ["x", None]),
        (pa.string(), pa.string_view(), ["x", None]),
        (pa.string(), pa.dictionary(pa.int8(), pa.string()), ["x", None, "x"]),
        (pa.int64(), pa.dictionary(pa.int8(), pa.float64()), [1.0, None]),
        (pa.binary(), pa.large_binary(), [b"x", None]),
        (pa.timestamp("us"), pa.timestamp("ns"), [DAY, None]),
        (pa.timestamp("us"), pa.timestamp("s"), [DAY, None]),
        (pa.timestamp("ms"), pa.timestamp("us"), [DAY, None]),
        (pa.timestamp("us", "UTC"), pa.timestamp("ms", "Europe/Oslo"), [DAY.replace(tzinfo=UTC)]),
        (pa.date32(), pa.date64(), [DAY.date(), None]),
        (pa.decimal128(10, 2), pa.decimal128(12, 4), [decimal.Decimal("1.2500"), None]),
        (pa.decimal128(10, 2), pa.int32(), [7, None]),
        (pa.int64(), pa.decimal128(12, 4), [decimal.Decimal("3.0000"), None]),
        (pa.int64(), pa.string(), [None, None]),
        (pa.int64(), pa.null(), [None]),
    ],
    ids=str,
)
def test_values_that_the_column_holds_are_cast(tmp_path, stored, given, values):
    table = table_of(tmp_path, stored)
    before = table.schema.field("v").type
    commit = table.upsert(rows_of(values, given), NO_METADATA)
    found, kind = values_of(table)
    assert list(found.values()) == values
    assert kind == before
    assert commit.schema_changes == []


@pytest.mark.parametrize(
    ("stored", "given", "values", "value"),
    [
        (pa.int64(), pa.float64(), [1.0, 1.5], "1.5"),
        (pa.int64(), pa.float64(), [1.0, float("nan")], "NaN"),
        (pa.int64(), pa.float64(), [1.0, 2.0**63], "9.223372036854775808e18|9223372036854775808|9.22337203685477"),
        (pa.int64(), pa.uint64(), [1, 2**63], "9223372036854775808"),
        (pa.int32(), pa.int64(), [1, 2**31], "2147483648"),
        (pa.float64(), pa.int64(), [1, 2**53 + 1], "9007199254740993"),
        (pa.int64(), pa.string(), [None, "oops"], '"oops"'),
        (pa.string(), pa.int64(), [None, 7], "7"),
        (pa.bool_(), pa.int64(), [None, 1], "1"),
        (pa.timestamp("us"), pa.timestamp("ns"), [0, 1], "1970-01-01T00:00:00.000000001"),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), [None, DAY.replace(tzinfo=UTC)], "2024-01-02T00:00:00Z"),
        (pa.timestamp("us", "UTC"), pa.timestamp("us"), [None, DAY], "2024-01-02T00:00:00"),
        (pa.date32(), pa.timestamp("us"), [None, DAY], "2024-01-02T00:00:00"),
        (pa.decimal128(4, 2), pa.decimal128(6, 4), [None, decimal.Decimal("1.2345")], "1.2345"),
        (pa.decimal128(4, 2), pa.int64(), [None, 100], "100"),
    ],
    ids=str,
)
def test_other_values_are_refused_with_row_column_and_value(tmp_path, stored, given, values, value):
    table = table_of(tmp_path, stored)
    files = sorted(path for path in (tmp_path / "t").rglob("*") if path.is_file())
    for write in WRITES:
        with pytest.raises(InvalidArgumentError, match=f'row 1, column "v".*({value})'):
            getattr(table, write)(rows_of(values, given), NO_METADATA)
    assert mortice.Table(table.uri).snapshot().count() == 0
    if given != pa.string():
        left = [path for path in (tmp_path / "t").rglob("*") if path.is_file() and path.suffix == ".parquet"]
        assert left == [path for path in files if path.suffix == ".parquet"]


@pytest.mark.parametrize("write", WRITES)
def test_a_column_of_whole_doubles_stays_one_of_integers(tmp_path, write):
    table = table_of(tmp_path, pa.int64())
    table.upsert(rows_of([LARGE], pa.int64()), NO_METADATA)
    getattr(table, write)(rows_of([1.0, None], pa.float64(), "b"), NO_METADATA)
    found, kind = values_of(table)
    assert kind == pa.int64()
    assert (found["b"], found["c"]) == (1, None)
    assert found.get("a", LARGE) == LARGE


@pytest.mark.parametrize("write", WRITES)
def test_other_columns_are_written_only_if_that_is_asked_for(tmp_path, write):
    table = table_of(tmp_path, pa.int32())
    table.upsert(rows_of([1], pa.int32()), NO_METADATA)
    wider = rows_of([2**40], pa.int64(), "b").append_column("more", pa.array(["x"]))
    call = getattr(table, write)
    with pytest.raises(InvalidArgumentError, match=r'no column "more".*schema="add"'):
        call(wider, NO_METADATA)
    with pytest.raises(InvalidArgumentError, match=f'row 0, column "v": the value {2**40}'):
        call(wider, NO_METADATA, schema="add")
    with pytest.raises(InvalidArgumentError, match='no column "more"'):
        call(wider, NO_METADATA, schema="exact")
    assert mortice.Table(table.uri).schema.field("v").type == pa.int32()
    changes = call(wider, NO_METADATA, schema="evolve").schema_changes
    assert [(change.column, change.before, change.after) for change in changes] == [
        ("v", pa.int32(), pa.int64()),
        ("more", None, pa.string()),
    ]
    assert call(wider, NO_METADATA).schema_changes == []
    assert values_of(table)[0]["b"] == 2**40


def test_the_option_of_hudi_lets_a_table_evolve(tmp_path):
    table = table_of(tmp_path, pa.int32())
    wider = rows_of([2**40], pa.int64()).append_column("more", pa.array(["x"]))
    options = NO_METADATA | {"hoodie.datasource.write.reconcile.schema": "true"}
    with pytest.raises(InvalidArgumentError, match='no column "more"'):
        table.upsert(wider, options, schema="exact")
    assert [change.column for change in table.upsert(wider, options).schema_changes] == ["v", "more"]


@pytest.mark.parametrize(("schema", "options"), [("some", {}), ("add", {"mortice.write.schema": "evolve"})])
def test_the_argument_has_three_values_and_does_not_contradict_the_option(tmp_path, schema, options):
    table = table_of(tmp_path, pa.int32())
    with pytest.raises(InvalidArgumentError, match="schema"):
        table.upsert(rows_of([1], pa.int32()), options, schema=schema)
    with pytest.raises(InvalidArgumentError, match="schema must be"):
        table.upsert(rows_of([1], pa.int32()), {"mortice.write.schema": "all"})


def test_values_in_structs_and_lists_are_refused_with_their_row(tmp_path):
    stored = pa.struct([("x", pa.int64()), ("l", pa.list_(pa.int32()))])
    table = table_of(tmp_path, stored)
    given = pa.struct([("x", pa.float64()), ("l", pa.list_(pa.int64()))])
    table.upsert(rows_of([{"x": 1.0, "l": [1, None]}, None, {"x": None, "l": []}], given), NO_METADATA)
    assert values_of(table)[0] == {"a": {"x": 1, "l": [1, None]}, "b": None, "c": {"x": None, "l": []}}
    with pytest.raises(InvalidArgumentError, match=r'row 2, column "v\.x": the value 0\.5'):
        table.upsert(rows_of([None, {"x": 1.0, "l": []}, {"x": 0.5, "l": []}], given), NO_METADATA)
    with pytest.raises(InvalidArgumentError, match=r'row 1, column "v\.l\.element": the value 4294967296'):
        table.upsert(rows_of([{"x": 1.0, "l": [1, 2]}, {"x": 1.0, "l": [3, 2**32]}], given), NO_METADATA)


def test_row_numbers_count_through_the_batches_of_a_stream(tmp_path):
    parts = [rows_of([1.0] * 3, pa.float64()), rows_of([1.0, 2.5], pa.float64(), "d")]
    schema = parts[0].schema
    for write in WRITES:
        table = table_of(tmp_path / write, pa.int64())
        batches = (batch for part in parts for batch in part.to_batches())
        with pytest.raises(InvalidArgumentError, match=r'row 4, column "v": the value 2\.5'):
            getattr(table, write)(pa.RecordBatchReader.from_batches(schema, batches), NO_METADATA)
