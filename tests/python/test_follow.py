"""`Table.follow` returns each commit once, as it completes, with concurrent writers of all kinds."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.exploring import explore
from support.tables.live_table import LiveTable

TESTS = Path(__file__).parent.parent
COMMIT_TIME = "_hoodie_commit_time"


@pytest.fixture(params=[6, 9])
def live(request, tmp_path):
    return LiveTable(tmp_path / "table", request.param)


def follow(live, start="earliest", poll_seconds=None, **arguments):
    return mortice.Table(live.folder).follow(start, poll_seconds, **arguments)


def values(scan):
    return Counter(scan.to_arrow()["value"].to_pylist())


def test_every_commit_is_returned_once_and_in_order(live):
    positions = [live.commit() for _ in range(4)]
    found = [(instant, values(scan)) for instant, scan in follow(live)]
    assert found == [(position, {n: n}) for n, position in enumerate(positions, start=1)]
    assert [instant for instant, _ in follow(live, positions[1])] == positions[2:]
    assert list(follow(live, positions[-1])) == []


def test_each_scan_is_the_increment_of_its_commit(live):
    for step in range(4):
        live.work(step)
    table, begin = mortice.Table(live.folder), "000"
    for instant, scan in table.follow("earliest", None, columns=["id", COMMIT_TIME], filters=[("value", ">", 1)]):
        expected = table.incremental(
            begin, instant, columns=["id", COMMIT_TIME], filters=[("value", ">", 1)]
        ).to_arrow()
        assert scan.to_arrow().sort_by("id").equals(expected.sort_by("id"))
        assert scan.count() == expected.num_rows
        assert scan.schema.names == ["id", COMMIT_TIME]
        begin = instant


def test_latest_starts_with_the_next_commit(live):
    live.commit()
    follower = follow(live, "latest")
    position = live.commit()
    assert [instant for instant, _ in follower] == [position]
    assert follower.position == position


def test_an_empty_table_can_be_followed(live):
    for start in ("earliest", "latest"):
        assert list(follow(live, start)) == []
    follower = follow(live, "latest")
    assert follower.position is None
    position = live.commit()
    assert [instant for instant, _ in follower] == [position]


def test_archived_commits_of_a_table_opened_empty_have_columns(live):
    follower = follow(live)
    for _ in range(3):
        live.commit()
    live.archive(keep=2)
    assert [values(scan) for _, scan in follower] == [{1: 1}, {2: 2}, {3: 3}]


def test_compactions_and_cleans_are_not_returned(live):
    live.commit()
    live.compact(live.plan_compaction())
    live.commit()
    live.compact(live.plan_compaction())
    live.clean()
    follower = follow(live)
    # The files of the first commit were cleaned. Reading it is an error, and the next commit follows nevertheless.
    instant, scan = next(follower)
    with pytest.raises(mortice.FileCleanedError) as raised:
        scan.to_arrow()
    assert raised.value.path.endswith("-0")
    _, scan = next(follower)
    with pytest.raises(mortice.FileCleanedError):
        scan.to_arrow()
    assert list(follower) == []
    # The position is after the last compaction, so that a follower that continues there does not read its metadata
    # again.
    assert follower.position > instant
    assert list(follow(live, follower.position)) == []


def test_before_version_8_a_pending_commit_holds_back_later_ones(tmp_path):
    live = LiveTable(tmp_path / "table", 6)
    first = live.commit()
    started = live.begin()
    last = live.commit()
    follower = follow(live, poll_seconds=0.01)
    assert next(follower)[0] == first
    assert list(follow(live, first)) == [] == list(follow(live, "latest"))
    latest = follow(live, "latest")
    middle = live.end(started)
    assert [next(follower)[0] for _ in range(2)] == [middle, last]
    assert [instant for instant, _ in latest] == [middle, last]


def test_from_version_8_a_commit_that_completes_late_is_returned(tmp_path):
    live = LiveTable(tmp_path / "table", 9)
    live.commit()
    started = live.begin()
    second = live.commit()
    follower = follow(live)
    assert [instant for instant, _ in follower][-1] == second
    late = live.end(started)
    ((instant, scan),) = follow(live, follower.position)
    assert (instant, values(scan)) == (late, {2: 2})


def held_back(live, started):
    """Completes a commit whose completed file does not appear yet. Returns its instant, and what makes it appear."""
    instant = live.end(started)
    (file,) = [path for path in live.timeline.iterdir() if path.name.startswith(f"{started[1]}_")]
    content = file.read_bytes()
    file.unlink()
    return instant, lambda: file.write_bytes(content)


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_a_commit_that_appears_before_the_position_is_returned_once(tmp_path, start, restarts):
    """A put that was under way when its writer lost the lock arrives after the commit of the next writer."""
    live = LiveTable(tmp_path / "table", 9)
    live.commit()
    before, follower = live.begin(), follow(live, start, 0.01)
    first, appears = held_back(live, before)
    second, other = held_back(live, live.begin())
    third = live.commit()
    assert [next(follower)[0] for _ in range(2 if start == "earliest" else 1)][-1] == third
    assert follower.position.startswith(f"{third}~")
    for appear, instant, value in ((other, second, 3), (appears, first, 2)):
        if restarts:
            assert list(follow(live, follower.position)) == []
            follower = follow(live, follower.position, 0.01)
        appear()
        found, scan = next(follower)
        assert (found, values(scan)) == (instant, {value: value})
    assert follower.position == third
    assert list(follow(live, third)) == []


def test_ranges_between_positions_have_what_appears_late(tmp_path):
    live = LiveTable(tmp_path / "table", 9)
    live.commit()
    late, appears = held_back(live, live.begin())
    live.commit()
    begin = mortice.Table(live.folder).ranges("earliest").next()
    still, _ = live.begin(), live.commit()
    appears()
    table = mortice.Table(live.folder)
    ranges = table.ranges(begin)
    first, second = ranges.next(max_instants=1), ranges.next()
    assert ranges.next() is None
    assert values(table.incremental(begin, first)) == {2: 2}
    assert values(table.incremental(first, second)) == {5: 5}
    assert values(table.incremental(begin, second)) == {5: 5}
    assert values(table.incremental("earliest", begin)) == {3: 3}
    # A range that has been read stays as it is when a write completes before its end.
    live.end(still)
    assert values(mortice.Table(live.folder).incremental(begin, second)) == {5: 5}
    assert late < begin


def test_a_commit_that_appears_late_and_is_archived_is_returned(tmp_path):
    live = LiveTable(tmp_path / "table", 9)
    live.commit()
    late, appears = held_back(live, live.begin())
    live.commit()
    follower = follow(live, poll_seconds=0.01)
    first, last = (next(follower)[0] for _ in range(2))
    assert first < late < last < follower.position
    position = follower.position
    appears()
    for _ in range(4):
        live.commit()
    live.archive(keep=2)
    for following in (follower, follow(live, position)):
        assert next(following)[0] == late


def test_archived_commits_are_returned(live):
    positions = [live.commit() for _ in range(9)]
    live.archive(keep=2)
    assert [instant for instant, _ in follow(live)] == positions
    assert [instant for instant, _ in follow(live, positions[3])] == positions[4:]


def test_commits_archived_between_two_polls_are_returned(live):
    live.commit()
    started = live.begin()
    follower = follow(live, poll_seconds=0.01)
    got = [next(follower)[0]]
    positions = [*got, live.end(started), *(live.commit() for _ in range(8))]
    live.archive(keep=1)
    got += [next(follower)[0] for _ in positions[1:]]
    assert got == positions


class Reader:
    """A writer runs operations in sequence. A reader polls between them, stops and continues."""

    def __init__(self, live):
        self.live, self.pending, self.planned = live, [], []
        self.expected, self.got = [], []
        self.follower = follow(live, poll_seconds=0.001)

    def commit(self, _):
        self._complete(self.live.begin())

    def begin(self, _):
        if len(self.pending) < 2:
            self.pending.append(self.live.begin())

    def end(self, number):
        if self.pending:
            self._complete(self.pending.pop(number % len(self.pending)))

    def plan(self, _):
        if not self.planned and not self.pending:
            self.planned.append(self.live.plan_compaction())

    def compact(self, _):
        if self.planned:
            self.live.compact(self.planned.pop())

    def archive(self, _):
        self.live.archive(keep=2)

    def read(self, number):
        if number % 2:
            self.follower = follow(self.live, self.follower.position or "earliest", 0.001)
        # Below version 8, commits after a pending one are held back.
        held = min((started[1] for started in self.pending), default="9") if self.live.version < 8 else "9"
        while len(self.got) < sum(instant < held for instant, _ in self.expected):
            instant, scan = next(self.follower)
            self.got.append((instant, Counter(scan.to_arrow()[COMMIT_TIME].to_pylist())))

    def _complete(self, started):
        self.expected.append((self.live.end(started), Counter({started[1]: started[0]})))


STEPS = ["commit", "begin", "end", "plan", "compact", "archive", "read"]


@explore(40)
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), max_size=14), version=st.sampled_from([6, 9])
)
def test_followed_commits_equal_the_committed_ones(tmp_path_factory, steps, version):
    live = LiveTable(tmp_path_factory.mktemp("live") / "table", version)
    reader = Reader(live)
    for step, number in steps:
        getattr(reader, step)(number)
    while reader.pending:
        reader.end(0)
    reader.read(0)
    assert reader.got == sorted(reader.expected)
    again = [(instant, scan.count()) for instant, scan in follow(live)]
    assert again == [(instant, sum(rows.values())) for instant, rows in reader.got]


def test_an_incomplete_timeline_file_is_read_later(live):
    live.commit()
    started = live.begin()
    position = live.end(started)
    (completed,) = [
        path for path in live.timeline.iterdir() if path.name.endswith(".deltacommit") and started[1] in path.name
    ]
    whole = completed.read_bytes()
    for half in (b"", whole[:40]):
        completed.write_bytes(half)
        follower = follow(live, poll_seconds=0.01)
        threading.Timer(0.2, completed.write_bytes, [whole]).start()
        next(follower)
        instant, scan = next(follower)
        assert (instant, values(scan)) == (position, {2: 2})


def test_close_interrupts_a_wait(live):
    follower = follow(live, poll_seconds=60)
    threading.Timer(0.2, follower.close).start()
    began = time.monotonic()
    assert list(follower) == []
    assert time.monotonic() - began < 10
    assert list(follower) == []
    with follow(live, poll_seconds=60) as follower:
        live.commit()
        next(follower)
    with pytest.raises(StopIteration):
        next(follower)


def test_ctrl_c_interrupts_a_wait(live):
    script = f"""
