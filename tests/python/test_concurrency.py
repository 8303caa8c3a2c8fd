"""Readers with a concurrent writer and cleaner: a result is the state at one commit, or an error that names missing
files."""

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
    """Returns the commit whose state a table of `live_table` has: all keys have its number as value, and there are as
    many keys."""
    rows = scan.to_arrow().select(["id", "value"]).to_pylist()
    keys, values = {one["id"] for one in rows}, {one["value"] for one in rows}
    assert len(values) <= 1, f"of several commits: {sorted(values)}"
    commit = max(values, default=0)
    assert len(rows) == len(keys) == commit, f"{len(rows)} rows of {len(keys)} keys at commit {commit}"
    return commit


def test_a_reader_during_writes_sees_whole_commits(tmp_path, live):
    """A process commits, compacts, cleans and archives meanwhile."""
    path, steps = tmp_path / "other", 40
    command = [sys.executable, "-m", "support.tables.live_table", str(path), str(live.version), str(steps)]
    seen, errors = [], []
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(TESTS)}, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"0\n"
        while writer.poll() is None:
            table = mortice.Table(path)
            try:
                scan = table.snapshot(columns=["id", "value"])
                seen.append(state(scan))
            except mortice.FileCleanedError as error:
                # The files of this plan were cleaned; plan again.
                errors.append(error)
        assert writer.returncode == 0
    seen.append(state(mortice.Table(path).snapshot()))
    assert seen == sorted(seen), "time went backwards"
    assert len(set(seen)) > 3
    assert len(errors) < len(seen)
    assert all(error.instant and error.path for error in errors)


def test_commits_after_opening_the_table_are_not_visible(live):
    for step in range(4):
        live.work(step)
    commits = live.commits
    table = mortice.Table(live.folder)
    started = live.begin()
    assert state(table.snapshot()) == commits
    live.end(started)
    planned = live.plan_compaction()
    live.commit()
    assert state(table.snapshot()) == commits
    live.compact(planned)
    live.commit()
    assert state(table.snapshot()) == commits
    assert state(mortice.Table(live.folder).snapshot()) == live.commits


def cleaned(live):
    """The files of the opened table were cleaned, except for the newest slices, which it does not know."""
    live.clean()


def archived(live):
    """The clean itself is archived already."""
    live.clean()
    for _ in range(4):
        live.commit()
    live.archive(keep=2)


@pytest.mark.parametrize("happens", [cleaned, archived])
def test_files_cleaned_after_opening_the_table_are_an_error(live, happens):
    """Its file groups are not empty: their remaining files are newer than the opened table."""
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
        with pytest.raises(mortice.FileCleanedError, match="open the table again") as raised:
            ask()
        assert raised.value.instant
        assert raised.value.path
    with pytest.raises(mortice.FileCleanedError, match="plan the query again") as raised:
        planned.to_arrow()
    assert raised.value.instant in planned.explain() or raised.value.instant in raised.value.path
    assert not Path(raised.value.path).exists()
    assert state(mortice.Table(live.folder).snapshot()) == live.commits


def test_a_clean_of_other_files_does_not_affect_the_read(live):
    for _ in range(3):
        live.commit()
        live.compact(live.plan_compaction())
    table = mortice.Table(live.folder)
    live.clean()
    assert state(table.snapshot()) == 3
    live.commit()
    assert state(table.snapshot()) == 3


def test_files_of_a_planned_clean_count_as_removed(live):
    """Its files may be deleted at any moment during planning."""
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


def test_filters_exclude_partitions_with_cleaned_files(live):
    for _ in range(2):
        live.commit()
        live.compact(live.plan_compaction())
    table = mortice.Table(live.folder)
    for _ in range(2):
        live.commit()
        live.compact(live.plan_compaction())
    # The clean does not affect the first partition.
    live.slices, others = {"p1": live.slices["p1"]}, live.slices
    live.clean()
    live.slices = others
    assert table.snapshot(filters=[("part", "=", "p0")]).count() == 1
    with pytest.raises(mortice.FileCleanedError):
        table.snapshot(filters=[("part", "=", "p1")])


def test_a_commit_rolled_back_after_opening_the_table_is_an_error(live):
    live.commit()
    live.commit()
    table = mortice.Table(live.folder)
    requested = live.history[-1][0]
    (completed,) = live.timeline.glob(f"{requested}*.deltacommit")
    completed.unlink()
    with pytest.raises(mortice.FileCleanedError, match="rolled back") as raised:
        table.snapshot()
    assert raised.value.instant == requested


def test_commits_archived_after_opening_the_table_can_be_planned(live):
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


def test_a_follower_during_cleaning_loses_no_existing_files(live):
    """A follower that reads at once reads everything."""
    follower = mortice.Table(live.folder).follow("earliest", 0.001)
    for step in range(15):
        before = live.commits
        live.work(step)
        scans = [next(follower)[1] for _ in range(live.commits - before)]
        # Only a step that cleans can be ahead of a follower.
        if step % 5 != 4:
            assert all(scan.count() > 0 for scan in scans)
    began = time.monotonic()
    follower.close()
    assert list(follower) == []
    assert time.monotonic() - began < 5
