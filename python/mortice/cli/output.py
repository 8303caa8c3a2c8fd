"""What the command line prints: cells, CSV and JSON. Text of a table cannot control the terminal."""

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
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO, cast

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


WIDEST_CELL = 40
"""Characters after which a cell is truncated, at a terminal."""


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


def cell_text(value: object, widest: int = WIDEST_CELL) -> str:
    """Returns the text of a cell, on one line and without control characters.

    >>> cell_text("a\\tb"), cell_text(None), cell_text(b"\\x00\\xff"), cell_text({"a": [1, None]})
    ('a\\\\tb', 'null', '0x00ff', '{"a": [1, null]}')
    """
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return cut("0x" + value.hex(), widest)
    if isinstance(value, (dict, list, tuple)):
        value = json.dumps(plain(value), ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    return cut(visible_text(str(value)), widest)


def cut(text: str, widest: int) -> str:
    """Returns text of at most some width, with … in place of the rest."""
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
