"""The metadata table that a user asks for: built, built again, deleted; indexes added and dropped."""

import json
import pathlib

import pytest

import mortice
from mortice import InvalidArgumentError, UnsupportedError
from mortice.cli.main import main
from support.tables.written import FIRST, KINDS, NO_METADATA, NO_SMALL_FILES, both, new_table, rows

DEFAULT = {
    6: ["files"],
    8: ["column_stats", "files", "partition_stats"],
    9: ["column_stats", "files", "partition_stats"],
    10: ["column_stats", "files", "partition_stats"],
}
RECORD_INDEX = {"hoodie.index.type": "RECORD_INDEX"}


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    """A table without a metadata table, with base files and, if it is merge-on-read, logs."""
    version, table_type = request.param
    table = new_table(tmp_path / "trips", version, table_type)
    table.upsert(FIRST, NO_METADATA | NO_SMALL_FILES)
    table.upsert(rows(("a", "x", 2, 10.0), ("d", "z", 1, 4.0)), NO_METADATA | NO_SMALL_FILES)
    return table


def partitions(table):
    """What the table's properties say."""
    lines = (pathlib.Path(table.uri) / ".hoodie/hoodie.properties").read_text().splitlines()
    entries = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    return sorted(filter(None, entries.get("hoodie.table.metadata.partitions", "").split(",")))


def all_files(table):
    return {path: path.stat().st_mtime_ns for path in pathlib.Path(table.uri).rglob("*")}


def filtered(table):
    """Rows by filters, with and without data skipping."""
    filters = [[("fare", ">", 3.5)], [("id", "==", "a")], [("city", "==", "y"), ("fare", "<", 4.0)]]
    found = []
    for one in filters:
        by_statistics, without = (
            sorted(
                mortice.Table(table.uri, read_options=mortice.ReadOptions(use_metadata=use))
                .snapshot(["id", "fare"], one)
                .to_arrow()
                .to_pylist(),
                key=str,
            )
            for use in (True, False)
        )
        assert by_statistics == without, one
        found.append(without)
    return found


def test_a_metadata_table_is_built_as_its_dry_run_says(table):
    rows_before, filtered_before, untouched = both(table), filtered(table), all_files(table)
    assert partitions(table) == []
    planned = table.plan_build_metadata()
    assert all_files(table) == untouched
    done = table.build_metadata()
    assert done == planned
    assert (sorted(done.added), done.dropped, done.deleted) == (DEFAULT[table.version], [], [])
    stored = [path for path in pathlib.Path(table.uri).glob("[xyz]/*") if "metadata" not in path.name]
    sizes = [path.stat().st_size for path in stored if path.suffix != ".crc"]
    assert (done.files, done.bytes) == (len(sizes), sum(sizes))
    assert partitions(table) == sorted(done.partitions) == DEFAULT[table.version]
    assert both(table) == rows_before
    assert filtered(table) == filtered_before
    again = table.build_metadata()
    assert (again.added, again.dropped) == ([], [])
    table.upsert(rows(("e", "x", 1, 5.0)), NO_SMALL_FILES)
    assert ("e", "x", 1, 5.0) in both(table)
    assert table.verify().findings == []


def test_its_initialisation_may_be_archived_before_the_next_write(table):
    """Services of the metadata table run before that write reaches it."""
    table.build_metadata(add=["record_index", "bloom_filters"])
    few = {
        "hoodie.metadata.compact.max.delta.commits": "1",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
    }
    for number in range(4):
        key = f"k{number}"
        table.upsert(rows((key, "x", 1, 5.0)), few | NO_SMALL_FILES)
        assert (key, "x", 1, 5.0) in both(table)
    assert table.verify().findings == []


def test_writes_drop_and_add_the_statistics_of_partitions(table):
    table.build_metadata()
    switch = "hoodie.metadata.index.partition.stats.enable"
    table.upsert(rows(("e", "x", 1, 5.0)), NO_SMALL_FILES | {switch: "false"})
    assert partitions(table) == [name for name in DEFAULT[table.version] if name != "partition_stats"]
    table.upsert(rows(("f", "y", 1, 6.0)), NO_SMALL_FILES | {switch: "true"})
    assert partitions(table) == DEFAULT[table.version]
    assert len(filtered(table)) == 3
    assert table.verify().findings == []


@pytest.mark.parametrize("index", ["column_stats", "partition_stats", "record_index", "bloom_filters"])
def test_an_index_is_added_and_dropped(table, index):
    if table.version == 6 and index == "partition_stats":
        with pytest.raises(UnsupportedError, match="partition_stats"):
            table.build_metadata(add=[index])
        assert partitions(table) == []
        return
    table.build_metadata(drop=[] if table.version == 6 else ["column_stats", "partition_stats"])
    assert partitions(table) == ["files"]
    base = ["column_stats"] if index == "partition_stats" else []
    done = table.build_metadata(add=[index, *base])
    assert index in done.added
    assert index in partitions(table)
    rows_before, filtered_before = both(table), filtered(table)
    options = RECORD_INDEX if index == "record_index" else {}
    table.upsert(rows(("a", "x", 7, 70.0), ("f", "y", 1, 6.0)), NO_SMALL_FILES | options)
    changed = [row for row in rows_before if row[0] != "a"]
    assert both(table) == sorted([*changed, ("a", "x", 7, 70.0), ("f", "y", 1, 6.0)], key=str)
    assert filtered(table) != filtered_before
    folder = pathlib.Path(table.uri) / ".hoodie/metadata" / index
    planned = table.plan_build_metadata(drop=[index])
    # The statistics of partitions go with those of files.
    folders = [folder.with_name(name) for name in planned.dropped]
    stored = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert sorted(planned.deleted) == sorted((str(path.relative_to(table.uri)), path.stat().st_size) for path in stored)
    done = table.build_metadata(drop=[index])
    assert (done.deleted, done.dropped) == (planned.deleted, planned.dropped)
    assert index in done.dropped
    assert index not in partitions(table)
    assert not [path for path in folder.rglob("*") if path.is_file()]
    filtered(table)
    table.upsert(rows(("g", "x", 1, 8.0)), NO_SMALL_FILES)
    assert ("g", "x", 1, 8.0) in both(table)
    assert table.verify().findings == []


