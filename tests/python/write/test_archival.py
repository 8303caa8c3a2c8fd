"""Archival at a user's request and after writes: which instants move, that none is lost, and its command."""

import json
import pathlib

import pytest

import mortice
from mortice import InvalidArgumentError, InvalidTableError, UnsupportedError
from mortice.cli.main import main
from support.tables.written import FIRST, KINDS, NO_METADATA, NO_SMALL_FILES, both, new_table, rows

KEEP = {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "5", "hoodie.clean.commits.retained": "1"}
OFTEN = {
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "2",
    # Only what a test asks for is cleaned and archived.
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    """A table of ten writes, without a metadata table: of one, archival waits for its compaction."""
    version, table_type = request.param
    table = new_table(tmp_path / "trips", version, table_type)
    table.upsert(FIRST, NO_METADATA | NO_SMALL_FILES)
    for ts in range(2, 11):
        table.upsert(rows(("a", "x", ts, float(ts))), NO_METADATA | NO_SMALL_FILES | OFTEN)
    return table


def instants(table):
    return [one.requested_time for one in table.timeline.active if one.state == "COMPLETED"]


def all_files(table):
    return {path: path.stat().st_mtime_ns for path in pathlib.Path(table.uri).rglob("*")}


def test_archival_does_what_its_dry_run_says(table):
    before, rows_before, untouched = instants(table), both(table), all_files(table)
    planned = table.plan_archive(KEEP | NO_METADATA).instants
    assert planned
    assert all_files(table) == untouched
    folder = pathlib.Path(table.uri) / (".hoodie" if table.version == 6 else ".hoodie/timeline")
    sizes = {str(path.relative_to(table.uri)): path.stat().st_size for path in folder.iterdir() if path.is_file()}
    done = table.archive(KEEP | NO_METADATA).instants
    assert done == planned
    deleted = {path: size for path, size in sizes.items() if not (pathlib.Path(table.uri) / path).exists()}
    assert {path: size for one in done for path, size in one.files} == deleted
    assert all(one.instant in path for one in done for path, _ in one.files)
    moved = [one.instant for one in done]
    assert moved == before[: len(moved)], "the oldest"
    assert instants(table) == before[len(moved) :]
    assert [one.requested_time for one in table.timeline.archived][-len(moved) :] == moved
    assert both(table) == rows_before
    assert table.archive(KEEP | NO_METADATA).instants == []


def test_archived_instants_have_their_metadata_and_can_be_queried(table):
    instant = next(one for one in table.timeline if one.action in ("commit", "deltacommit"))
    metadata = table.timeline.metadata(instant)
    incremental = table.incremental("000").to_arrow().sort_by("id").to_pylist()
    table.archive(KEEP | NO_METADATA)
    archived = next(one for one in table.timeline.archived if one.requested_time == instant.requested_time)
    found = table.timeline.metadata(archived)
    assert found["operationType"] == metadata["operationType"]
    assert found["partitionToWriteStats"].keys() == metadata["partitionToWriteStats"].keys()
    bounds = {"begin": "000"} | ({"fall_back_to_full_scan": True} if table.version < 8 else {})
    assert table.incremental(**bounds).to_arrow().sort_by("id").to_pylist() == incremental


def test_nothing_is_archived_beyond_a_savepoint(table):
    first = next(one for one in table.timeline if one.action in ("commit", "deltacommit"))
    table.savepoint(first.requested_time)
    before = instants(table)
    assert table.plan_archive(KEEP | NO_METADATA).instants == []
    assert table.archive(KEEP | NO_METADATA).instants == []
    assert instants(table) == before
    table.delete_savepoint(first.requested_time)
    assert table.archive(KEEP | NO_METADATA).instants != []
    with pytest.raises(UnsupportedError, match="beyond"):
        table.archive(KEEP | {"hoodie.archive.beyond.savepoint": "true"})


def test_a_table_goes_on_after_its_archival(table):
    for round_ in range(3):
        table.archive(KEEP | NO_METADATA)
        for ts in range(5):
            row = ("b", "x", 100 * (round_ + 1) + ts, float(ts))
            table.upsert(rows(row), NO_METADATA | NO_SMALL_FILES | OFTEN)
    assert both(table) == [("a", "x", 10, 10.0), ("b", "x", 304, 4.0), ("c", "y", 1, 3.0)]
    every = [one.requested_time for one in table.timeline.archived] + instants(table)
    assert len(every) == len(set(every))
    assert every == sorted(every)


def test_writes_archive_when_options_say_so(table):
    before = len(instants(table))
    automatic = {"hoodie.archive.automatic": "true", "hoodie.clean.automatic": "true"}
    table.upsert(rows(("b", "x", 50, 50.0)), NO_METADATA | NO_SMALL_FILES | OFTEN | KEEP | automatic)
    assert len(instants(table)) < before
    assert both(table)[1] == ("b", "x", 50, 50.0)


def test_the_command(table, capsys):
    options = [argument for name, value in KEEP.items() for argument in ("--option", f"{name}={value}")]
    arguments = ["archive", table.uri, *options]
    untouched = all_files(table)
    assert main([*arguments, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert all_files(table) == untouched
    assert main([*arguments, "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == planned
    files = [file for one in planned for file in one["files"]]
    size = sum(size for _, size in files)
    assert f"would archive {len(planned)} instants: {len(files)} files, {size:,} bytes" in printed
    assert all(one["instant"] in printed for one in planned)
    assert all(path in printed and str(size) in printed for path, size in files)
    assert main(arguments) == 0
    assert "archived 0 instants" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.keep.min.commits": "5", "hoodie.keep.max.commits": "5"},
        {"hoodie.keep.min.commits": "x"},
    ],
)
def test_wrong_options_are_refused_by_name(tmp_path, options):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST)
    with pytest.raises(InvalidArgumentError, match=r"hoodie\.keep\.min\.commits"):
        table.archive(options)


def test_a_history_that_names_files_elsewhere_deletes_nothing(tmp_path):
    """A damaged manifest of the archive, and one that names files outside of it, are refused: nothing is deleted."""
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, NO_METADATA | NO_SMALL_FILES)
    for ts in range(2, 11):
        table.upsert(rows(("a", "x", ts, float(ts))), NO_METADATA | NO_SMALL_FILES | OFTEN)
    table.archive(KEEP | NO_METADATA)
    for ts in range(11, 20):
        table.upsert(rows(("a", "x", ts, float(ts))), NO_METADATA | NO_SMALL_FILES | OFTEN)
    victim = tmp_path / "victim"
    victim.write_text("stays")
    history = pathlib.Path(table.uri) / ".hoodie/timeline/history"
    newest = max(history.glob("manifest_*"), key=lambda path: int(path.name.rpartition("_")[2]))
    sound = newest.read_text()
    for hostile in ("../../../../victim", str(victim), "x/../../../../../victim", "file:" + str(victim)):
        damaged = json.loads(sound)
        damaged["files"].append({"fileName": hostile, "fileLen": 5})
        newest.write_text(json.dumps(damaged))
        before = instants(table)
        with pytest.raises((InvalidTableError, mortice.MorticeError)):
            mortice.Table(table.uri).archive(KEEP | NO_METADATA)
        assert victim.read_text() == "stays"
        assert instants(mortice.Table(table.uri)) == before
    newest.write_text(sound)
    assert mortice.Table(table.uri).archive(KEEP | NO_METADATA).instants
