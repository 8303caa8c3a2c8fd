"""What the command line prints: tables that fit the terminal, CSV, JSON, and bars of progress.

Text of a table cannot control the terminal.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import datetime as dt
import decimal
import io
import itertools
import json
import math
import shutil
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TextIO, cast

import pyarrow as pa

from mortice.values.visible_text import visible_json, visible_text

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
def service_progress(what: str, current: Callable[[], tuple[int, int]], is_shown: bool = True) -> Iterator[None]:
    """Shows on standard error, if that is a terminal, how much of a service is done, while it runs. Removed at the end.

    Args:
        what: What is counted: "bytes", "files".
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
    has_shown = False
    while not ended.wait(SECONDS_BETWEEN):
        done, total = current()
        if total:
            filled = min(WIDTH, done * WIDTH // total)
            bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done:,} of {total:,} {visible_text(what)}"
            print(f"\r{bar}\x1b[K", end="", file=exact(sys.stderr), flush=True)
            has_shown = True
    if has_shown:
        print("\r\x1b[K", end="", file=exact(sys.stderr), flush=True)


WIDEST_CELL = 40
"""Characters after which a cell is truncated, at a terminal."""
NARROWEST_CELL = 8
"""Characters that a cell keeps, however many columns there are."""
GAP = "  "
ROWS_FOR_WIDTHS = 1_000


def print_table(names: Sequence[str], rows: Iterable[Sequence[object]], widest: int | None = None) -> None:
    """Prints rows with a heading; numbers are aligned to the right.

    At a terminal, the lines fit its width: cells are truncated, then the last columns are left out. A file or a pipe
    gets all of them as they are. The first rows determine the widths, so that any number of rows can be printed.

    Args:
        names: The columns.
        rows: The rows.
        widest: Characters of a cell at a terminal, at most: of paths and reasons, which are to be seen as a whole, so
            that lines are wrapped rather than fitted.
    """
    is_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal and widest is None else None
    longest = (widest or WIDEST_CELL) if is_terminal else sys.maxsize
    all_lines = ([cell_text(cell, longest) for cell in row] for row in rows)
    lines = list(itertools.islice(all_lines, ROWS_FOR_WIDTHS))
    heading = [_cut(cell_text(name, sys.maxsize), longest) for name in names]
    widths = [max([display_width(line[at]) for line in (heading, *lines)]) for at in range(len(heading))]
    if width:
        widths = fitting(widths, width)
    right = [bool(lines) and all(_is_number(line[at]) for line in lines) for at in range(len(widths))]
    for line in itertools.chain([heading, ["-" * one for one in widths]], lines, all_lines):
        cells = (_padded(text, one, to_right) for text, one, to_right in zip(line, widths, right, strict=False))
        print(GAP.join(cells).rstrip())
    hidden = names[len(widths) :]
    if hidden:
        some = ", ".join(cell_text(name) for name in hidden[:4]) + (", …" if len(hidden) > 4 else "")  # noqa: PLR2004
        sys.stdout.flush()
        print(f"{len(hidden):,} more columns do not fit: {some}; --columns chooses", file=sys.stderr)


def fitting(widths: Sequence[int], room: int) -> list[int]:
    """Returns the widths of columns that fit a line: the widest are narrowed first, then the last left out.

    >>> fitting([4, 40, 30], 60), fitting([20] * 9, 40), fitting([3, 4], 80)
    ([4, 26, 26], [8, 8, 9, 9], [3, 4])
    """
    shown = list(widths)
    while len(shown) > 1 and sum(min(one, NARROWEST_CELL) for one in shown) + len(GAP) * (len(shown) - 1) > room:
        shown.pop()
    excess = sum(shown) + len(GAP) * (len(shown) - 1) - room
    while excess > 0 and max(shown) > NARROWEST_CELL:
        most = max(shown)
        at = shown.index(most)
        below = max([one for one in shown if one < most] + [NARROWEST_CELL])
        less = min(most - below, -(-excess // shown.count(most)))
        shown[at] -= max(1, less)
        excess -= max(1, less)
    return shown


def display_width(text: str) -> int:
    """Returns the number of columns of a terminal that a string takes.

    >>> display_width("fare"), display_width("大阪"), display_width("e\\u0301")
    (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )


def _padded(text: str, width: int, to_right: bool) -> str:
    text = _cut(text, width)
    space = " " * (width - display_width(text))
    return space + text if to_right else text + space


def _is_number(text: str) -> bool:
    return text == "" or text.replace(",", "").lstrip("-").replace(".", "", 1).replace("e", "", 1).isdigit()


def cell_text(value: object, widest: int = WIDEST_CELL) -> str:
    """Returns the text of a cell, on one line and without control characters.

    >>> cell_text("a\\tb"), cell_text(None), cell_text(b"\\x00\\xff"), cell_text({"a": [1, None]})
    ('a\\\\tb', 'null', '0x00ff', '{"a": [1, null]}')
    """
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return _cut("0x" + value.hex(), widest)
    if isinstance(value, (dict, list, tuple)):
        value = json.dumps(plain(value), ensure_ascii=False)
    return _cut(visible_text(str(value)), widest)


def _cut(text: str, widest: int) -> str:
    if display_width(text) <= widest:
        return text
    kept, room = "", widest - 1
    for one in text:
        room -= display_width(one)
        if room < 0:
            break
        kept += one
    return kept + "…"


def plain(value: object) -> object:
    """Converts a value to JSON types: bytes to base64, decimals, times and NaN to strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return value


def print_json(document: object) -> None:
    """Prints one document on one line."""
    print(visible_json(json.dumps(plain(document), ensure_ascii=False, allow_nan=False)))


def print_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints rows as RFC 4180 has them, with a heading. Null is empty; lists and structs are JSON.

    A file or a pipe gets all characters as they are; a terminal gets escapes for control characters.
    """
    output = sys.stdout if sys.stdout.isatty() else exact(sys.stdout)
    for line in csv_lines(names, rows):
        print(line, end="", file=output)


def csv_lines(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Returns the lines of `print_csv`.

    >>> list(csv_lines(["a", "b"], [[1, None], ['x"y', [1]]]))
    ['a,b\\n', '1,\\n', '"x""y",[1]\\n']
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in itertools.chain([names], rows):
        writer.writerow([_csv_cell(cell) for cell in row])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _csv_cell(value: object) -> object:
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(plain(value), ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain(value)
