"""Commits of a table one by one, as they complete."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mortice.scan import Scan

if TYPE_CHECKING:
    from mortice import _mortice
    from mortice.mergers import Merging

__all__ = ["Follower"]


class Follower(Iterator[tuple[str, Scan]]):
    """Yields `(instant, scan)` for each commit, oldest first, and waits for the next. Made by `Table.follow`.

    `close()`, from any thread, ends it at once, be it waiting or not; so does Ctrl-C. It is a context manager, too.
    """

    def __init__(
        self,
        native: _mortice.Follower,
        asked: tuple[Any, ...],
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
        """After which instant to start in order to go on from here; None where nothing has been passed yet.

        It is the instant that came last, or a later one of a table service, which wrote no rows of its own.
        """
        return self._native.position()

    def __next__(self) -> tuple[str, Scan]:
        while not self._closed.is_set():
            found = self._native.next(*self._asked)
            if found is not None:
                instant, scan = found
                return instant, Scan(scan, scan.without_columns, f"{self._title}, commit {instant}", self._merger)
            if self._poll_seconds is None:
                self.close()
            else:
                self._closed.wait(self._poll_seconds)
        raise StopIteration

    def close(self) -> None:
        """Ends the iteration, also one that is waiting in another thread. A scan that was yielded can still be read."""
        self._closed.set()

    def __enter__(self) -> Follower:  # noqa: PYI034
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Follower: {self._title}, after {self.position or 'nothing'}"
