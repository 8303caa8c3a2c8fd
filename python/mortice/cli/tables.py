"""Tables as text: aligned, and at a terminal as wide as that is.

A table of rows is made to fit: cells are cut off, then columns left out. One of facts (files, reasons, versions) shows
all of its text: cells are wrapped, and where that would leave too little of a line, each row is a paragraph.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence

from mortice.cli.output import WIDEST_CELL, cell_text, cut, display_width, exact
from mortice.cli.terminal import BOLD, as_time, has_colour, say, style_of, styled, width_of

NARROWEST_CELL = 8
"""Characters that a cell keeps, however many columns there are."""
NARROWEST_TEXT = 24
"""Characters that a line of a wrapped cell has, at least; otherwise rows are paragraphs."""
GAP = "  "
ROWS_FOR_WIDTHS = 1_000


def print_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints rows with a heading; numbers are aligned to the right.

    At a terminal, the lines fit its width: cells are cut off, then the last columns are left out. A file or a pipe gets
    all of them as they are. The first rows determine the widths, so that any number of rows can be printed.

    Args:
        names: The columns.
        rows: The rows.
    """
    room = width_of(sys.stdout)
    longest = sys.maxsize if room is None else WIDEST_CELL
    all_lines = ([cell_text(cell, longest) for cell in row] for row in rows)
    lines = list(itertools.islice(all_lines, ROWS_FOR_WIDTHS))
    heading = [cut(cell_text(name, sys.maxsize), longest) for name in names]
    widths = _widths(heading, lines)
    if room is not None:
        widths = fitting(widths, room)
    # Values of users have no colours.
    _print_lines(heading, itertools.chain(lines, all_lines), widths, _numbers(lines, len(widths)), has_states=False)
    hidden = names[len(widths) :]
    if hidden:
        some = ", ".join(cell_text(name) for name in hidden[:4]) + (", …" if len(hidden) > 4 else "")  # noqa: PLR2004
        sys.stdout.flush()
        say(f"{len(hidden):,} more columns do not fit: {some}; --columns chooses", sys.stderr)


def print_facts(
    names: Sequence[str], rows: Sequence[Sequence[object]], *, is_whole: bool = True, less: Sequence[str] = ()
) -> None:
    """Prints what is known of a table, with a heading. At a terminal, instants are times, numbers have their digits in
    groups, and all text is shown, in lines that fit.

    Args:
        names: The columns.
        rows: The rows.
        is_whole: False cuts cells off that do not fit, so that each row is a line.
        less: The columns that a terminal leaves out, one after the other, where the others would not fit.
    """
    room = width_of(sys.stdout)
    if room is None:
        print_table(names, rows)
        return
    heading = [cell_text(name, sys.maxsize) for name in names]
    lines = [[_fact_text(cell) for cell in row] for row in rows]
    for name in less:
        if _excess(_widths(heading, lines), room) <= 0:
            break
        at = heading.index(name)
        heading, lines = heading[:at] + heading[at + 1 :], [line[:at] + line[at + 1 :] for line in lines]
    numbers, widths = _numbers(lines, len(heading)), _widths(heading, lines)
    excess = _excess(widths, room)
    if excess > 0 and not is_whole:
        widths = fitting(widths, room)
    elif excess > 0:
        widest = max((at for at in range(len(widths)) if not numbers[at]), key=lambda at: widths[at], default=None)
        if widest is None or widths[widest] - excess < NARROWEST_TEXT:
            _print_paragraphs(heading, lines, room)
            return
        widths[widest] -= excess
        lines = [one for line in lines for one in _wrapped_cells(line, widest, widths[widest])]
    _print_lines(heading, lines, widths, numbers)


def _excess(widths: Sequence[int], room: int) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1) - room


def _fact_text(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return cell_text(as_time(value) if isinstance(value, str) else value, sys.maxsize)


def _wrapped_cells(line: Sequence[str], at: int, width: int) -> Iterator[list[str]]:
    """Yields a line of a table as several, of which only one column has text after the first."""
    for number, part in enumerate(_cell_lines(line[at], width)):
        yield [part if column == at else cell if number == 0 else "" for column, cell in enumerate(line)]


def _cell_lines(text: str, width: int) -> list[str]:
    """Returns text as lines of some width; a word that is longer, such as a path, is cut into several.

    >>> _cell_lines("a file of oslo/x.parquet", 10)
    ['a file of', 'oslo/x.par', 'quet']
    """
    found = [""]
    for word in text.split(" "):
        if found[-1] and display_width(f"{found[-1]} {word}") <= width:
            found[-1] += f" {word}"
            continue
        if found[-1]:
            found.append("")
        for character in word:
            if display_width(found[-1] + character) > width:
                found.append("")
            found[-1] += character
    return found


def _print_paragraphs(heading: Sequence[str], lines: Iterable[Sequence[str]], room: int) -> None:
    """Prints each row as a paragraph: a line for each of its columns that is not empty."""
    indent = max(map(display_width, heading)) + len(GAP)
    is_coloured = has_colour(sys.stdout)
    for number, line in enumerate(lines):
        if number:
            _emit("")
        for name, text in zip(heading, line, strict=True):
            for at, part in enumerate(_cell_lines(text, room - indent) if text else []):
                label = _padded("" if at else name, indent, False)
                shown = styled(part, *style_of(text)) if is_coloured else part
                _emit((styled(label, BOLD) if is_coloured and not at else label) + shown)


def _print_lines(
    heading: Sequence[str],
    lines: Iterable[Sequence[str]],
    widths: Sequence[int],
    numbers: Sequence[bool],
    *,
    has_states: bool = True,
) -> None:
    is_coloured = has_colour(sys.stdout)
    head = [_padded(text, one, to_right) for text, one, to_right in zip(heading, widths, numbers, strict=False)]
    head[-1] = head[-1].rstrip()
    _emit(GAP.join(styled(text, BOLD) if is_coloured else text for text in head).rstrip())
    _emit(GAP.join("-" * one for one in widths))
    for line in lines:
        cells = [_padded(text, one, to_right) for text, one, to_right in zip(line, widths, numbers, strict=False)]
        cells[-1] = cells[-1].rstrip()
        if is_coloured and has_states:
            cells = [styled(one, *style_of(one)) for one in cells]
        _emit(GAP.join(cells).rstrip())


def _emit(line: str) -> None:
    """Writes a line, whose cells have no control characters any more, with its colours."""
    print(line, file=exact(sys.stdout) if has_colour(sys.stdout) else sys.stdout)


def _widths(heading: Sequence[str], lines: Sequence[Sequence[str]]) -> list[int]:
    return [max([display_width(line[at]) for line in (heading, *lines)]) for at in range(len(heading))]


def _numbers(lines: Sequence[Sequence[str]], columns: int) -> list[bool]:
    return [bool(lines) and all(_is_number(line[at]) for line in lines) for at in range(columns)]


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


def _padded(text: str, width: int, to_right: bool) -> str:
    text = cut(text, width)
    space = " " * (width - display_width(text))
    return space + text if to_right else text + space


def _is_number(text: str) -> bool:
    return text == "" or text.replace(",", "").lstrip("-").replace(".", "", 1).replace("e", "", 1).isdigit()