import signal, mortice
# A process that was begun in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("waiting", flush=True)
for _ in mortice.Table({str(live.folder)!r}).follow("latest", 60): pass
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"waiting\n"
    time.sleep(1)
    began = time.monotonic()
    os.kill(child.pid, signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert b"KeyboardInterrupt" in errors


def test_a_follower_returns_commits_of_another_process(live):
    table = mortice.Table(live.folder)
    steps = 12
    command = [
        sys.executable,
        "-m",
        "support.tables.live_table",
        str(live.folder.parent / "other"),
        str(live.version),
        str(steps),
    ]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(TESTS)}, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"0\n"
        table = mortice.Table(live.folder.parent / "other")
        seen = []
        for instant, scan in table.follow("earliest", 0.02):
            try:
                seen += sorted(values(scan).items())
            except mortice.FileCleanedError:
                seen.append(instant)
            # With two concurrent commits a step makes two, from version 8 on.
            last = steps if live.version < 8 else steps + sum(step % 5 == 1 for step in range(steps))
            if len(seen) == last:
                break
        writer.communicate(timeout=60)
    read = [one for one in seen if isinstance(one, tuple)]
    assert read
    assert all(value == count for value, count in read)
    assert len(set(read)) == len(read)
    assert list(table.follow(instant, None)) == []


