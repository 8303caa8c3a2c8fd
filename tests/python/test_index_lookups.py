"""Keys and values of a filter are looked up in the indexes of the metadata table; a wrong index loses no row."""

import shutil
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
from support.tables.written import NO_SMALL_FILES, new_table

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("name", pa.string())])
WRITE = {"hoodie.index.type": "RECORD_INDEX", "mortice.metadata.rebuild_unusable": "false"} | NO_SMALL_FILES
BY_NAME = "secondary_index_by_name"
WITHOUT = mortice.ReadOptions(use_record_index=False, use_column_stats=False)
# Each with an escape of the secondary index.
NAMES = ["ann", "q\\z$", None, "", "$", "\\", "%_", "é🐎"]


def rows(*given):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in given], schema=SCHEMA)


def written(path, table_type, indexes, version=9):
    """A table of 6 file groups, in 3 partitions, with rows that were changed, moved and deleted."""
    table = new_table(path, version, table_type, SCHEMA)
    table.upsert(rows(*((f"{city}{at}", city, 1, NAMES[at]) for city in "xyz" for at in range(4))), NO_SMALL_FILES)
    table.build_metadata(add=["record_index", *indexes])
    table.insert(rows(*((f"{city}{at}", city, 1, NAMES[at]) for city in "xyz" for at in range(4, 8))), WRITE)
    table.upsert(
        rows(("x0", "x", 2, "new"), ("y2", "y", 2, "ann"), ("z5", "z", 2, None), ("x5", "x", 0, "late")), WRITE
    )
    table.delete(["x1"], WRITE)
    return table


