"""Readers that are open while another writer upgrades the table to version 10, as the first write of Hudi 1.3 does, and
writes native logs: each goes on. The order of the steps is the same in each run."""

import pickle

import pyarrow as pa
import pytest

import mortice
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, both, content, new_table, rows

CDC = {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": "DATA_BEFORE_AFTER"}
LATER = rows(("a", "x", 3, 100.0), ("d", "y", 3, 4.0))
LAST = rows(("b", "x", 4, 5.0))
BEFORE = [("a", "x", 2, 10.0), ("b", "x", 1, 2.0), ("c", "y", 2, 30.0)]
AFTER = [("a", "x", 3, 100.0), ("b", "x", 1, 2.0), ("c", "y", 2, 30.0), ("d", "y", 3, 4.0)]


@pytest.fixture(params=["MERGE_ON_READ", "COPY_ON_WRITE"])
def table(request, tmp_path):
    table = new_table(tmp_path / "trips", 9, request.param, properties=CDC)
    table.upsert(FIRST, NO_SMALL_FILES)
    table.upsert(CHANGED, NO_SMALL_FILES)
    return table


def upgrade_and_write(table):
    """What another writer does."""
    other = mortice.Table(table.uri)
    other.upgrade(10)
    other.upsert(LATER, NO_SMALL_FILES)
    native = [log.path for slice_ in other.file_slices() for log in slice_.log_files if log.path.endswith(".parquet")]
    assert bool(native) == (table.table_type == "MERGE_ON_READ")


def in_order(rows):
    return sorted(tuple(row.values()) for row in rows.to_pylist())


def test_an_open_table_is_as_it_was_opened_until_it_is_refreshed(table):
    opened = mortice.Table(table.uri)
    upgrade_and_write(table)
    assert (opened.version, content(opened)) == (9, BEFORE)
    assert opened.file_slices()
    opened.refresh()
    assert (opened.version, both(opened)) == (10, AFTER)
    assert opened.verify(keys=True).findings == []


def test_a_scan_and_its_splits_return_the_rows_of_their_plan(table):
    scan = mortice.Table(table.uri).snapshot(columns=["id", "city", "ts", "fare"])
    reader = scan.to_reader()
    splits = pickle.dumps(scan.splits())
    upgrade_and_write(table)
    assert in_order(reader.read_all()) == BEFORE
    assert in_order(pa.concat_tables(split.to_arrow() for split in pickle.loads(splits))) == BEFORE


def test_a_follower_goes_on(table):
    follower = mortice.Table(table.uri).follow("earliest", 0.01)
    assert [next(follower)[1].to_arrow().num_rows for _ in range(2)] == [3, 2]
    upgrade_and_write(table)
    instant, scan = next(follower)
    assert sorted(scan.to_arrow()["id"].to_pylist()) == ["a", "d"]
    mortice.Table(table.uri).upsert(LAST, NO_SMALL_FILES)
    # Also one that starts where the other is.
    for following in (follower, mortice.Table(table.uri).follow(instant, 0.01)):
        assert next(following)[1].to_arrow()["id"].to_pylist() == ["b"]


def test_ranges_and_changes_span_the_upgrade(table):
    opened = mortice.Table(table.uri)
    first = opened.timeline[0]
    ranges = opened.ranges(first.completion_time)
    upgrade_and_write(table)
    opened.refresh()
    assert in_order(opened.snapshot(as_of=first.requested_time, columns=["id"]).to_arrow()) == [("a",), ("b",), ("c",)]
    assert sorted(opened.incremental(first.completion_time).to_arrow()["id"].to_pylist()) == ["a", "c", "d"]
    assert sorted(opened.changes(first.completion_time).to_arrow()["op"].to_pylist()) == ["i", "u", "u", "u"]
    end = ranges.next()
    assert sorted(opened.incremental(first.completion_time, end).to_arrow()["id"].to_pylist()) == ["a", "c", "d"]


def test_an_open_writer_goes_on_by_the_rules_of_the_new_version(table):
    writer = mortice.Table(table.uri)
    upgrade_and_write(table)
    writer.upsert(LAST, NO_SMALL_FILES)
    assert {row[0]: row[2] for row in both(writer)} == {"a": 3, "b": 4, "c": 2, "d": 3}
    assert mortice.Table(table.uri).verify(keys=True).findings == []
