"""Cleans at a user's request and after writes: what they delete, what they leave, and their command."""

import json
import pathlib

import pytest

import mortice
from mortice import FileCleanedError, InvalidArgumentError
from mortice.cli.main import main
from support.tables.written import FIRST, KINDS, NO_METADATA, NO_SMALL_FILES, both, content, new_table, rows

TWO = {"hoodie.clean.commits.retained": "2"}
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    """A table with five versions of one base file, and one version of another."""
    version, table_type = request.param
    table = new_table(tmp_path / "trips", version, table_type)
    table.upsert(FIRST, NO_SMALL_FILES)
    for ts in range(2, 6):
        table.upsert(rows(("a", "x", ts, float(ts))), NO_SMALL_FILES | COMPACT)
    return table


def data_files(table):
    root = pathlib.Path(table.uri)
    found = (path for path in root.rglob("*") if path.is_file() and not path.name.endswith(".crc"))
    found = {str(path.relative_to(root)): path.stat().st_size for path in found}
    return {path: size for path, size in found.items() if not path.startswith(".hoodie") and "metadata" not in path}


def all_files(table):
    return {path: path.stat().st_mtime_ns for path in pathlib.Path(table.uri).rglob("*")}


def test_a_clean_does_what_its_dry_run_says(table):
    before, rows_before, untouched = data_files(table), both(table), all_files(table)
    [planned] = table.plan_clean(TWO).cleans
    assert planned.instant is None
    assert all_files(table) == untouched
    [done] = table.clean(TWO).cleans
    assert (done.files, done.partitions, done.earliest) == (planned.files, planned.partitions, planned.earliest)
    assert done.instant in [one.requested_time for one in table.timeline if one.action == "clean"]
    deleted = {file.path: file.bytes for file in done.files}
    assert deleted
    assert deleted == {path: size for path, size in before.items() if path not in data_files(table)}
    assert {path: size for path, size in before.items() if path not in deleted} == data_files(table)
    assert both(table) == rows_before
    assert table.clean(TWO).cleans == []


def test_the_retained_commits_can_be_read_and_those_before_cannot(table):
    writes = [one.requested_time for one in table.timeline if one.action in ("commit", "deltacommit")]
    earlier = {one: content_at(table, one) for one in writes}
    [done] = table.clean(TWO).cleans
    retained = [one for one in writes if one >= done.earliest]
    assert len(retained) == 2
    for one in retained:
        assert content_at(table, one) == earlier[one]
    with pytest.raises(mortice.MorticeError):
        content_at(table, writes[0])


def content_at(table, instant):
    return sorted(tuple(row.values()) for row in table.snapshot(["id", "ts"], as_of=instant).to_arrow().to_pylist())


def test_cleans_whose_plans_are_archived_are_read_from_their_completed_files(table):
    [done] = table.clean(TWO).cleans
    at_earliest = content_at(table, done.earliest)
    # As an archival leaves it that is killed before it deletes the completed file.
    for state in ("requested", "inflight"):
        [file] = pathlib.Path(table.uri, ".hoodie").rglob(f"{done.instant}.clean.{state}")
        file.unlink()
    table.refresh()
    assert table.verify().findings == []
    assert content_at(table, done.earliest) == at_earliest
    with pytest.raises(FileCleanedError):
        content_at(table, table.timeline[0].requested_time)


def test_file_versions_are_kept_by_their_number(table):
    one = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
    expected = both(table)
    [done] = table.clean(one).cleans
    assert done.earliest is None
    assert both(table) == expected
    bases = [path for path in data_files(table) if path.endswith(".parquet")]
    assert len(bases) == len(table.file_slices()) == 2


def test_files_of_a_savepoint_stay_until_it_is_deleted(table):
    writes = [one for one in table.timeline if one.action in ("commit", "deltacommit")]
    kept = table.savepoint(writes[0].requested_time)
    names = {f"{partition}/{name}" for partition, files in kept.files.items() for name in files}
    table.clean(TWO)
    assert names <= set(data_files(table))
    table.delete_savepoint(writes[0].requested_time)
    table.upsert(rows(("a", "x", 9, 9.0)), NO_SMALL_FILES | COMPACT)
    expected = both(table)
    table.clean({**TWO, "hoodie.clean.incremental.enabled": "false"})
    assert not names <= set(data_files(table))
    assert both(table) == expected


def test_replaced_file_groups_are_deleted(table):
    old = set(data_files(table))
    table.insert_overwrite_table(rows(("z", "x", 1, 1.0)))
    table.upsert(rows(("z", "x", 2, 2.0)), NO_SMALL_FILES | COMPACT)
    table.upsert(rows(("z", "x", 3, 3.0)), NO_SMALL_FILES | COMPACT)
    table.clean({"hoodie.clean.commits.retained": "1"})
    assert not old & set(data_files(table))
    assert both(table) == [("z", "x", 3, 3.0)]


def test_writes_clean_when_options_say_so(table):
    before = set(data_files(table))
    automatic = {"hoodie.clean.automatic": "true", **TWO}
    table.upsert(rows(("a", "x", 8, 8.0)), NO_SMALL_FILES | COMPACT | automatic)
    assert before - set(data_files(table))
    assert "clean" in [one.action for one in table.timeline]
    assert content(table)[0] == ("a", "x", 8, 8.0)