@pytest.fixture(scope="module", params=["MERGE_ON_READ", "COPY_ON_WRITE"])
def original(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "trips"
    written(path, request.param, [f"{BY_NAME}(name)"])
    return path


@pytest.fixture
def copied(original, tmp_path):
    return Path(shutil.copytree(original, tmp_path / "trips"))


def lines(scan):
    """What `explain` says of indexes."""
    found = (line.strip() for line in scan.explain().splitlines())
    starts = ("record index", "secondary_index", "bloom filters", "partition stats", "column stats", "secondary index")
    return [line for line in found if line.startswith(starts)]


def read(path, filters, **arguments):
    """The ids, the splits, and what explain says; the rows are those without indexes."""
    scan = mortice.Table(path).snapshot(filters=filters, **arguments)
    expected = mortice.Table(path, read_options=WITHOUT).snapshot(filters=filters, **arguments)
    found = scan.to_arrow().sort_by("id")
    assert found == expected.to_arrow().sort_by("id"), filters
    return found["id"].to_pylist(), len(scan.splits()), lines(scan)


def test_keys_are_looked_up_by_themselves(original):
    assert read(original, [("id", "in", ["x0", "y5"])]) == (["x0", "y5"], 2, ["record index 2 keys in 2 file groups"])
    assert read(original, "city = 'x' and id = 'y5'") == ([], 0, ["record index 1 keys in 1 file groups"])
    assert read(original, "id = 'x0' or id = 'x5' and ts > 7") == (
        ["x0"], 2, ["record index 2 keys in 2 file groups"]
    )  # fmt: skip
    for options in (WITHOUT, mortice.ReadOptions(prune=False), mortice.ReadOptions(use_metadata=False)):
        assert lines(mortice.Table(original, read_options=options).snapshot(filters="id = 'x0'")) == []


def test_a_key_that_the_index_lacks_excludes_nothing(original):
    found, splits, said = read(original, [("id", "in", ["x0", "x1"])])
    assert (found, said[0]) == (["x0"], "record index not used: 1 of 2 keys are not in the index")
    assert splits >= 1


def test_values_are_looked_up_in_the_secondary_index(original):
    stored = mortice.Table(original).snapshot().to_arrow()
    for name in [*NAMES, "new", "late", "no such name"]:
        found, splits, said = read(original, [("name", "=", name)] if name is not None else [("name", "is null")])
        if name is None:
            assert not any(line.startswith(BY_NAME) for line in said)
            continue
        assert found == sorted(stored.filter(pc.equal(stored["name"], name))["id"].to_pylist())
        assert said == [f"{BY_NAME} {len(found)} keys in {splits} file groups"]
        assert splits < 6
    found, splits, said = read(original, "name in ('new', 'ann') and city != 'z'")
    assert (found, said) == (["x0", "y0", "y2"], [f"{BY_NAME} 4 keys in 3 file groups"])


def test_other_queries_do_not_use_indexes_of_the_latest_state(original):
    table = mortice.Table(original)
    first = next(iter(table.timeline)).requested_time
    for filters in ("id = 'x0'", "name = 'ann'"):
        for scan in (
            table.snapshot(filters=filters, as_of=first),
            table.snapshot(filters=filters, merge=False),
            table.snapshot(filters=filters, emit_deletes=True),
            table.read_optimized(filters=filters),
            table.incremental("earliest", filters=filters),
        ):
            assert not any(line.startswith(("record index", "secondary_index")) for line in lines(scan))
    assert read(original, "id = 'x1'", as_of=first)[0] == ["x1"]
    assert read(original, "name = 'ann'", as_of=first)[0] == ["x0", "y0", "z0"]


def fallen_back(path, filters, name, reason, warned=True):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, splits, said = read(path, filters)
    assert said[0].startswith(f"{name} not used"), said
    assert reason in said[0], said
    assert any(name in str(warning.message) for warning in caught) == warned
    assert splits >= 1


def folder(path, index):
    return path / ".hoodie" / "metadata" / index


def logs(path, index):
    return sorted(file for file in folder(path, index).iterdir() if ".log." in file.name and file.stat().st_size > 100)


QUERIES = [("record_index", "id = 'y5'", "record index"), (BY_NAME, "name = 'new'", BY_NAME)]


@pytest.mark.parametrize(("index", "filters", "name"), QUERIES)
def test_an_index_behind_the_timeline_is_not_used(index, filters, name, copied):
    logs(copied, index)[-1].unlink()
    fallen_back(copied, filters, name, "behind the timeline")


@pytest.mark.parametrize(("index", "filters", "name"), QUERIES)
def test_an_index_without_its_base_files_is_not_used(index, filters, name, copied):
    for file in folder(copied, index).glob("*.hfile"):
        file.unlink()
    fallen_back(copied, filters, name, "behind the timeline")


def test_an_index_that_was_built_again_is_used(copied):
    table = mortice.Table(copied)
    table.build_metadata(drop=[BY_NAME])
    table.build_metadata(drop=["record_index"])
    table.build_metadata(add=["record_index", f"{BY_NAME}(name)"])
    assert read(copied, "id = 'y5'")[2] == ["record index 1 keys in 1 file groups"]
    assert read(copied, "name = 'new'")[2] == [f"{BY_NAME} 1 keys in 1 file groups"]


@pytest.mark.parametrize(("index", "filters", "name"), QUERIES)
def test_an_index_that_is_gone_is_not_used(index, filters, name, copied):
    shutil.rmtree(folder(copied, index))
    fallen_back(copied, filters, name, "is not there")


@pytest.mark.parametrize(("index", "filters", "name"), QUERIES)
def test_a_damaged_index_is_not_used(index, filters, name, copied):
    for file in [*logs(copied, index), *folder(copied, index).glob("*.hfile")]:
        content = bytearray(file.read_bytes())
        content[40 : len(content) - 40] = bytes(len(content) - 80)
        file.write_bytes(content)
    fallen_back(copied, filters, name, "")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"indexDefinitions": {}}'])
def test_damaged_definitions_leave_data_readable(text, copied):
    (copied / ".hoodie/.index_defs/index.json").write_text(text)
    fallen_back(copied, "name = 'new'", BY_NAME if text.endswith("}}") else "secondary index", "definitions")


def test_definitions_that_are_gone_leave_data_readable(copied):
    (copied / ".hoodie/.index_defs/index.json").unlink()
    fallen_back(copied, "name = 'new'", BY_NAME, "definitions")


