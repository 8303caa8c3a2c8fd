"""The streams of the command line: text of a table cannot control the terminal. Bars of progress on a terminal."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, TextIO, cast

import pyarrow as pa

from mortice import _mortice
from mortice.values.visible_text import visible_text

LINES = "\n\t"


class _VisibleStream:
    """A stream that shows control characters as escapes, except ends of lines and tabs."""

    def __init__(self, stream: TextIO) -> None:
        self.exact = stream

    def write(self, text: str) -> int:
        """Writes text."""
        self.exact.write(visible_text(text, LINES))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes several strings."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.exact, name)


@contextlib.contextmanager
def visible_output() -> Iterator[None]:
    """While it runs, what is written to standard output and standard error has no control characters."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", _VisibleStream(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def exact(stream: TextIO) -> TextIO:
    """Returns the stream that takes every character: for the command line's own control sequences, and for data."""
    return stream.exact if isinstance(stream, _VisibleStream) else stream


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