def test_what_a_pending_compaction_reads_stays(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, NO_METADATA)
    table.upsert(rows(("a", "x", 2, 2.0)), NO_METADATA)
    plan = {"hoodie.compact.schedule.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    table.upsert(rows(("a", "x", 3, 3.0)), NO_METADATA | plan)
    for ts in range(4, 8):
        table.upsert(rows(("a", "x", ts, float(ts))), NO_METADATA)
    before = data_files(table)
    table.clean({"hoodie.clean.commits.retained": "1", **NO_METADATA})
    assert data_files(table) == before
    table.compact(schedule=False, options=NO_METADATA)
    assert content(table)[0] == ("a", "x", 7, 7.0)


def test_the_dry_run_of_a_pending_clean_has_the_files_that_are_left(table):
    """A clean that was stopped after it had deleted a file."""
    root = pathlib.Path(table.uri)
    before = data_files(table)
    [done] = table.clean(TWO).cleans
    deleted = [path for path in before if not (root / path).exists()]
    assert len(deleted) > 1
    timeline = root / (".hoodie" if table.version == 6 else ".hoodie/timeline")
    [completed] = timeline.glob(f"{done.instant}*.clean")
    completed.unlink()
    for path in deleted[1:]:
        (root / path).write_bytes(b"x" * before[path])
    table.refresh()
    [planned] = table.plan_clean(TWO).cleans
    assert planned.instant == done.instant
    assert {file.path: file.bytes for file in planned.files} == {path: before[path] for path in deleted[1:]}
    [completed] = table.clean(TWO).cleans
    assert (completed.instant, completed.files) == (done.instant, planned.files)
    assert not set(deleted) & set(data_files(table))


def test_the_command(table, capsys):
    arguments = ["clean", table.uri, "--option", "hoodie.clean.commits.retained=2"]
    before, untouched = data_files(table), all_files(table)
    assert main([*arguments, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert all_files(table) == untouched
    assert main([*arguments, "--dry-run", "--json"]) == 0
    [planned] = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--json"]) == 0
    [done] = json.loads(capsys.readouterr().out)
    assert done["files"] == planned["files"]
    deleted = {file["path"]: file["bytes"] for file in done["files"]}
    assert deleted == {path: size for path, size in before.items() if path not in data_files(table)}
    for path, size in deleted.items():
        assert path in printed
        assert str(size) in printed
    assert f"would delete {len(deleted)} files, {sum(deleted.values()):,} bytes" in printed
    assert main(arguments) == 0
    assert "nothing to clean" in capsys.readouterr().out


@pytest.mark.parametrize("version", [6, 9])
def test_groups_that_archived_commits_replaced_are_not_missed(tmp_path, version):
    """The clean that deleted their files is active still, and went by versions."""
    table = new_table(tmp_path / "trips", version, "COPY_ON_WRITE")
    options = {**NO_SMALL_FILES, **NO_METADATA, "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    first = table.upsert(FIRST, options)
    table.insert_overwrite_table(rows(("z", "x", 1, 1.0)), options)
    later = [table.upsert(rows(("z", "x", ts, float(ts))), options).instant for ts in range(2, 6)]
    versions = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "9"}
    [clean] = table.clean(options | versions).cleans
    assert len(clean.files) == 2
    keep = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    assert len(table.archive(options | keep).instants) > 1
    for instant, ts in zip(later[-2:], (4, 5), strict=True):
        assert [row[-1] for row in content_at(table, instant)] == [ts]
    with pytest.raises(FileCleanedError):
        content_at(table, first.instant)


@pytest.mark.parametrize(
    ("name", "value"),
    [("hoodie.clean.policy", "KEEP_ALL"), ("hoodie.clean.commits.retained", "0"), ("hoodie.clean.hours.retained", "x")],
)
def test_wrong_options_are_refused_by_name(tmp_path, name, value):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST)
    with pytest.raises(InvalidArgumentError, match=name.replace(".", r"\.")):
        table.clean({name: value})


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_removed_partition_can_be_written_to_again(tmp_path, version):
    compact = {"hoodie.metadata.compact.max.delta.commits": "1"}
    table = new_table(tmp_path / "trips", version, "COPY_ON_WRITE")
    table.upsert(FIRST, compact)
    table.delete_partitions(["x"])
    table.upsert(rows(("c", "y", 2, 3.5)), compact)
    (clean,) = table.clean(
        {"hoodie.clean.commits.retained": "1", "hoodie.metadata.compact.max.delta.commits": "100"}
    ).cleans
    assert not (tmp_path / "trips" / "x").exists()
    logs = (tmp_path / "trips" / ".hoodie" / "metadata" / "files").glob(".files-*.log.*[0-9]")
    log = mortice.LogFile(max(logs, key=lambda path: path.stat().st_mtime_ns))
    (block,) = (block for block in log.blocks() if block.instant_time == clean.instant)
    # There is no delete block, after which Hudi would list the old files again.
    _, files = (dict(files) for files in log.records(block)["filesystemMetadata"].to_pylist())
    assert [file["isDeleted"] for file in files.values()] == [True]
    table.upsert(rows(("e", "x", 1, 5.0)))
    assert not table.verify().findings
    assert ("e", "x", 1, 5.0) in both(table)
