"""Bars of progress on standard error, if that is a terminal: of rows that are read, and of services."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pyarrow as pa

from mortice.cli.output import exact
from mortice.cli.terminal import width_of
from mortice.display.markup import BYTES_OF_UNIT, byte_size
from mortice.values.visible_text import visible_text

WIDTH = 30
SECONDS_BETWEEN = 0.1
SECONDS_BEFORE = 1.0
"""The seconds after which work is shown of which it is not known how much there is."""


class CountedRows:
    """Counts the rows of a reader as they are read.

    Args:
        total: The number of rows; None if it is not known.
    """

    def __init__(self, total: int | None) -> None:
        self._rows, self._total = 0, total or 0

    def progress(self) -> tuple[int, int]:
        """Returns how many rows were read, and of how many, as `Table.service_progress` does."""
        return self._rows, self._total

    def counted(self, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """Returns the rows of a reader, which are counted."""
        return pa.RecordBatchReader.from_batches(reader.schema, self._batches(reader))

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            yield batch
            self._rows += batch.num_rows


@contextlib.contextmanager
def service_progress(what: str, current: Callable[[], tuple[int, int]], is_shown: bool = True) -> Iterator[None]:
    """Shows on standard error, if that is a terminal, how much of a service is done, while it runs. Removed at the end.

    Of work without a total it shows how long it has been running, from the second second on.

    Args:
        what: What is counted: "bytes", "files"; or what is done, if nothing is counted.
        current: Returns how much is done, and of how much (`Table.service_progress`).
        is_shown: False shows nothing.
    """
    if not is_shown or not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show_until, args=(ended, what, current), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show_until(ended: threading.Event, what: str, current: Callable[[], tuple[int, int]]) -> None:
    has_shown = is_ended = False
    begun = time.monotonic()
    # Work that ends at once shows its total, too.
    while not is_ended:
        is_ended = ended.wait(SECONDS_BETWEEN)
        done, total = current()
        seconds = time.monotonic() - begun
        if total:
            _show(f"{_bar(done, total)} {_amounts(done, total, what)}{_left(done, total, seconds)}")
            has_shown = True
        elif seconds >= SECONDS_BEFORE:
            _show((f"{done:,} {visible_text(what)}, " if done else "") + f"{seconds:,.0f} s …")
            has_shown = True
    if has_shown:
        _show("")


def _bar(done: int, total: int) -> str:
    filled = min(WIDTH, done * WIDTH // total)
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}]"


def _amounts(done: int, total: int, what: str) -> str:
    if what == "bytes" and total >= BYTES_OF_UNIT:
        return f"{byte_size(done)} of {byte_size(total)}".replace("\xa0", " ")
    return f"{done:,} of {total:,} {visible_text(what)}"


def _left(done: int, total: int, seconds: float) -> str:
    """Returns how long the rest takes at the rate so far; nothing as long as that says little."""
    if seconds < SECONDS_BEFORE or not 0 < done < total:
        return ""
    return f", {seconds * (total - done) / done:,.0f} s left"


def _show(line: str) -> None:
    """Writes a line in place of the last one."""
    width = width_of(sys.stderr)
    line = line if width is None else line[: width - 1]
    # Erases the rest of the line.
    print(f"\r{line}\x1b[K", end="", file=exact(sys.stderr), flush=True)
