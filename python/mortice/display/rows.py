"""Rows as tables in notebooks, where pyarrow's own tables are text with a list of values for each column."""

from __future__ import annotations

import sys

import pyarrow as pa

from mortice.display.markup import Markup, grid, tag, value_cell
from mortice.display.results import MOST_ROWS, MOST_TEXT

__all__ = ["rows_html", "show_rows_as_tables"]

TYPE = "display:block;font-weight:normal"
MOST_TYPE = 40
"""Characters of a type."""


def show_rows_as_tables() -> None:
    """Has the notebook that runs, if one does, show Arrow tables as HTML. What it has for them already stays."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or hasattr(pa.Table, "_repr_html_"):
        return
    formatter = shell.display_formatter.formatters["text/html"]
    if pa.Table not in formatter:
        formatter.for_type(pa.Table, rows_html)


def rows_html(rows: pa.Table) -> Markup:
    """Returns the first rows as a table, with the type of each column in its heading, and the number of all of them."""
    columns = [_cells(column) for column in rows.slice(0, MOST_ROWS).columns]
    headings = [
        Markup(tag("span", field.name) + tag("small", _cut(str(field.type), MOST_TYPE), style=TYPE))
        for field in rows.schema
    ]
    shown = f", the first {MOST_ROWS} of them" if rows.num_rows > MOST_ROWS else ""
    said = tag("p", f"{rows.num_rows:,} rows of {rows.num_columns:,} columns{shown}")
    return Markup(grid(headings, zip(*columns, strict=True)) + said)


def _cells(column: pa.ChunkedArray) -> list[object]:
    try:
        values = column.to_pylist()
    except ValueError:  # Python's own times have no nanoseconds.
        values = column.cast(pa.string()).to_pylist()
    return [_cell(value) for value in values]


def _cell(value: object) -> object:
    shown = value_cell(value)
    return _cut(shown, MOST_TEXT) if isinstance(shown, str) else shown


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
