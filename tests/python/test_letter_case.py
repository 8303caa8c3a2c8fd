"""Columns whose names differ in case between a file and the table. Spark finds a column in either case, and so does
Hudi on Spark."""

from pathlib import Path

import fastavro
import pyarrow as pa
import pytest

import mortice
from mortice import UnsupportedError
from support.tables.evolving import Column, History, Write, write_history

ID = Column(10, "id", "long")
TEXT = Column(11, "State", "string")
STRUCT = Column(12, "Place", "struct", (Column(13, "City", "string"), Column(14, "zip", "long")))


def in_lower_case(*columns):
    return tuple(
        Column(one.id, one.name.lower(), one.kind, in_lower_case(*one.fields), one.been, one.dates) for one in columns
    )


def row(number, text):
    return {10: number, 11: text, 12: {13: f"city of {text}", 14: number}}


def written(path, *steps, version=9):
    return mortice.Table(write_history(Path(path) / "t", History("name", version, list(steps))))


def rename_in_commits(path, old, new):
    """Renames a column in the schema of each commit, not in its files."""
    for commit in path.glob(".hoodie/timeline/*_*.*commit"):
        with commit.open("rb") as file:
            reader = fastavro.reader(file)
            schema, records = reader.writer_schema, list(reader)
        for record in records:
            record["extraMetadata"]["schema"] = record["extraMetadata"]["schema"].replace(f'"{old}"', f'"{new}"')
        with commit.open("wb") as file:
            fastavro.writer(file, schema, records)


OLD, NEW = (ID, TEXT, STRUCT), in_lower_case(ID, TEXT, STRUCT)
ROWS = [
    {"id": 1, "state": "OH", "place": {"city": "city of OH", "zip": 1}},
    {"id": 2, "state": "CA", "place": {"city": "city of CA", "zip": 3}},
    {"id": 3, "state": "NY", "place": {"city": "city of NY", "zip": 3}},
]


@pytest.mark.parametrize("parquet", [False, True], ids=["avro", "parquet"])
@pytest.mark.parametrize("version", [6, 9])
def test_rows_of_files_with_both_names(tmp_path, version, parquet):
    """The base file and the first log have the old names, the second log the new ones."""
    table = written(
        tmp_path,
        Write(OLD, {"k1": row(1, "OH"), "k2": row(2, "NV")}),
        Write(OLD, {"k3": row(3, "NY")}, parquet),
        Write(NEW, {"k2": {**row(3, "CA"), 10: 2}}, parquet),
        version=version,
    )
    names = ["id", "state", "place"]
    assert table.schema.names[-3:] == names
    assert sorted(table.snapshot(names).to_arrow().to_pylist(), key=lambda row: row["id"]) == ROWS
    for filters, ids in (
        ([("state", "=", "OH")], [1]),
        ([("state", "=", "NV")], []),
        ([("state", "is null")], []),
        ([("state", "in", ["OH", "CA", "NY"]), ("id", ">", 1)], [2, 3]),
    ):
        found = table.snapshot(["id"], filters).to_arrow()["id"].to_pylist()
        assert sorted(found) == ids, filters
        assert table.snapshot(filters=filters).count() == len(ids)
    base = table.read_optimized(["state"], [("state", "=", "NV")]).to_arrow().to_pylist()
    assert base == [{"state": "NV"}]


def test_row_groups_are_pruned(tmp_path):
    rows = {f"k{number}": row(number, f"S{number}") for number in range(8)}
    table = written(tmp_path, Write(OLD, rows), Write(NEW, {"k0": row(0, "S0")}))
    scan = table.read_optimized(["id"], [("state", "=", "S5")])
    assert scan.to_arrow().to_pylist() == [{"id": 5}]
    assert scan.report()["row_groups_pruned"] > 0


def test_a_column_of_the_exact_name_comes_first(tmp_path):
    """A file that was written before the second column was added does not have it."""
    both = (ID, TEXT, Column(15, "state", "string"))
    table = written(
        tmp_path, Write((ID, TEXT), {"k1": {10: 1, 11: "OH"}}), Write(both, {"k2": {10: 2, 11: "a", 15: "b"}})
    )
    rows = sorted(table.snapshot(["id", "State", "state"]).to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows == [{"id": 1, "State": "OH", "state": None}, {"id": 2, "State": "a", "state": "b"}]


@pytest.mark.parametrize("parquet", [False, True], ids=["avro", "parquet"])
def test_an_ambiguous_column_is_an_error_that_names_both(tmp_path, parquet):
    both = (ID, TEXT, Column(15, "STATE", "string"))
    old = {"k1": {10: 1, 11: "OH", 15: "NY"}}
    for number, steps in enumerate(([Write(both, old)], [Write(NEW, {}), Write(both, old, parquet)])):
        table = written(tmp_path / str(number), *steps, Write(NEW, {"k2": row(2, "CA")}))
        assert sorted(table.snapshot(["id"]).to_arrow()["id"].to_pylist()) == [1, 2]
        with pytest.raises(UnsupportedError, match="State and STATE"):
            table.snapshot(["id", "state"]).to_arrow()
        with pytest.raises(UnsupportedError, match="State and STATE"):
            table.snapshot(["id"], [("state", "=", "OH")]).to_arrow()


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rewritten_rows_keep_their_values(tmp_path, kind):
    """By a merge of copy on write, by a compaction, by clustering."""
    schema = pa.schema([("id", pa.string()), ("state", pa.string()), ("ts", pa.int64())])
    old = pa.schema([schema.field("id"), pa.field("State", pa.string()), schema.field("ts")])
    table = mortice.create_table(tmp_path / "t", old, name="t", table_type=kind, record_key="id", ordering="ts")
    rows = [{"id": f"k{number}", "state": f"S{number}", "ts": 1} for number in range(4)]
    table.upsert(pa.Table.from_pylist([{**row, "State": row["state"]} for row in rows], schema=old))
    rename_in_commits(Path(table.uri), "State", "state")
    table = mortice.Table(table.uri)
    assert table.snapshot(["id"], [("state", "=", "S2")]).count() == 1
    changed = {"id": "k1", "state": "new", "ts": 2}
    table.upsert(pa.Table.from_pylist([changed], schema=schema))
    want = [rows[0], changed, *rows[2:]]
    found = lambda: sorted(table.snapshot(schema.names).to_arrow().to_pylist(), key=lambda row: row["id"])  # noqa: E731
    assert found() == want
    if kind == "MERGE_ON_READ":
        table.compact({"hoodie.compact.inline.max.delta.commits": "1"})
        assert found() == want
    table.cluster({"hoodie.clustering.inline.max.commits": "1"})
    assert found() == want
    assert mortice.Table(table.uri).verify().findings == []
