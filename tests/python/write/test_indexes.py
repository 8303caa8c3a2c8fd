"""Indexes of the metadata table that options add, drop or choose columns for."""

import json

import pytest

from mortice import InvalidArgumentError, InvalidTableError
from support.tables.written import KINDS, content, new_table, rows

FIRST = rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0))
COLUMNS = "hoodie.metadata.index.column.stats.column.list"
RECORD_INDEX = "hoodie.metadata.record.index.enable"
COLUMN_STATS = "hoodie.metadata.index.column.stats.enable"
META = ["_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key"]


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    version, table_type = request.param
    return new_table(tmp_path / "trips", version, table_type)


def partitions(table):
    return set(table.properties["hoodie.table.metadata.partitions"].split(","))


def indexed(path):
    definitions = json.loads((path / "trips/.hoodie/.index_defs/index.json").read_text())["indexDefinitions"]
    return definitions["column_stats"]["sourceFields"] if "column_stats" in definitions else None


def test_an_index_is_added_to_a_metadata_table(table):
    table.upsert(FIRST)
    assert "record_index" not in partitions(table)
    options = {RECORD_INDEX: "true", "hoodie.index.type": "RECORD_INDEX"}
    table.upsert(rows(("a", "x", 2, 10.0), ("d", "y", 2, 4.0)), options)
    assert "record_index" in partitions(table)
    table.upsert(rows(("c", "y", 3, 30.0), ("d", "y", 3, 40.0)), options)
    expected = [("a", "x", 2, 10.0), ("b", "x", 1, 2.0), ("c", "y", 3, 30.0), ("d", "y", 3, 40.0)]
    assert content(table) == expected
    table.upsert(rows(("a", "x", 4, 0.5)), {RECORD_INDEX: "false"})
    assert "record_index" not in partitions(table)
    assert content(table)[0] == ("a", "x", 4, 0.5)


def test_statistics_are_dropped_and_added_again(table):
    table.upsert(FIRST, {COLUMN_STATS: "true"})
    assert "column_stats" in partitions(table)
    table.upsert(rows(("a", "x", 2, 10.0)), {COLUMN_STATS: "false"})
    assert partitions(table) == {"files"}
    table.upsert(rows(("d", "y", 2, 4.0)), {COLUMN_STATS: "true"})
    assert "column_stats" in partitions(table)
    table.upsert(rows(("e", "y", 2, 5.0)))
    for fare, key in ((10.0, "a"), (2.0, "b"), (3.0, "c"), (4.0, "d"), (5.0, "e")):
        assert table.snapshot(columns=["id"], filters=[("fare", "=", fare)]).to_arrow()["id"].to_pylist() == [key]


def test_statistics_are_of_the_columns_that_are_listed(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, {COLUMNS: "fare"})
    assert indexed(tmp_path) == [*META, "fare"]
    table.upsert(rows(("a", "x", 2, 10.0)), {COLUMNS: "fare"})
    assert indexed(tmp_path) == [*META, "fare"]
    table.upsert(rows(("d", "y", 2, 4.0)), {COLUMNS: "ts, fare"})
    assert indexed(tmp_path) == [*META, "ts", "fare"]
    for fare, ts, key in ((10.0, 2, "a"), (2.0, 1, "b"), (3.0, 1, "c"), (4.0, 2, "d")):
        filters = [("fare", "=", fare), ("ts", "=", ts)]
        assert table.snapshot(columns=["id"], filters=filters).to_arrow()["id"].to_pylist() == [key]
    table.upsert(rows(("e", "y", 2, 5.0)), {"hoodie.metadata.index.column.stats.max.columns.to.index": "1"})
    assert indexed(tmp_path) == [*META, "id"]


def test_columns_that_are_not_there_are_refused(tmp_path):
    table = new_table(tmp_path / "trips")
    with pytest.raises(InvalidArgumentError, match='"price", which the table does not have'):
        table.upsert(FIRST, {COLUMNS: "fare,price"})
    assert content(table) == []


def test_a_damaged_record_index_is_built_again_as_its_error_says(tmp_path):
    table = new_table(tmp_path / "trips")
    options = {"hoodie.metadata.record.index.enable": "true", "hoodie.index.type": "RECORD_INDEX"}
    table.upsert(rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0)), options)
    folder = tmp_path / "trips" / ".hoodie" / "metadata" / "record_index"
    before = set(folder.iterdir())
    table.cluster()
    # The index is as before the clustering: its file groups are gone.
    for path in set(folder.iterdir()) - before:
        path.unlink()
    late = rows(("a", "x", 2, 3.0))
    with pytest.raises(InvalidTableError, match=r"damaged.*mortice metadata build --rebuild.*build_metadata"):
        table.upsert(late, options)
    table.build_metadata(rebuild=True)
    assert table.upsert(late, options).updates == 1
    assert content(table) == [("a", "x", 2, 3.0), ("b", "x", 1, 2.0)]
    assert table.verify(keys=True).findings == []