def test_a_damaged_metadata_table_is_built_again(table):
    table.build_metadata(add=["record_index"])
    had, expected = partitions(table), both(table)
    for path in (pathlib.Path(table.uri) / ".hoodie/metadata/files").glob("*.hfile"):
        path.write_bytes(b"damaged")
    planned = table.plan_build_metadata(rebuild=True)
    done = table.build_metadata(rebuild=True)
    assert done == planned
    assert partitions(table) == sorted(done.partitions) == had
    assert both(table) == expected
    filtered(table)
    table.upsert(rows(("a", "x", 7, 70.0)), NO_SMALL_FILES | RECORD_INDEX)
    assert ("a", "x", 7, 70.0) in both(table)
    assert table.verify().findings == []


@pytest.mark.parametrize("version", [6, 8, 9])
def test_writes_and_rollbacks_go_on_beside_a_damaged_metadata_table(tmp_path, version):
    files_only = {"hoodie.metadata.index.column.stats.enable": "false"}
    compact = files_only | {"hoodie.metadata.compact.max.delta.commits": "1"}
    table = new_table(tmp_path / "trips", version)
    for ts, options in ((1, compact), (2, compact), (3, files_only), (4, files_only)):
        table.upsert(rows(("c", "y", ts, 1.0), ("a", "x", 1, 1.0)), options)
    logs = (tmp_path / "trips" / ".hoodie" / "metadata" / "files").glob(".files-*.log.*[0-9]")
    damaged = max(logs, key=lambda path: path.stat().st_mtime_ns)
    damaged.write_bytes(damaged.read_bytes()[: damaged.stat().st_size // 2])
    assert "unreadable_metadata_table" in [finding.kind for finding in table.verify().findings]
    expected = both(table)
    table.upsert(rows(("a", "x", 5, 5.0)), files_only)
    table.rollback(table.timeline[-1].requested_time)
    table.bulk_insert(rows(("n", "x", 1, 1.0)), files_only)
    assert len(both(table)) == len(expected) + 1
    table.rollback(table.timeline[-1].requested_time)
    table.build_metadata(rebuild=True)
    assert not table.verify().findings
    assert both(table) == expected


def test_a_metadata_table_is_deleted(table):
    table.build_metadata()
    expected = both(table)
    planned = table.plan_delete_metadata()
    assert partitions(table) != []
    done = table.delete_metadata()
    assert done == planned
    assert done.deleted
    assert (partitions(table), done.partitions) == ([], [])
    assert not [path for path in (pathlib.Path(table.uri) / ".hoodie/metadata").rglob("*") if path.is_file()]
    assert both(table) == expected
    assert table.delete_metadata().deleted == []


def test_what_cannot_be_done_is_refused_before_anything_is_changed(table):
    before = all_files(table)
    for arguments, word in (
        ({"add": ["files"]}, "files"),
        ({"add": ["secondary_index_x"]}, "secondary_index_x"),
        ({"add": ["record_index"], "drop": ["record_index"]}, "record_index"),
        ({"add": "record_index"}, "list"),
        ({"options": {"hoodie.metadata.index.colum.stats.enable": "true"}}, "colum"),
    ):
        with pytest.raises(InvalidArgumentError, match=word):
            table.build_metadata(**arguments)
    with pytest.raises(UnsupportedError, match="partition_stats"):
        table.build_metadata(add=["partition_stats"], drop=["column_stats"])
    assert all_files(table) == before


def test_up_to_version_7_it_waits_for_pending_instants(tmp_path):
    table = new_table(tmp_path / "trips", 6)
    table.upsert(FIRST, NO_METADATA)
    plan = {"hoodie.compact.schedule.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    table.upsert(rows(("a", "x", 2, 2.0)), NO_METADATA | plan)
    [pending] = list(table.timeline.pending)
    before = all_files(table)
    with pytest.raises(UnsupportedError, match=pending.requested_time):
        table.build_metadata()
    assert all_files(table) == before


def test_the_command(table, capsys):
    assert main(["metadata", "build", table.uri, "--add", "record_index", "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert partitions(table) == []
    assert main(["metadata", "build", table.uri, "--add", "record_index", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == planned
    assert "record_index" in partitions(table)
    assert main(["metadata", "build", table.uri, "--drop", "record_index", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "record_index would be deleted" in printed
    assert ".hoodie/metadata/record_index/" in printed
    assert main(["metadata", "delete", table.uri]) == 0
    assert "metadata table: none" in capsys.readouterr().out
    assert main(["metadata", "build", table.uri, "--add", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err
