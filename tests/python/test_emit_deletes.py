"""Deleted keys as rows."""

import pytest

import mortice
from support.oracle import DataBlock, DeleteBlock, Field, Merging, Value
from support.tables.table_writer import Slice, with_meta, write_table

FIELDS = (Field("id", "string"), Field("text", "string"), Field("_hoodie_is_deleted", "boolean"), Field("ts", "long"))


def row(key, number, deleted=False):
    return with_meta({"id": key, "text": key.upper(), "_hoodie_is_deleted": deleted, "ts": number}, key, number, key)


@pytest.fixture
def table(tmp_path):
    base = (row("kept", 0), row("by block", 0), row("by row", 0))
    log = (
        (DataBlock((row("by row", 1, deleted=True), row("back", 1))),),
        (DeleteBlock((("by block", Value("Long", 7)), ("back", Value("Long", 2)), ("never there", Value("Long", 3)))),),
        (DataBlock((row("back", 3),)),),
    )
    merging = Merging(FIELDS, ordering=("ts",))
    return mortice.Table(write_table(tmp_path, merging, 9, Slice(base, log)))


def test_a_key_of_a_delete_block_has_the_values_of_the_block(table):
    rows = {row["id"]: row for row in table.snapshot(emit_deletes=True).to_arrow().to_pylist()}
    assert set(rows) == {"kept", "back", "by block", "by row", "never there"}
    deleted = rows["by block"]
    partition = rows["kept"]["_hoodie_partition_path"]
    expected = {"_hoodie_record_key": "by block", "_hoodie_partition_path": partition, "id": "by block", "ts": 7}
    expected |= {"_hoodie_operation": "D", "_hoodie_commit_time": deleted["_hoodie_commit_time"]}
    assert {name: value for name, value in deleted.items() if value is not None} == expected
    assert deleted["_hoodie_commit_time"] > rows["by row"]["_hoodie_commit_time"]


def test_a_row_with_a_delete_flag_is_returned_completely(table):
    rows = {row["id"]: row for row in table.snapshot(emit_deletes=True).to_arrow().to_pylist()}
    assert (rows["by row"]["text"], rows["by row"]["_hoodie_operation"]) == ("BY ROW", "D")
    assert rows["kept"]["_hoodie_operation"] is None


def test_columns_filters_and_count(table):
    scan = table.snapshot(columns=["id"], filters=[("ts", ">=", 3)], emit_deletes=True)
    assert scan.schema.names == ["id", "_hoodie_operation"]
    rows = sorted(tuple(row.values()) for row in scan.to_arrow().to_pylist())
    assert rows == [("back", None), ("by block", "D"), ("never there", "D")]
    assert scan.count() == 3
    only = table.snapshot(
        columns=["_hoodie_operation", "id"], filters=[("_hoodie_operation", "=", "D")], emit_deletes=True
    )
    assert only.schema.names == ["_hoodie_operation", "id"]
    assert sorted(only.to_arrow()["id"].to_pylist()) == ["by block", "by row", "never there"]


def test_without_emit_deletes_rows_are_unchanged(table):
    assert "_hoodie_operation" not in table.snapshot().schema.names
    assert sorted(table.snapshot(columns=["id"]).to_arrow()["id"].to_pylist()) == ["back", "kept"]


def test_unmerged_reads_have_no_deleted_keys(table):
    with pytest.raises(mortice.InvalidArgumentError, match="merge=False"):
        table.snapshot(merge=False, emit_deletes=True)


def test_splits_can_be_pickled(table):
    scan = table.snapshot(emit_deletes=True)
    there = [mortice.Split.from_bytes(split.to_bytes()) for split in scan.splits()]
    assert sum(batch.num_rows for split in there for batch in split.to_reader()) == 5