@pytest.mark.parametrize(("index", "filters", "name"), QUERIES)
def test_an_index_ahead_of_the_table_is_not_used(index, filters, name, copied):
    newest = max((copied / ".hoodie/timeline").glob("*.*commit"), key=lambda file: file.name.split("_")[1])
    newest.unlink()
    fallen_back(copied, filters, name, "ahead of the table's timeline", warned=False)


def test_a_location_in_a_group_that_is_not_there_is_not_believed(copied):
    """As after the deletion of a partition by something else than a writer."""
    table = mortice.Table(copied)
    table.insert(rows(("w0", "w", 1, "ann")), WRITE)
    metadata = table.metadata_table()
    assert metadata.snapshot(filters=[("key", "=", "w0")]).to_arrow().num_rows == 1
    shutil.rmtree(copied / "w")
    found = mortice.Table(copied).snapshot(filters="id = 'w0'")
    # The listing of the metadata table still has the file.
    with pytest.raises(mortice.MorticeError):
        found.to_arrow()


def test_bloom_filters_exclude_files(tmp_path):
    table = written(tmp_path / "trips", "COPY_ON_WRITE", ["bloom_filters"])
    table.build_metadata(drop=["record_index"])
    found, splits, said = read(table.uri, "id = 'x0'")
    assert (found, splits) == (["x0"], 1)
    assert said == ["bloom filters 5 of 6 file slices left out"]
    first = next(iter(table.timeline)).requested_time
    assert read(table.uri, "id = 'x1'", as_of=first)[0] == ["x1"]
    for file in [*logs(Path(table.uri), "bloom_filters"), *folder(Path(table.uri), "bloom_filters").glob("*.hfile")]:
        file.unlink()
    assert read(table.uri, "id = 'x0'")[0] == ["x0"]


def test_keys_that_the_record_index_lacks_are_searched_by_bloom_filters(tmp_path):
    path = written(tmp_path / "trips", "COPY_ON_WRITE", ["bloom_filters"]).uri
    found, splits, said = read(path, [("id", "in", ["x0", "x1", "no such key"])])
    assert (found, splits) == (["x0"], 1)
    assert said[1] == "bloom filters 5 of 6 file slices left out"


@pytest.fixture
def by_partition(tmp_path):
    """A table whose partitions have disjoint times."""
    table = new_table(tmp_path / "trips", 9, "MERGE_ON_READ", SCHEMA)
    for at, city in enumerate("xyz"):
        table.upsert(rows((f"{city}0", city, 10 * at, "a"), (f"{city}1", city, 10 * at + 1, None)), NO_SMALL_FILES)
    table.upsert(rows(("x0", "x", 40, "b")), NO_SMALL_FILES)
    return table.uri


def test_partitions_are_excluded_by_their_statistics(by_partition):
    found, splits, said = read(by_partition, "ts >= 10 and ts < 20")
    assert (found, splits) == (["y0", "y1"], 1)
    assert said == ["partition stats 1 of 3 partitions left out", "column stats 1 of 2 file slices left out"]
    assert read(by_partition, "ts >= 41")[1:] == (0, ["partition stats 3 of 3 partitions left out"])
    assert read(by_partition, "name is null")[0] == ["x1", "y1", "z1"]


def test_partition_statistics_behind_the_timeline_are_not_used(by_partition):
    logs(Path(by_partition), "partition_stats")[-1].unlink()
    fallen_back(by_partition, "ts = 40", "partition stats", "behind the timeline")


def test_files_without_a_column_are_not_excluded_by_its_statistics(by_partition):
    """The statistics of a partition have the values of files that have the column."""
    table = mortice.Table(by_partition)
    wider = rows(("x2", "x", 50, "c"), ("y2", "y", 50, "c")).append_column("more", pa.array([1, 2], pa.int64()))
    table.upsert(wider, NO_SMALL_FILES, schema="add")
    assert read(by_partition, "more is null")[0] == ["x0", "x1", "y0", "y1", "z0", "z1"]
    assert read(by_partition, "more = 2")[0] == ["y2"]
