"""The metadata table: read as a table, and used to list files."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
from support.cases import TABLES, assert_same_result, hudi_result

V6, V9 = "h015_mdt_hfile", "h11_record_index_move"
both = pytest.mark.parametrize("name", [V6, V9])


def metadata_of(path):
    return path / ".hoodie" / "metadata"


def listing(table, **arguments):
    lines = table.snapshot(**arguments).explain().splitlines()
    return next(line.split(maxsplit=1)[1] for line in lines if line.split()[0] == "listing")


def slices(path, *, use_metadata, **arguments):
    return mortice.Table(path, read_options=mortice.ReadOptions(use_metadata=use_metadata)).file_slices(**arguments)


def timeline_folder(path):
    layout_2 = path / ".hoodie" / "timeline"
    return layout_2 if layout_2.is_dir() else path / ".hoodie"


def newest_completed(path):
    """Returns the file that completes the newest delta commit."""
    completed = [file for file in timeline_folder(path).glob("2*.deltacommit") if not file.name.startswith(".")]
    return max(completed, key=lambda file: file.name)


@pytest.mark.parametrize("name", TABLES)
def test_both_listings_give_the_same_file_slices(name, table_of):
    path = table_of(name)
    for instant in [None, *(instant.requested_time for instant in mortice.Table(path).timeline)]:
        assert outcome(path, instant, use_metadata=True) == outcome(path, instant, use_metadata=False), instant


def outcome(path, instant, *, use_metadata):
    """Returns the slices, or the error: some instants are before the earliest retained commit."""
    try:
        return slices(path, use_metadata=use_metadata, as_of=instant)
    except mortice.MorticeError as error:
        return str(error)


@both
def test_a_plan_names_its_source_of_the_listing(name, table_of):
    path = table_of(name)
    assert listing(mortice.Table(path)) == "metadata table"
    assert (
        listing(mortice.Table(path, read_options=mortice.ReadOptions(use_metadata=False)))
        == "storage (the metadata table is disabled)"
    )
    assert listing(mortice.Table(table_of("h11_event_time_deletes"))) == "storage"
    assert listing(mortice.Table(metadata_of(path))) == "storage"


@both
def test_no_partition_directory_is_listed(name, copy_of):
    path = copy_of(name)
    expected = slices(path, use_metadata=True)
    for marker in path.glob("*/.hoodie_partition_metadata*"):
        marker.unlink()
    assert slices(path, use_metadata=True) == expected
    with pytest.raises(mortice.InvalidTableError, match="hoodie_partition_metadata"):
        slices(path, use_metadata=False)


@both
def test_partitions_that_a_filter_excludes_are_not_listed(name, table_of):
    path = table_of(name)
    [partition] = mortice.Table(path).partition_fields
    values = hudi_result(name).column(partition).unique().to_pylist()
    assert len(values) > 1
    for value in [*values, "none"]:
        arguments = {"filters": [(partition, "=", value)]}
        found = slices(path, use_metadata=True, **arguments)
        assert found == slices(path, use_metadata=False, **arguments)
        assert bool(found) == (value != "none")
        scan = mortice.Table(path).snapshot(**arguments)
        assert f"({len(values) - bool(found)} pruned)" in scan.explain()
        assert_same_result(hudi_result(name).filter(pc.equal(hudi_result(name)[partition], value)), scan.to_arrow())


def corrupt_base(path):
    for file in (metadata_of(path) / "files").glob("*.hfile"):
        file.write_bytes(file.read_bytes()[:-100])


def corrupt_log(path):
    logs = [file for file in (metadata_of(path) / "files").glob(".files*.log.*") if file.stat().st_size > 1000]
    newest = max(logs, key=lambda file: file.stat().st_mtime)
    newest.write_bytes(newest.read_bytes()[:-200])


def remove(path):
    metadata_of(path).rename(path / ".hoodie" / "elsewhere")


def lag(path):
    newest_completed(metadata_of(path)).unlink()


@both
@pytest.mark.parametrize("damage", [corrupt_base, corrupt_log, remove, lag])
def test_storage_is_listed_if_it_cannot_be_used(name, damage, copy_of):
    path = copy_of(name)
    damage(path)
    assert listing(mortice.Table(path)).startswith("storage (the metadata table cannot be used: ")
    assert slices(path, use_metadata=True) == slices(path, use_metadata=False)
    assert_same_result(hudi_result(name), mortice.Table(path).snapshot().to_arrow())


@both
def test_records_of_failed_writers_are_ignored(name, copy_of):
    path = copy_of(name)
    newest_completed(path).unlink()
    table, by_storage = mortice.Table(path), mortice.Table(path, read_options=mortice.ReadOptions(use_metadata=False))
    assert listing(table) == "metadata table"
    if table.version < 8:
        # A storage listing also contains logs without valid blocks.
        assert files_in(table.file_slices()) < files_in(by_storage.file_slices())
    else:
        assert table.file_slices() == by_storage.file_slices()
    rows = by_storage.snapshot().to_arrow()
    assert_same_result(rows, table.snapshot().to_arrow())
    completed = {instant.requested_time for instant in table.timeline if instant.is_completed}
    assert set(rows["_hoodie_commit_time"].to_pylist()) <= completed


def files_in(slices_):
    return {log.path for slice_ in slices_ for log in slice_.log_files}


@both
def test_the_metadata_table_can_be_read_as_a_table(name, table_of):
    path = table_of(name)
    table = mortice.Table(metadata_of(path))
    rows = table.snapshot().to_arrow()
    assert "_hoodie_record_key" not in rows.column_names
    kept = {row["key"]: row for row in rows.to_pylist()}
    assert len(kept) == rows.num_rows == table.snapshot(columns=[]).count()
    disk = {
        folder.parent.name: {
            file.name: file.stat().st_size
            for file in folder.parent.iterdir()
            if not file.name.startswith(".hoodie") and file.suffix != ".crc"
        }
        for folder in path.glob("*/.hoodie_partition_metadata")
    }
    live = {
        key: {file: info["size"] for file, info in row["filesystemMetadata"] if not info["isDeleted"]}
        for key, row in kept.items()
        if row["type"] in (1, 2)
    }
    assert set(live.pop("__all_partitions__")) == set(disk)
    assert live == disk
    assert {key for key, row in kept.items() if row["type"] == 5} == set(
        hudi_result(name)["_hoodie_record_key"].to_pylist()
    )


@both
def test_records_are_looked_up_by_key_and_projected(name, table_of):
    table = mortice.Table(metadata_of(table_of(name)))
    rows = table.snapshot().to_arrow()
    keys = [*rows["key"].to_pylist()[::40], "__all_partitions__", "no such key"]
    expected = rows.filter(pc.is_in(rows["key"], pa.array(keys)))
    found = table.snapshot(filters=[("key", "in", keys)]).to_arrow()
    assert_same_result(expected, found, ordered=False)
    one = table.snapshot(columns=["ColumnStatsMetadata"], filters=[("key", "in", keys)]).to_arrow()
    assert_same_result(expected.select(["ColumnStatsMetadata"]), one)
    typed = table.snapshot(filters=[("type", "=", 2)]).to_arrow()
    assert_same_result(rows.filter(pc.equal(rows["type"], 2)), typed)


def used_record_index(scan):
    return next((line.strip() for line in scan.explain().splitlines() if "record index" in line), None)


@both
@pytest.mark.parametrize("count", [1, 2, 7])
def test_keys_are_looked_up_in_the_record_index(name, count, table_of):
    path, rows = table_of(name), hudi_result(name)
    keys = rows["_hoodie_record_key"].to_pylist()
    for start in range(0, len(keys) - count, 9):
        some = keys[start : start + count]
        arguments = {"filters": [("_hoodie_record_key", "in", some)]}
        scan = mortice.Table(path).snapshot(**arguments)
        expected = rows.filter(pc.is_in(rows["_hoodie_record_key"], pa.array(some)))
        assert_same_result(expected, scan.to_arrow())
        file_ids = {name.split("_")[0] for name in expected["_hoodie_file_name"].to_pylist()}
        assert {split.file_id for split in scan.splits()} == file_ids
        assert used_record_index(scan) == f"record index {count} keys in {len(file_ids)} file groups"


@both
def test_all_slices_are_read_if_the_index_lacks_keys(name, copy_of):
    path, rows = copy_of(name), hudi_result(name)
    key = rows["_hoodie_record_key"][0].as_py()
    filters = [("_hoodie_record_key", "in", [key, "no such key"])]
    # Column statistics contain keys, too.
    table = mortice.Table(path, read_options=mortice.ReadOptions(use_column_stats=False))
    options = mortice.ReadOptions(use_record_index=False, use_column_stats=False)
    without = mortice.Table(path, read_options=options)
    all_splits = len(without.snapshot().splits())

    def reads_all_slices(scan):
        return len(scan.splits()) == all_splits

    assert used_record_index(without.snapshot(filters=filters)) is None
    scan = table.snapshot(filters=filters)
    assert reads_all_slices(scan)
    assert used_record_index(scan) == "record index not used: 1 of 2 keys are not in the index"
    one = {"filters": [("_hoodie_record_key", "=", key)]}
    assert not reads_all_slices(table.snapshot(**one))
    for other in (table.snapshot(as_of=rows["_hoodie_commit_time"][0].as_py(), **one), table.read_optimized(**one)):
        assert used_record_index(other) is None
    assert used_record_index(table.snapshot(emit_deletes=True, **one)) is None
    assert used_record_index(table.snapshot(merge=False, **one)) is None
    (metadata_of(path) / "record_index").rename(path / ".hoodie" / "elsewhere")
    with pytest.warns(UserWarning, match="does not use the record index"):
        scan = table.snapshot(**one)
    assert "not used" in used_record_index(scan)
    assert_same_result(rows.filter(pc.equal(rows["_hoodie_record_key"], key)), scan.to_arrow())


@both
def test_an_index_that_is_ahead_of_the_table_is_not_used(name, copy_of):
    path = copy_of(name)
    newest_completed(path).unlink()
    scan = mortice.Table(path).snapshot(filters=[("_hoodie_record_key", "=", "x")])
    assert "ahead" in used_record_index(scan)
