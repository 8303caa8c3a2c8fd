"""Bars of progress on a terminal."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from types import TracebackType

import pyarrow as pa

from mortice import _mortice
from mortice.cli.output import exact
from mortice.values.visible_text import visible_text

__all__ = ["ProgressBar", "service_progress"]

WIDTH = 30
SECONDS_BETWEEN = 0.1


class ProgressBar:
    """Shows on standard error how many rows were read, if that is a terminal. It is removed at the end.

    Args:
        total: The number of rows, if it is known.
    """

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._rows = 0
        self._shown = 0.0
        self._is_shown = sys.stderr.isatty()

    def counted(self, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """Returns the rows of a reader, which are counted as they are read."""
        return pa.RecordBatchReader.from_batches(reader.schema, self._batches(reader))

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            yield batch
            self._rows += batch.num_rows
            if time.monotonic() - self._shown >= SECONDS_BETWEEN:
                self._show()
        self._show(" read, writing")

    def _show(self, state: str = " read") -> None:
        if not self._is_shown:
            return
        self._shown = time.monotonic()
        if not self._total:
            bar = f"{self._rows:,} rows"
        else:
            filled = min(WIDTH, self._rows * WIDTH // self._total)
            bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {self._rows:,} of {self._total:,} rows"
        # Erases the rest of the line.
        print(f"\r{bar}{state}\x1b[K", end="", file=exact(sys.stderr), flush=True)

    def __enter__(self) -> ProgressBar:  # noqa: PYI034 — Self needs Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_shown and self._shown:
            print("\r\x1b[K", end="", file=exact(sys.stderr), flush=True)


@contextlib.contextmanager
def service_progress(what: str, is_shown: bool = True) -> Iterator[None]:
    """Shows on standard error, if that is a terminal, how much of a service is done, while it runs. Removed at the end.

    Args:
        what: What is counted: "bytes", "files".
        is_shown: False shows nothing.
    """
    if not is_shown or not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show_until, args=(ended, what), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show_until(ended: threading.Event, what: str) -> None:
    has_shown = False
    while not ended.wait(SECONDS_BETWEEN):
        done, total = _mortice.service_progress()
        if total:
            filled = min(WIDTH, done * WIDTH // total)
            bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done:,} of {total:,} {visible_text(what)}"
            print(f"\r{bar}\x1b[K", end="", file=exact(sys.stderr), flush=True)
            has_shown = True
    if has_shown:
        print("\r\x1b[K", end="", file=exact(sys.stderr), flush=True)
