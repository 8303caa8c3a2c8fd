"""Commits of a table as they complete: one by one, or combined into ranges.

The native follower decides which commit is next and which must wait, for both.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from mortice.expressions import Filter
from mortice.reading.scan import Scan
from mortice.values.visible_text import visible_text

if TYPE_CHECKING:
    from mortice import _mortice
    from mortice.reading.mergers import Merging

__all__ = ["Follower", "Ranges", "bound_of"]


def bound_of(position: str) -> str:
    """Returns the instant of a position, without the writes that were pending before it."""
    return position.partition("~")[0]


class Follower(Iterator[tuple[str, Scan]]):
    """Yields `(instant, scan)` for each commit, oldest first, and waits for the next. Created by `Table.follow`.

    `close()` ends it at once, from any thread and even while it waits; so does Ctrl-C. It is also a context manager.

    Args:
        native: The native follower.
        asked: The arguments of its method `next`.
        merger: The registered merger, if any.
        poll_seconds: Seconds between two listings of the timeline; None does not wait.
        title: The query in one line, for `repr`.
    """

    def __init__(
        self,
        native: _mortice.Follower,
        asked: tuple[list[str] | None, Filter | None, Merging | None, bool, bool],
        merger: Merging | None,
        poll_seconds: float | None,
        title: str,
    ) -> None:
        self._native = native
        self._asked = asked
        self._merger = merger
        self._poll_seconds = poll_seconds
        self._title = title
        self._closed = threading.Event()

    @property
    def position(self) -> str | None:
        """The position to start after in order to continue from here; None before the first commit.

        It is the last instant that was yielded, or a later one of a table service, which wrote no rows of its own. From
        table version 8 on the requested times of writes that were pending follow, each after a `~`: one of them that
        completes with an earlier time, as its completion was delayed, is yielded next.
        """
        return self._native.position()

    def __next__(self) -> tuple[str, Scan]:
        while not self._closed.is_set():
            found = self._native.next(*self._asked)
            if found is not None:
                instant, scan = found
                return instant, Scan(scan, f"{self._title}, commit {instant}", self._merger)
            if self._poll_seconds is None:
                self.close()
            else:
                self._closed.wait(self._poll_seconds)
        raise StopIteration

    def close(self) -> None:
        """Ends the iteration, even one that waits in another thread. Scans that were yielded can still be read."""
        self._closed.set()

    def __enter__(self) -> Follower:  # noqa: PYI034
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return visible_text(f"Follower: {self._title}, after {self.position or 'nothing'}")


class Ranges:
    """Ranges of commits, oldest first, each to be planned with `Table.incremental`. Created by `Table.ranges`.

        ranges = table.ranges("earliest")
        while (end := ranges.next(max_instants=10)) is not None:
            Table(uri).incremental(begin, end, skip_log_compact=True, fall_back_to_full_scan=False)
            begin = end

    The ranges contain the commits that `follow` would yield, in the same order: each exactly once.
    """

    def __init__(self, native: _mortice.Follower) -> None:
        self._native = native

    @property
    def position(self) -> str | None:
        """The position after the last range and the table services that follow it; None before the first commit."""
        return self._native.position()

    @property
    def layout(self) -> int:
        """The layout of the timeline that positions refer to: 1, requested times; 2, completion times."""
        return self._native.layout()

    def next(
        self, max_instants: int | None = None, max_bytes: int | None = None, until: str | None = None
    ) -> str | None:
        """Returns the end of the next range, inclusive; None if there is no commit.

        A range has at least one commit, unless it is after `until`; then at most `max_instants` commits, and only while
        the files that they wrote or appended to have at most `max_bytes`. Table services are neither counted nor
        delivered.
        """
        end = None
        instants = size = 0
        while (step := self._native.peek()) is not None:
            position, bytes_, is_service = step
            if until is not None and bound_of(position) > bound_of(until):
                break
            if not is_service:
                is_full = max_instants is not None and instants >= max_instants
                is_heavy = max_bytes is not None and size + bytes_ > max_bytes
                if instants and (is_full or is_heavy):
                    break
                end, instants, size = position, instants + 1, size + bytes_
            self._native.advance()
        return end
