"""What a terminal shows otherwise than a file: lines that fit its width, colours, and times as people read them.

Nothing of it is done for a pipe or a file. Colours are left out if `NO_COLOR` is set (https://no-color.org) or the
terminal has none (`TERM=dumb`).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TextIO

from mortice.cli.output import display_width, exact
from mortice.values.visible_text import visible_text

BOLD, DIM = "1", "2"
RED, GREEN, YELLOW = "31", "32", "33"

_SECONDS_DIGITS = 14
_INSTANT = re.compile(r"[12]\d{3}[01]\d[0-3]\d[0-2]\d[0-5]\d[0-5]\d(?:\d{3})?")
_INSTANT_OF_A_LINE = re.compile(rf"(?<![\w./-]){_INSTANT.pattern}(?![\w/-]|\.\w)")
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?")
_STYLES = {
    "mortice:": RED,
    "PROBLEM:": RED,
    "due:": YELLOW,
    "pending:": YELLOW,
    "damaged:": RED,
    "missing:": RED,
    "due": YELLOW,
    "cannot run": RED,
    "failed": RED,
    "left": YELLOW,
    "done": GREEN,
    "wins": GREEN,
    "insert": GREEN,
    "update": YELLOW,
    "delete": RED,
    "INFLIGHT": YELLOW,
    "REQUESTED": YELLOW,
}
"""The colour of a cell, or of the word at the beginning of a line."""


def width_of(stream: TextIO) -> int | None:
    """Returns the columns of the terminal that a stream writes to; None if it is none."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def has_colour(stream: TextIO) -> bool:
    """Returns true if what is written to a stream may have colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, *styles: str) -> str:
    """Returns text in a style of ANSI terminals.

    >>> styled("fare", BOLD)
    '\\x1b[1mfare\\x1b[0m'
    """
    return f"\x1b[{';'.join(styles)}m{text}\x1b[0m" if styles else text


def style_of(text: str) -> Sequence[str]:
    """Returns the style of a cell, by what it says."""
    found = _STYLES.get(text.strip())
    return () if found is None else (found,)


def as_time(instant: str) -> str:
    """Returns an instant as people read a time; other text as it is.

    >>> as_time("20240102030405678"), as_time("20240102030405"), as_time("001")
    ('2024-01-02 03:04:05.678', '2024-01-02 03:04:05', '001')
    """
    if not _INSTANT.fullmatch(instant):
        return instant
    pairs = [instant[at : at + 2] for at in range(2, _SECONDS_DIGITS, 2)]
    millis = f".{instant[_SECONDS_DIGITS:]}" if len(instant) > _SECONDS_DIGITS else ""
    return f"{instant[:2]}{'-'.join(pairs[:3])} {':'.join(pairs[3:])}{millis}"


def digits_of(time: str) -> str:
    """Returns the instant that a terminal shows as a time; other text as it is.

    >>> digits_of("2024-01-02 03:04:05.678"), digits_of("001")
    ('20240102030405678', '001')
    """
    found = _TIME.fullmatch(time.strip())
    return time if found is None else "".join(part or "" for part in found.groups())


def with_times(line: str) -> str:
    """Returns a line whose instants are times. Those that are part of a name or a path stay.

    >>> with_times("planned 20240102030405678, from x_20240102030405678.parquet")
    'planned 2024-01-02 03:04:05.678, from x_20240102030405678.parquet'
    """
    return _INSTANT_OF_A_LINE.sub(lambda found: as_time(found[0]), line)


def wrapped(line: str, width: int) -> list[str]:
    """Returns a line as lines of at most some width, those after the first indented. A word that is longer stays whole,
    so that it can be copied.

    >>> wrapped("  12 bytes in 6 logs", 14)
    ['  12 bytes in', '    6 logs']
    """
    if display_width(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def shown_lines(line: str, stream: TextIO) -> list[str]:
    """Returns a line of text as a stream shows it: at a terminal several that fit it, with times and colours.

    Control characters are escaped, so that the lines may be written as they are.
    """
    width = width_of(stream)
    if width is None:
        return [visible_text(line, keep="\t")]
    lines = wrapped(visible_text(with_times(line), keep="\t"), width)
    word = line.split(" ", 1)[0]
    if has_colour(stream) and word.endswith(":") and (style := _STYLES.get(word)) and not line.endswith(" nothing"):
        lines[0] = styled(word, BOLD, style) + lines[0][len(word) :]
    return lines


def say(text: str, stream: TextIO | None = None) -> None:
    """Prints lines of text, at a terminal in its width, with times and colours.

    Args:
        text: The lines.
        stream: Where to; by default standard output.
    """
    stream = stream or sys.stdout
    for line in text.split("\n"):
        for one in shown_lines(line, stream):
            print(one, file=exact(stream))
