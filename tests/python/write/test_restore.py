"""Restores to savepoints, read back by mortice from the metadata table and from a listing."""

import pathlib

import pytest

from mortice import FileCleanedError, InvalidArgumentError
from support.tables.written import CHANGED, FIRST, KINDS, NO_SMALL_FILES, both, new_table, rows

NEW = rows(("d", "z", 1, 4.0), ("b", "x", 3, 20.0))


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    version, table_type = request.param
    return new_table(tmp_path / "trips", version, table_type)


def data_files(table):
    root = pathlib.Path(table.uri)
    paths = (str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    return {path for path in paths if not path.startswith(".hoodie") and "partition_metadata" not in path}


def write_all(table):
    table.upsert(CHANGED, NO_SMALL_FILES)
    table.upsert(NEW, NO_SMALL_FILES)
    table.delete(rows(("b", "x", 9, 0.0)), NO_SMALL_FILES)
    table.insert_overwrite_table(rows(("z", "z", 1, 9.0)), NO_SMALL_FILES)


def test_all_later_writes_are_undone(table):
    table.upsert(FIRST, NO_SMALL_FILES)
    kept = table.upsert(rows(("a", "x", 2, 5.0)), NO_SMALL_FILES)
    expected, files = both(table), data_files(table)
    table.savepoint(kept.instant)
    write_all(table)
    planned = table.plan_restore(kept.instant)
    assert (len(planned.undone), planned.restore_instant) == (4, None)
    assert both(table) != expected
    done = table.restore(kept.instant)
    assert both(table) == expected
    # Up to version 7 logs stay, and others with rollback blocks are added.
    assert data_files(table) == files or table.version < 8
    assert {path for path in data_files(table) if path.endswith(".parquet")} <= files
    (restore,) = [instant for instant in table.timeline if instant.action == "restore"]
    assert (restore.requested_time, restore.state) == (done.restore_instant, "COMPLETED")
    assert not [instant for instant in table.timeline if instant.action == "rollback"]
    assert not [instant for instant in table.timeline if instant.state != "COMPLETED"]
    write_all(table)
    assert [key for key, *_ in both(table)] == ["z"]
    table.restore(kept.instant)
    assert both(table) == expected


def test_the_index_of_keys_is_built_again(tmp_path):
    table = new_table(tmp_path / "trips", 9, "MERGE_ON_READ")
    index = {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.global.record.level.index.enable": "true"}
    kept = table.upsert(FIRST, index)
    table.savepoint(kept.instant)
    table.upsert(NEW, index)
    table.restore(kept.instant)
    assert "record_index" in table.properties["hoodie.table.metadata.partitions"]
    table.upsert(NEW, index)
    assert [key for key, *_ in both(table)] == ["a", "b", "c", "d"]


def metadata_files(table):
    """The contents of the data files of the metadata table."""
    files = (path for path in (pathlib.Path(table.uri) / ".hoodie/metadata").glob("[!.]*/*") if path.is_file())
    return {path: path.read_bytes() for path in files}


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
@pytest.mark.parametrize("version", [8, 9])
def test_the_metadata_table_is_rolled_back(tmp_path, version, table_type):
    """Its files are those that it had: nothing is listed or read again."""
    table = new_table(tmp_path / "trips", version, table_type)
    index = {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.global.record.level.index.enable": "true"}
    table.upsert(FIRST, index | NO_SMALL_FILES)
    kept = table.upsert(rows(("a", "x", 2, 5.0)), index | NO_SMALL_FILES)
    table.savepoint(kept.instant)
    expected, before = both(table), metadata_files(table)
    for one in (CHANGED, NEW):
        table.upsert(one, index | NO_SMALL_FILES)
    table.delete(rows(("b", "x", 9, 0.0)), index | NO_SMALL_FILES)
    assert metadata_files(table) != before
    table.restore(kept.instant)
    assert metadata_files(table) == before
    assert both(table) == expected
    assert table.verify().findings == []
    table.upsert(NEW, index | NO_SMALL_FILES)
    assert [key for key, *_ in both(table)] == ["a", "b", "c", "d"]


def test_a_metadata_table_that_was_compacted_since_is_built_again(tmp_path):
    table = new_table(tmp_path / "trips")
    kept = table.upsert(FIRST, NO_SMALL_FILES)
    table.savepoint(kept.instant)
    expected = both(table)
    table.upsert(CHANGED, NO_SMALL_FILES)
    table.upsert(NEW, NO_SMALL_FILES | {"hoodie.metadata.compact.max.delta.commits": "1"})
    partitions = table.properties["hoodie.table.metadata.partitions"]
    table.restore(kept.instant)
    assert table.properties["hoodie.table.metadata.partitions"] == partitions
    assert both(table) == expected
    assert table.verify().findings == []


def test_a_write_without_a_savepoint_can_be_restored_to_while_its_files_are_there(tmp_path):
    table = new_table(tmp_path / "trips", 9, "COPY_ON_WRITE")
    first = table.upsert(FIRST)
    expected = both(table)
    table.upsert(CHANGED)
    table.restore(first.instant)
    assert both(table) == expected


def test_what_cannot_be_restored_to_changes_nothing(tmp_path):
    table = new_table(tmp_path / "trips", 9, "COPY_ON_WRITE")
    first = table.upsert(FIRST)
    second = table.upsert(CHANGED)
    third = table.upsert(NEW)
    after = both(table)
    table.savepoint(first.instant)
    table.savepoint(second.instant)
    with pytest.raises(InvalidArgumentError, match="later instant is savepointed"):
        table.restore(first.instant)
    with pytest.raises(InvalidArgumentError, match=r"no completed write|not completed"):
        table.restore("20200101000000000")
    for path in pathlib.Path(table.uri).glob(f"x/*_{second.instant}.parquet"):
        path.unlink()
    with pytest.raises(FileCleanedError, match="savepoint keeps is not there"):
        table.restore(second.instant)
    assert both(table) == after
    assert table.timeline[-1].requested_time == third.instant
