"""Prints rows: as an aligned table, or as JSON."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

WIDEST_CELL = 40
"""Characters after which a cell is truncated."""

ROWS_FOR_WIDTHS = 1_000


def print_table(names: Sequence[str], rows: Iterable[Sequence[Any]], widest: int = WIDEST_CELL) -> None:
    """Prints rows with a heading; numbers are aligned to the right. Cells are truncated at `widest` characters.

    The first rows determine the widths of the columns, so that any number of rows can be printed.
    """
    all_lines = ([cell_text(cell, widest) for cell in row] for row in rows)
    lines = list(itertools.islice(all_lines, ROWS_FOR_WIDTHS))
    heading = [_cut(name, widest) for name in names]
    widths = [max([len(name), *(len(line[at]) for line in lines)]) for at, name in enumerate(heading)]
    right = [bool(lines) and all(_is_number(line[at]) for line in lines) for at in range(len(heading))]
    for line in itertools.chain([heading, ["-" * width for width in widths]], lines, all_lines):
        cells = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ]
        print("  ".join(cells).rstrip())


def _is_number(text: str) -> bool:
    return text == "" or text.lstrip("-").replace(".", "", 1).replace("e", "", 1).isdigit()


def cell_text(value: Any, widest: int = WIDEST_CELL) -> str:
    """Returns the text of a cell, on one line and without control characters.

    >>> cell_text("a\\tb"), cell_text(None), cell_text(b"\\x00\\xff"), cell_text({"a": [1, None]})
    ('a\\\\tb', 'null', '0x00ff', '{"a": [1, null]}')
    """
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return _cut("0x" + value.hex(), widest)
    if isinstance(value, (dict, list)):
        value = json.dumps(plain(value), ensure_ascii=False)
    text = str(value)
    return _cut("".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text), widest)


def _cut(text: str, widest: int) -> str:
    return text if len(text) <= widest else text[: widest - 1] + "…"


def plain(value: Any) -> Any:
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


def print_json(document: Any) -> None:
    """Prints one document on one line."""
    print(json.dumps(plain(document), ensure_ascii=False, allow_nan=False))
