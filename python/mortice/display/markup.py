"""HTML and SVG, built so that all text is escaped: names in a table are input of strangers."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from decimal import Decimal

from mortice.values.visible_text import visible_text

__all__ = ["Markup", "Number", "byte_size", "grid", "tag", "value_cell"]

BYTES_OF_UNIT = 1024
LEFT, RIGHT = "text-align:left", "text-align:right"
EMPTY = frozenset({"meta", "rect", "line", "circle", "path"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


class Number(str):
    """A number of a table, with the digits that it has; counts are integers, whose digits are grouped."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Returns an element. Children are escaped unless they are `Markup`; attributes that are None are left out.

    An underscore at the end of an attribute's name is dropped, others become hyphens.

    >>> tag("td", "<b>", class_="n", data_x='"')
    '<td class="n" data-x="&quot;">&lt;b&gt;</td>'
    """
    parts = [
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    ]
    start = f"<{name}{''.join(parts)}>"
    if name in EMPTY and not children:
        return Markup(start if name == "meta" else start[:-1] + "/>")
    body = "".join(
        one if isinstance(one, Markup) else html.escape(visible_text(str(one), keep="\n")) for one in children
    )
    return Markup(f"{start}{body}</{name}>")


def grid(columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str | None = None) -> Markup:
    """Returns a table; text is aligned to the left, and numbers to the right, the digits of counts in groups.

    Notebooks align all cells to the right, unless each says otherwise.
    """
    cells = [list(row) for row in rows]
    numbers = [_are_numbers([row[at] for row in cells]) for at in range(len(columns))]
    names = (tag("th", name, style=RIGHT if number else LEFT) for name, number in zip(columns, numbers, strict=True))
    head = tag("thead", tag("tr", *names))
    body = tag("tbody", *(tag("tr", *map(_cell, row)) for row in cells))
    title = () if caption is None else (tag("caption", caption),)
    return tag("table", *title, head, body)


def _are_numbers(values: list[object]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(isinstance(one, (int, Number)) and not isinstance(one, bool) for one in given)


def _cell(value: object) -> Markup:
    if isinstance(value, bool) or value is None:
        return tag("td", "" if value is None else str(value).lower(), style=LEFT)
    if isinstance(value, int):
        return tag("td", f"{value:,}", style=RIGHT)
    return tag("td", value, style=RIGHT if isinstance(value, Number) else LEFT)


def value_cell(value: object) -> object:
    """Returns a value of a table as a cell of a grid: its numbers have no digits in groups, as counts have."""
    if value is None or isinstance(value, bool):
        return value
    return Number(value) if isinstance(value, (int, float, Decimal)) else str(value)


def byte_size(count: float) -> str:
    """Returns a number of bytes as people read it, with a space at which no line breaks.

    >>> byte_size(0), byte_size(1536), byte_size(5 * 1024**3)
    ('0\\xa0B', '1.5\\xa0KiB', '5.0\\xa0GiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < BYTES_OF_UNIT:
            return f"{count:.0f}\xa0B" if unit == "B" else f"{count:.1f}\xa0{unit}"
        count /= BYTES_OF_UNIT
    return f"{count:.1f}\xa0TiB"
