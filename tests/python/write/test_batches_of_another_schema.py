"""Streams that yield a batch of other columns than they have said: refused, and nothing of the write stays."""

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError
from support.tables.written import NO_METADATA

SCHEMA = pa.schema([("id", pa.string()), ("s", pa.struct([("x", pa.int64())])), ("l", pa.list_(pa.int32()))])
GOOD = pa.record_batch([["a"], [{"x": 1}], [[1]]], schema=SCHEMA)
OTHERS = {
    "fewer": pa.record_batch({"id": ["b"]}),
    "none": pa.record_batch([], schema=pa.schema([])),
    "more": GOOD.append_column("more", pa.array([1])),
    "order": GOOD.select(["l", "s", "id"]),
    "type": pa.record_batch([pa.array([7]), GOOD["s"], GOOD["l"]], names=SCHEMA.names),
    "field": pa.record_batch([GOOD["id"], pa.array([{"x": "y"}]), GOOD["l"]], names=SCHEMA.names),
    "fields": pa.record_batch([GOOD["id"], pa.array([{"x": 1, "y": 2}]), GOOD["l"]], names=SCHEMA.names),
    "item": pa.record_batch([GOOD["id"], GOOD["s"], pa.array([["y"]])], names=SCHEMA.names),
    "list": pa.record_batch([GOOD["id"], GOOD["s"], pa.array([1], pa.int32())], names=SCHEMA.names),
    "dictionary": pa.record_batch([GOOD["id"].dictionary_encode(), GOOD["s"], GOOD["l"]], names=SCHEMA.names),
    "numbers": pa.record_batch([GOOD["id"], pa.array([{"x": 1.5}]), GOOD["l"]], names=SCHEMA.names),
}


class Stream:
    """Hides the batches from Python: only the C stream interface shows them."""

    def __init__(self, reader):
        self._reader = reader

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


def reader_of(other):
    return pa.RecordBatchReader.from_batches(SCHEMA, (batch for batch in (GOOD, other)))


@pytest.mark.parametrize("write", ["upsert", "insert", "bulk_insert", "insert_overwrite", "merge_into", "delete"])
@pytest.mark.parametrize("is_hidden", [False, True], ids=["reader", "stream"])
@pytest.mark.parametrize("name", OTHERS)
def test_such_a_batch_is_refused_and_the_write_rolled_back(tmp_path, write, is_hidden, name):
    if is_hidden and name == "numbers":
        pytest.skip("the C interface does not say whether eight bytes are an integer")
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id")
    table.upsert(pa.Table.from_batches([GOOD]), NO_METADATA)
    before = table.snapshot().to_arrow()
    reader = reader_of(OTHERS[name])
    with pytest.raises(InvalidArgumentError, match=r"batch 1|Arrow data cannot be read"):
        getattr(table, write)(Stream(reader) if is_hidden else reader, options=NO_METADATA)
    table = mortice.Table(table.uri)
    assert table.snapshot().to_arrow() == before
    assert all(instant.state == "COMPLETED" for instant in table.timeline)
    table.upsert(pa.Table.from_batches([GOOD]), NO_METADATA)


@pytest.mark.parametrize("levels", [10, 20, 25, 31, 40, 60, 300])
@pytest.mark.parametrize("is_list", [False, True], ids=["structs", "lists"])
def test_a_table_is_created_only_if_it_can_be_opened(tmp_path, levels, is_list):
    kind, value = pa.int64(), 7
    for _ in range(levels):
        kind, value = (pa.list_(kind), [value]) if is_list else (pa.struct([("f", kind)]), {"f": value})
    columns = pa.schema([("id", pa.string()), ("deep", kind)])
    rows = pa.table({"id": ["a"], "deep": pa.array([value], kind)}, schema=columns)
    try:
        table = mortice.create_table(tmp_path / "t", columns, name="t", record_key="id")
    except InvalidArgumentError:
        assert not (tmp_path / "t" / ".hoodie").exists()
        assert levels > 20
        plain = mortice.create_table(tmp_path / "t", columns.remove(1), name="t", record_key="id")
        with pytest.raises(InvalidArgumentError):
            plain.upsert(rows, NO_METADATA, schema="add")
        assert mortice.Table(plain.uri).snapshot().count() == 0
        return
    assert levels < 60
    table.upsert(rows, NO_METADATA)
    assert mortice.Table(table.uri).snapshot(columns=["deep"]).to_arrow()["deep"].to_pylist() == [value]
