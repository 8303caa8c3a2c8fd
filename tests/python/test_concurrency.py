"""Readers beside a writer and a cleaner: an answer is the state at one commit, or an error that says what is gone."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mortice
from support.tables.live_table import LiveTable

TESTS = Path(__file__).parent.parent


@pytest.fixture(params=[6, 9])
def live(request, tmp_path):
    return LiveTable(tmp_path / "table", request.param)


def state(scan):
    """The commit whose state a table of `live_table` is in: every key has its number, and there are as many keys."""
    rows = scan.to_arrow().select(["id", "value"]).to_pylist()
    keys, values = {one["id"] for one in rows}, {one["value"] for one in rows}
    assert len(values) <= 1, f"of several commits: {sorted(values)}"
    commit = max(values, default=0)
    assert len(rows) == len(keys) == commit, f"{len(rows)} rows of {len(keys)} keys at commit {commit}"
    return commit


def test_a_reader_beside_a_writer_sees_whole_commits(tmp_path, live):
    """The writer, in a process of its own, commits, compacts, cleans and archives."""
    path, steps = tmp_path / "other", 40
    command = [sys.executable, "-m", "support.tables.live_table", str(path), str(live.version), str(steps)]
    seen, gone = [], []
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(TESTS)}, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"0\n"
        while writer.poll() is None:
            table = mortice.Table(path)
            try:
                scan = table.snapshot(columns=["id", "value"])
                seen.append(state(scan))
            except mortice.FileCleanedError as error:
                # The plan has come too late: the next one is made anew.
                gone.append(error)
        assert writer.returncode == 0
    seen.append(state(mortice.Table(path).snapshot()))
    assert seen == sorted(seen), "time went backwards"
    assert len(set(seen)) > 3
    assert len(gone) < len(seen)
    assert all(error.instant and error.path for error in gone)


def test_what_is_completed_after_the_table_was_opened_is_not_seen(live):
    for step in range(4):
        live.work(step)
    commits = live.commits
    table = mortice.Table(live.folder)
    begun = live.begin()
    assert state(table.snapshot()) == commits
    live.end(begun)
    planned = live.plan_compaction()
    live.commit()
    assert state(table.snapshot()) == commits
    live.compact(planned)
    live.commit()
    assert state(table.snapshot()) == commits
    assert state(mortice.Table(live.folder).snapshot()) == live.commits


def cleaned(live):
    """What it was opened with has been cleaned away, but for the newest slices, which it does not know."""
    live.clean()


def archived(live):
    """The clean itself is in the archive already."""
    live.clean()
    for _ in range(4):
        live.commit()
    live.archive(keep=2)


@pytest.mark.parametrize("happens", [cleaned, archived])
def test_a_table_whose_files_were_cleaned_since_it_was_opened_says_so(live, happens):
    """Its file groups are not empty: what is left of them is newer than the table as it was opened."""
    live.commit()
    live.compact(live.plan_compaction())
    live.commit()
    table = mortice.Table(live.folder)
    planned = table.snapshot()
    for _ in range(2):
        live.commit()
        live.compact(live.plan_compaction())
    happens(live)
    for ask in (table.snapshot, table.read_optimized, table.file_slices):
        with pytest.raises(mortice.FileCleanedError, match="open it again") as raised:
            ask()
        assert raised.value.instant
        assert raised.value.path
    with pytest.raises(mortice.FileCleanedError, match="plan the query again") as raised:
        planned.to_arrow()
    assert raised.value.instant in planned.explain() or raised.value.instant in raised.value.path
    assert not Path(raised.value.path).exists()
    assert state(mortice.Table(live.folder).snapshot()) == live.commits


def test_a_clean_that_takes_other_files_does_not_matter(live):
    for _ in range(3):
        live.commit()
        live.compact(live.plan_compaction())
    table = mortice.Table(live.folder)
    live.clean()
    assert state(table.snapshot()) == 3
    live.commit()
    assert state(table.snapshot()) == 3


def test_a_clean_that_is_planned_and_not_done_is_believed(live):
    """Its files may go at any moment while the query is planned."""
    live.commit()
    live.compact(live.plan_compaction())
    table = mortice.Table(live.folder)
    for _ in range(2):
        live.commit()
        live.compact(live.plan_compaction())
    kept = {path: path.read_bytes() for path in live.folder.glob("p*/*.parquet")}
    live.clean()
    for path, content in kept.items():
        path.write_bytes(content)
    (completed,) = live.timeline.glob("*.clean")
    completed.unlink()
    with pytest.raises(mortice.FileCleanedError, match="or is about to"):
        table.snapshot()
    assert state(mortice.Table(live.folder).snapshot()) == 3


def test_filters_leave_out_what_was_cleaned_elsewhere(live):
    for _ in range(2):
        live.commit()
        live.compact(live.plan_compaction())
    table = mortice.Table(live.folder)
    for _ in range(2):
        live.commit()
        live.compact(live.plan_compaction())
    # The clean passes the first partition over.
    live.slices, others = {"p1": live.slices["p1"]}, live.slices
    live.clean()
    live.slices = others
    assert table.snapshot(filters=[("part", "=", "p0")]).count() == 1
    with pytest.raises(mortice.FileCleanedError):
        table.snapshot(filters=[("part", "=", "p1")])


def test_a_commit_that_was_taken_back_says_so(live):
    live.commit()
    live.commit()
    table = mortice.Table(live.folder)
    requested = live.history[-1][0]
    (completed,) = live.timeline.glob(f"{requested}*.deltacommit")
    completed.unlink()
    with pytest.raises(mortice.FileCleanedError, match="taken back") as raised:
        table.snapshot()
    assert raised.value.instant == requested


def test_commits_that_were_archived_since_can_still_be_planned_with(live):
    for step in range(6):
        live.work(step)
    table = mortice.Table(live.folder)
    expected = table.incremental("earliest").to_arrow()
    for _ in range(3):
        live.commit()
    live.archive(keep=1)
    opened = mortice.Table(live.folder)
    assert opened.incremental("earliest", table.timeline.latest.completion_time or table.timeline.latest.requested_time)
    again = table.incremental("earliest").to_arrow()
    assert again.sort_by("id").equals(expected.sort_by("id"))


def test_following_beside_a_cleaner_loses_nothing_that_is_there(live):
    """A follower that reads at once reads everything."""
    follower = mortice.Table(live.folder).follow("earliest", 0.001)
    for step in range(15):
        before = live.commits
        live.work(step)
        scans = [next(follower)[1] for _ in range(live.commits - before)]
        # Only a step that cleans can be ahead of who follows.
        if step % 5 != 4:
            assert all(scan.count() > 0 for scan in scans)
    began = time.monotonic()
    follower.close()
    assert list(follower) == []
    assert time.monotonic() - began < 5
