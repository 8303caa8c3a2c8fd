"""What `Table.verify` finds of files that stopped and stalled writers left, in the table and in its metadata table."""

import os
import pathlib
import shutil
import time

import pytest

import mortice
from support.tables.written import CHANGED, FIRST, KINDS, NO_METADATA, NO_SMALL_FILES, new_table, rows

OLD = time.time() - 7200
UNKNOWN = "20200101000000000"
LATER = "20991231235959999"


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    table = new_table(tmp_path / "trips", *request.param)
    table.upsert(FIRST, NO_SMALL_FILES)
    table.upsert(CHANGED, NO_SMALL_FILES)
    assert table.verify(keys=True).findings == []
    return table


def found(table, **arguments):
    """Kinds and paths."""
    return sorted((one.kind, one.path) for one in table.verify(contents=False, **arguments).findings)


def repaired(table):
    return sorted((one.kind, one.path) for one in table.repair().repaired)


def timeline_of(table, root=""):
    return pathlib.Path(table.uri) / root / (".hoodie" if table.version == 6 else ".hoodie/timeline")


def put(table, path, age=0.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age, time.time() - age))
    return str(path.relative_to(table.uri))


def test_leftovers_of_completed_instants_in_the_metadata_table_are_repaired(table):
    root, instant = pathlib.Path(table.uri) / ".hoodie/metadata/.hoodie", table.timeline[-1].requested_time
    put(table, root / ".heartbeat" / instant)
    put(table, root / ".temp" / instant / "files/files-0000-0.marker.CREATE")
    expected = [
        ("dead_heartbeat", f".hoodie/metadata/.hoodie/.heartbeat/{instant}"),
        ("stale_markers", f".hoodie/metadata/.hoodie/.temp/{instant}"),
    ]
    assert found(table) == expected
    assert repaired(table) == expected
    assert table.verify().findings == []
    assert not (root / ".temp" / instant).exists()


def test_leftovers_of_pending_instants_in_the_metadata_table_are_left(table):
    """A writer removes them once its instant is completed in the table, after it is in the metadata table."""
    instant = table.timeline[-1].requested_time
    root = pathlib.Path(table.uri) / ".hoodie/metadata/.hoodie"
    put(table, root / ".heartbeat" / instant)
    for path in timeline_of(table).iterdir():
        if path.name.startswith(instant) and not path.name.endswith((".requested", ".inflight")):
            path.unlink()
    assert "dead_heartbeat" not in [kind for kind, _ in found(mortice.Table(table.uri))]


def test_files_that_were_not_finished_are_found_and_repaired_once_nobody_writes_them(table):
    completed = table.timeline[-1].requested_time
    metadata, metadata_files = (
        timeline_of(table, ".hoodie/metadata"),
        pathlib.Path(table.uri) / ".hoodie/metadata/files",
    )
    safe = [
        put(table, timeline_of(table) / f".{completed}.inflight.a1b2c3.tmp"),
        put(table, metadata / f".{completed}.deltacommit.requested.a1b2c3.tmp"),
        put(table, metadata_files / f".files-0000-0_0-0-0_{UNKNOWN}.hfile.a1b2c3.tmp", 7200),
        put(table, timeline_of(table) / f".{LATER}.commit.requested.a1b2c3.tmp", 7200),
        put(table, timeline_of(table) / f"{LATER}.inflight.tmp", 7200),
        put(table, pathlib.Path(table.uri) / ".hoodie/.hoodie.properties.a1b2c3.tmp", 7200),
        put(table, pathlib.Path(table.uri) / f"x/.f-0_0-0-0_{LATER}.parquet.a1b2c3.tmp", 7200),
        put(table, pathlib.Path(table.uri) / f"x/.f-0_{LATER}.log.1_0-0-0.a1b2c3.tmp", 7200),
    ]
    young = [
        put(table, timeline_of(table) / f".{LATER}.commit.requested.d4e5f6.tmp"),
        put(table, pathlib.Path(table.uri) / f"x/.f-0_0-0-0_{LATER}.parquet.d4e5f6.tmp"),
    ]
    put(table, pathlib.Path(table.uri) / "x/.notes.tmp", 7200)
    assert found(table) == sorted(("temporary_file", path) for path in [*safe, *young])
    assert repaired(table) == sorted(("temporary_file", path) for path in safe)
    assert found(table) == sorted(("temporary_file", path) for path in young)
    assert (pathlib.Path(table.uri) / "x/.notes.tmp").exists()


def test_files_of_no_instant_in_the_metadata_table_are_found(table):
    files = pathlib.Path(table.uri) / ".hoodie/metadata/files"
    path = files / f"files-0000-0_0-0-0_{LATER}.hfile"
    if table.version > 6:
        path = files / f".files-0000-0_{LATER}.log.1_0-0-0"
    expected = [("orphan_file", put(table, path, 7200))]
    assert found(table) == expected
    assert repaired(table) == expected
    assert table.verify().findings == []


def test_a_pending_instant_of_the_metadata_table_alone_is_found(table):
    path = put(table, timeline_of(table, ".hoodie/metadata") / f"{LATER}.deltacommit.requested")
    assert found(table) == [("orphan_file", path)]
    assert repaired(table) == []