def test_ranges_contain_the_followed_commits(live):
    for step in range(9):
        live.work(step)
    positions = [instant for instant, _ in follow(live)]
    ranges = mortice.Table(live.folder).ranges("earliest")
    assert ranges.position is None
    assert ranges.layout == (1 if live.version < 8 else 2)
    assert ranges.next(max_instants=1) == positions[0]
    assert ranges.next(max_instants=3) == positions[3]
    assert ranges.position >= positions[3]
    assert ranges.next(until=positions[4]) == positions[4]
    assert ranges.next(until=positions[4]) is None
    assert ranges.next() == positions[-1]
    assert ranges.next() is None
    last = live.commit()
    assert ranges.next(max_bytes=1) == last
    assert mortice.Table(live.folder).ranges(positions[2]).next(max_instants=1) == positions[3]
    assert mortice.Table(live.folder).ranges("latest").next() is None
    with pytest.raises(mortice.InvalidArgumentError):
        mortice.Table(live.folder).ranges(None)


def test_a_position_from_before_a_table_upgrade(live):
    for _ in range(3):
        live.commit()
    table = mortice.Table(live.folder)
    requested, completion, _ = live.history[1]
    if live.version < 8:
        assert table.position_here(requested, 1) == requested
        with pytest.raises(mortice.UnsupportedError, match="layout 2"):
            table.position_here(requested, 2)
    else:
        assert table.position_here(completion, 2) == completion
        assert table.position_here(requested, 1) == completion
        assert table.position_here("000", 1) is None


@pytest.mark.parametrize(
    "arguments",
    [
        {"start": None},
        {"start": ""},
        {"start": "yesterday"},
        {"start": "latest", "poll_seconds": 0},
        {"start": "latest", "poll_seconds": "5"},
        {"start": "latest", "poll_seconds": True},
        {"start": "latest", "columns": 5},
        {"start": "latest", "changelog": 1},
    ],
    ids=str,
)
def test_invalid_arguments_are_refused(live, arguments):
    with pytest.raises(mortice.InvalidArgumentError):
        mortice.Table(live.folder).follow(**arguments)


def test_a_table_without_meta_columns_cannot_be_followed(live):
    properties = live.folder / ".hoodie" / "hoodie.properties"
    text = properties.read_text(encoding="utf-8")
    properties.write_text(text.replace("populate.meta.fields=true", "populate.meta.fields=false"), encoding="utf-8")
    with pytest.raises(mortice.UnsupportedError, match="meta columns"):
        mortice.Table(live.folder).follow("earliest")
