"""Results of services and file slices as tables, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping

from mortice._mortice import FileSlice
from mortice.display.markup import Markup, grid, tag

__all__ = ["FileSlices", "result_html", "show_as_tables"]

MOST_ROWS = 50
"""Rows of each table."""
MOST_TEXT = 200
"""Characters of a cell."""
MOST_SLICES = 200
"""File slices that a list shows of itself."""


class FileSlices(list[FileSlice]):
    """A list of file slices, which notebooks show as a table."""

    def _repr_html_(self) -> str:
        columns = ["partition", "file id", "instant", "base bytes", "log files", "log bytes"]
        rows = [
            [
                one.partition,
                one.file_id,
                one.base_instant,
                one.base_file.size if one.base_file else None,
                len(one.log_files),
                sum(log.size for log in one.log_files),
            ]
            for one in self[:MOST_SLICES]
        ]
        more = f", the first {MOST_SLICES}" if len(self) > MOST_SLICES else ""
        return grid(columns, rows, f"{len(self):,} file slices{more}")


def show_as_tables(*kinds: type) -> None:
    """Has notebooks show the objects of native classes as tables."""
    for kind in kinds:
        setattr(kind, "_repr_html_", result_html)  # noqa: B010 — the classes do not declare it


def result_html(result: object) -> Markup:
    """Returns a result as tables: one of what has one value, and one for each list of files or of other results.

    Args:
        result: A frozen result: a dataclass, or what has the fields of one.
    """
    values = {name: getattr(result, name) for name in fields_of(result)}
    single = [
        [_title(name), _text(value)] for name, value in values.items() if not _is_list(value) and value is not None
    ]
    parts = [tag("p", type(result).__name__), grid(["", ""], single) if single else Markup()]
    for name, value in values.items():
        if _is_list(value) and value:
            parts.append(_list_html(_title(name), list(value.items() if isinstance(value, Mapping) else value)))
    return Markup("".join(parts))


def fields_of(result: object) -> list[str]:
    """Returns the names of the fields of a dataclass, or of a native result."""
    return list(getattr(result, "__dataclass_fields__", ()))


def _list_html(title: str, found: list[object]) -> Markup:
    shown = found[:MOST_ROWS]
    more = f", the first {MOST_ROWS} of {len(found):,}" if len(found) > MOST_ROWS else f", {len(found):,}"
    names = fields_of(found[0])
    rows = [[_text(getattr(one, name)) for name in names] for one in shown]
    if not names:
        rows = [[_text(cell) for cell in one] if isinstance(one, tuple) else [_text(one)] for one in shown]
    return grid([_title(name) for name in names] or [""] * len(rows[0]), rows, title + more)


def _title(name: str) -> str:
    return name.replace("_", " ")


def _is_list(value: object) -> bool:
    return isinstance(value, (list, Mapping))


def _text(value: object) -> object:
    """Returns a cell: a number as it is, of a list how much is in it, of a result what it shows of itself."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (list, tuple)) and any(not isinstance(one, str) for one in value):
        return len(value)
    text = ", ".join(value) if isinstance(value, (list, tuple)) else str(value)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
