"""Time travel: instants that the cleaner keeps, that a savepoint keeps, and that are cleaned."""

import json
from pathlib import Path

import pytest

import mortice
from support.cases import unpack
from support.tables.live_table import LiveTable

TIMELINES = Path(__file__).parent.parent / "data" / "timelines"


@pytest.fixture(params=[6, 9])
def live(request, tmp_path):
    return LiveTable(tmp_path / "table", request.param)


def rows(live, as_of=None, **more):
    table = mortice.Table(live.folder)
    return {one["id"]: one["value"] for one in table.snapshot(as_of=as_of, **more).to_arrow().to_pylist()}


def state(commit):
    return {str(key): commit for key in range(commit)}


def requested(live):
    return [time for time, _, action in live.history if action == "deltacommit"]


def cleaned(live, *, beyond=False, with_logs=True):
    """Creates a savepoint at the third commit, which follows a compaction, and cleans later. Returns its instant."""
    for _ in range(2):
        live.commit()
    live.compact(live.plan_compaction())
    live.commit()
    savepoint, kept = live.savepoint(with_logs=with_logs)
    for _ in range(2):
        live.commit()
        live.compact(live.plan_compaction())
    live.commit()
    live.clean(spare=kept)
    if beyond:
        live.archive(keep=3, spare={savepoint})
    return savepoint


@pytest.mark.parametrize("beyond", [False, True], ids=["active", "archived"])
def test_a_savepoint_before_the_earliest_retained_commit_is_read(live, beyond):
    savepoint = cleaned(live, beyond=beyond)
    table = mortice.Table(live.folder)
    assert rows(live, savepoint) == state(3)
    assert rows(live) == state(6)
    assert table.snapshot(as_of=savepoint, filters=[("part", "=", "p1")]).count() == 1
    assert {slice_.partition for slice_ in table.file_slices(as_of=savepoint)} == {"p0", "p1", "p2"}
    assert all(log.size for slice_ in table.file_slices(as_of=savepoint) for log in slice_.log_files)
    # Base files alone have the state of the compaction before it.
    optimized = table.read_optimized(as_of=savepoint).to_arrow()
    assert dict(zip(optimized["id"].to_pylist(), optimized["value"].to_pylist(), strict=True)) == state(2)


def test_other_instants_before_the_earliest_retained_commit_are_refused(live):
    instants = []
    for _ in range(2):
        live.commit()
        instants.append(requested(live)[-1])
    savepoint = cleaned(live)
    clean = live.history[-1][0]
    table = mortice.Table(live.folder)
    floor = table.timeline.metadata(table.timeline.latest)["earliestCommitToRetain"]
    # Also between the savepoint and the next commit: only the savepoint's own instant is kept.
    for as_of in (*instants, str(int(savepoint) + 1), str(int(floor) - 1)):
        for ask in (table.snapshot, table.read_optimized, table.file_slices):
            with pytest.raises(mortice.FileCleanedError, match=f"before {floor}.*{savepoint}") as raised:
                ask(as_of=as_of)
            assert raised.value.instant == clean
    assert table.snapshot(as_of=floor).count() == table.snapshot(as_of=requested(live)[-1]).count() - 1


def test_a_missing_file_of_a_savepoint_is_an_error(live):
    savepoint = cleaned(live)
    table = mortice.Table(live.folder)
    log = table.file_slices(as_of=savepoint)[0].log_files[0]
    (live.folder / log.path).unlink()
    for opened in (table, mortice.Table(live.folder)):
        with pytest.raises(mortice.FileCleanedError) as raised:
            opened.snapshot(as_of=savepoint).to_arrow()
        assert raised.value.path.endswith(log.path)


def test_logs_of_a_savepoint_before_0_14_are_found_by_the_commits(tmp_path):
    """Such a savepoint names only base files, and the cleaner could remove the log files."""
    live = LiveTable(tmp_path / "table", 6)
    savepoint = cleaned(live, with_logs=False)
    with pytest.raises(mortice.FileCleanedError) as raised:
        rows(live, savepoint)
    assert ".log." in raised.value.path
    other = LiveTable(tmp_path / "other", 6)
    savepoint = cleaned(other, with_logs=True)
    file = other.timeline / f"{savepoint}.savepoint"
    bare = LiveTable(tmp_path / "bare", 6)
    assert cleaned(bare, with_logs=False) == savepoint
    file.write_bytes((bare.timeline / file.name).read_bytes())
    assert rows(other, savepoint) == state(3)


def test_an_archived_clean_still_bounds_time_travel(live):
    live.commit()
    first = requested(live)[0]
    for _ in range(3):
        live.commit()
        live.compact(live.plan_compaction())
    live.clean()
    live.commit()
    live.commit()
    live.archive(keep=1)
    table = mortice.Table(live.folder)
    assert all(one.action != "clean" for one in table.timeline.active)
    with pytest.raises(mortice.FileCleanedError, match="the cleaner has removed"):
        table.snapshot(as_of=first)


def test_archived_instants_can_be_queried_if_nothing_was_cleaned(live):
    for _ in range(6):
        live.commit()
    instants = requested(live)
    live.archive(keep=2)
    assert [rows(live, instant) for instant in instants] == [state(commit) for commit in range(1, 7)]
    schema = mortice.Table(live.folder).snapshot(as_of=instants[0]).schema
    assert schema.names[-4:] == ["id", "part", "value", "ts"]


@pytest.mark.parametrize("name", ["v6_savepoint", "v9_savepoint", "v6_beyond", "v9_beyond"])
def test_savepoints_of_hudi(name, tmp_path):
    """Tables of Hudi, cleaned and archived, and its snapshots at the time. Hudi itself refuses to read these
    instants."""
    place = TIMELINES / name
    table = mortice.Table(unpack(place, tmp_path))
    (savepoint,) = [one.requested_time for one in table.timeline if one.action == "savepoint"]
    names = ["_hoodie_commit_time", "id", "part", "fare"]
    results = json.loads((place / "answers.json").read_text(encoding="utf-8"))
    for as_of, expected in results.items():
        found = table.snapshot(as_of=as_of, columns=names).to_arrow().to_pylist()
        assert sorted([one[name] for name in names] for one in found) == expected, as_of
    assert savepoint in results
    assert len(results) > 1
    others = [one.requested_time for one in table.timeline if one.requested_time < savepoint]
    assert others
    for as_of in others:
        with pytest.raises(mortice.FileCleanedError):
            table.snapshot(as_of=as_of)


def test_a_log_that_compactions_skipped(tmp_path):
    """Its commit was archived, while a restore from before it is still active: Hudi 1.2 treats it as pending."""
    place = TIMELINES / "v9_skipped_logs"
    names = ["_hoodie_commit_time", "id", "part", "fare"]
    found = mortice.Table(unpack(place, tmp_path)).snapshot(columns=names).to_arrow().to_pylist()
    result = json.loads((place / "answers.json").read_text(encoding="utf-8"))["snapshot"]
    assert sorted([one[name] for name in names] for one in found) == result
