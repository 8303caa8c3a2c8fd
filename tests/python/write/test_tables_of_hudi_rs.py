"""Tables as hudi-rs 0.6 writes them: no partition metadata file in the base path of a table without partitions, and no
schema in the commits of the metadata table. Hudi 1.2 reads and continues them."""

import pathlib

import fastavro
import pytest

import mortice
from support.tables.written import both, content, new_table, rows

RECORD_INDEX = {"hoodie.index.type": "RECORD_INDEX"}
# A record index that is built from a table with rows has base files, which have the schema as well.
FIRST = rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0))


def as_hudi_rs_leaves_it(path):
    for marker in path.glob(".hoodie_partition_metadata*"):
        marker.unlink()
    commits = list(path.glob(".hoodie/metadata/.hoodie/timeline/*_*.deltacommit"))
    assert commits
    for commit in commits:
        with commit.open("rb") as file:
            reader = fastavro.reader(file)
            schema, records = reader.writer_schema, list(reader)
        for record in records:
            record["extraMetadata"].pop("schema", None)
        with commit.open("wb") as file:
            fastavro.writer(file, schema, records)


@pytest.mark.parametrize("kind", ["MERGE_ON_READ", "COPY_ON_WRITE"])
@pytest.mark.parametrize("partition_by", ["city", None], ids=["partitions", "none"])
def test_they_are_read_and_continued(tmp_path, kind, partition_by):
    table = new_table(tmp_path / "trips", 9, kind, partition_by=partition_by)
    table.upsert(FIRST, RECORD_INDEX)
    table.upsert(rows(("b", "x", 2, 20.0)), RECORD_INDEX)
    path = pathlib.Path(table.uri)
    as_hudi_rs_leaves_it(path)
    table = mortice.Table(table.uri)
    want = [("a", 1.0), ("b", 20.0), ("c", 3.0)]
    assert content(table, "id", "fare") == want
    both(table)
    assert "not used" not in table.snapshot(["id"], [("fare", ">", 2.5)]).explain()
    table.upsert(rows(("a", "x", 5, 9.0), ("z", "x", 5, 9.0)), RECORD_INDEX)
    assert content(table, "id", "fare") == [("a", 9.0), *want[1:], ("z", 9.0)]
    both(table)
    assert partition_by or (path / ".hoodie_partition_metadata").exists(), "Hudi writes it, too"
    assert mortice.Table(table.uri).verify().findings == []