def test_files_of_an_instant_that_is_gone_are_found_in_the_metadata_table(table):
    """As a writer leaves them that was rolled back, and then completed its instant in the metadata table."""
    table.upsert(rows(("n", "x", 3, 3.0)), NO_SMALL_FILES)
    gone = table.timeline[-1].requested_time
    table.upsert(rows(("m", "x", 4, 4.0)), NO_SMALL_FILES)
    for path in timeline_of(table).iterdir():
        if path.name.startswith(gone):
            path.unlink()
    table = mortice.Table(table.uri)
    kinds = found(table)
    assert {kind for kind, _ in kinds} == {"listed_uncommitted", "orphan_file"}
    assert len({path for _, path in kinds}) == 1
    (pathlib.Path(table.uri) / kinds[0][1]).unlink()
    assert found(table) == [("listed_not_stored", kinds[0][1])]


@pytest.mark.parametrize("version", [6, 9])
def test_logs_that_are_shorter_than_their_commit_says_are_found(tmp_path, version):
    """Without a metadata table, which lists lengths, too."""
    table = new_table(tmp_path / "trips", version)
    table.upsert(FIRST, NO_SMALL_FILES | NO_METADATA)
    table.upsert(CHANGED, NO_SMALL_FILES | NO_METADATA)
    log = next(iter(sorted(pathlib.Path(table.uri).glob("x/.*.log.*"))))
    content = log.read_bytes()
    assert found(table) == []
    log.write_bytes(b"")
    assert found(table) == [("wrong_length", f"x/{log.name}")]
    # Logs of old writers are appended to.
    log.write_bytes(content + content)
    assert found(table) == []


def test_files_that_count_as_committed_and_were_not_are_found(tmp_path):
    """They were left by a writer that was rolled back, before the timeline was archived past it."""
    table = new_table(tmp_path / "trips", 9, "COPY_ON_WRITE")
    for ts in range(1, 11):
        table.upsert(rows(("a", "x", ts, float(ts))), NO_METADATA | NO_SMALL_FILES)
        if ts == 2:
            gone = table.upsert(rows(("n", "x", ts, float(ts))), NO_METADATA | NO_SMALL_FILES)
            file = next(pathlib.Path(table.uri).glob(f"x/*_{gone.instant}.parquet"))
            shutil.copy(file, tmp_path / file.name)
            table.rollback(gone.instant)
    table.archive(
        NO_METADATA
        | {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "5", "hoodie.clean.commits.retained": "1"}
    )
    table = mortice.Table(table.uri)
    assert found(table) == []
    shutil.copy(tmp_path / file.name, file)
    assert found(table) == [("uncommitted_file", f"x/{file.name}")]
    assert "n" in table.snapshot(columns=["id"]).to_arrow()["id"].to_pylist(), "readers take it for committed"


@pytest.mark.parametrize("version", [6, 9])
def test_files_of_which_nothing_is_known_are_kept(tmp_path, version):
    """The archive may have lost their commit: no rollback says that they were never part of the table."""
    table = new_table(tmp_path / "trips", version, "COPY_ON_WRITE")
    for ts in range(1, 11):
        table.upsert(rows(("a", "x", ts, float(ts))), NO_METADATA | NO_SMALL_FILES)
    table.archive(
        NO_METADATA
        | {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "5", "hoodie.clean.commits.retained": "1"}
    )
    table = mortice.Table(table.uri)
    instants = [instant.requested_time for instant in table.timeline.archived]
    unknown = str(int(instants[1]) + 1)
    assert unknown not in instants
    written = next(pathlib.Path(table.uri).glob(f"x/*_{table.timeline[-1].requested_time}.parquet"))
    file = written.with_name(f"00000000-0000-0000-0000-000000000000-0_0-0-0_{unknown}.parquet")
    shutil.copy(written, file)
    os.utime(file, (OLD, OLD))
    [finding] = table.verify(contents=False).findings
    assert (finding.kind, finding.path) == ("unaccounted_file", f"x/{file.name}")
    assert finding.remedy == "keep the file, and find out which write it is of"
    done = table.repair(NO_METADATA)
    assert (done.repaired, done.left) == ([], [finding])
    assert file.exists()
    table.clean(NO_METADATA | {"hoodie.clean.commits.retained": "1"})
    assert file.exists()


def test_the_next_write_removes_what_was_left_in_the_metadata_table(table):
    root, instant = pathlib.Path(table.uri) / ".hoodie/metadata/.hoodie", table.timeline[-1].requested_time
    put(table, root / ".heartbeat" / instant)
    put(table, root / ".temp" / instant / "files/files-0000-0.marker.CREATE")
    put(table, root / ".heartbeat" / UNKNOWN, 7200)
    put(table, root / ".heartbeat" / LATER)
    gone, stopped = (str(int(table.timeline[0].requested_time) + number) for number in (1, 2))
    log = pathlib.Path(table.uri) / f".hoodie/metadata/files/.files-0000-0_{gone}.log.1_0-0-0"
    if table.version > 6:
        put(table, log, 7200)
        put(table, root / ".temp" / gone / f"files/{log.name}.marker.CREATE")
        put(table, timeline_of(table, ".hoodie/metadata") / f"{stopped}.deltacommit.inflight", 7200)
    table.upsert(rows(("d", "x", 5, 5.0)), NO_SMALL_FILES)
    assert [path.name for path in (root / ".heartbeat").iterdir()] == [LATER], "its writer may be alive"
    (root / ".heartbeat" / LATER).unlink()
    assert table.verify().findings == []
    assert not log.exists()
