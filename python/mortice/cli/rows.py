"""Queries of the command line: which rows and columns of a table, and how they are printed."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import click

from mortice.cli.parameters import Target, as_of, columns_of
from mortice.cli.show import print_csv, print_json, print_table
from mortice.reading.scan import Scan
from mortice.table import Table

__all__ = ["filter_option", "print_rows", "query_options", "scan_of"]

ROWS_AT_A_TERMINAL = 20

_Command = TypeVar("_Command", bound=Callable[..., Any])


def filter_option(run: _Command) -> _Command:
    """Adds predicates on rows."""
    return click.option(
        "--filter",
        "filters",
        metavar="CONDITION",
        multiple=True,
        help="A condition as in SQL's WHERE: \"fare > 3 and (city in ('oslo', 'lima') or rider like 'a%')\"; may be "
        "repeated, all must hold.",
    )(run)


def column_options(run: _Command) -> _Command:
    """Adds the columns, and whether meta columns are among them."""
    run = click.option("--meta", is_flag=True, help="Print Hudi's meta columns, too.")(run)
    return click.option("--columns", metavar="A,B", help="The columns to print, in this order (default: all).")(run)


def limit_option(run: _Command) -> _Command:
    """Adds the number of rows."""
    return click.option(
        "--limit",
        metavar="N",
        type=click.IntRange(min=0),
        help="Rows to print, at most (default: 20 at a terminal, else all).",
    )(run)


def query_options(run: _Command) -> _Command:
    """Adds all that says which rows of which snapshot are read."""

    @column_options
    @filter_option
    @as_of
    @click.option("--read-optimized", is_flag=True, help="Read base files only, without log files.")
    @functools.wraps(run)
    def command(*arguments: Any, **named: Any) -> Any:
        return run(*arguments, **named)

    return command  # type: ignore[return-value]


def scan_of(
    table: Table,
    *,
    columns: str | None = None,
    meta: bool = False,
    filters: Iterable[str] = (),
    as_of: str | None = None,
    read_optimized: bool = False,
) -> Scan:
    """Plans the query that the arguments of a command ask for.

    Args:
        table: The table.
        columns: Names with commas between them; None are all.
        meta: True has meta columns among all columns.
        filters: Predicates, all of which must hold.
        as_of: The instant of time travel.
        read_optimized: True reads base files only.
    """
    query = table.read_optimized if read_optimized else table.snapshot
    return query(columns=columns_of(columns), filters=terms(filters), as_of=as_of, meta=meta)


def terms(filters: Iterable[str]) -> list[str] | None:
    """Returns conditions, all of which must hold; None if there are none."""
    return list(filters) or None


def print_rows(target: Target, scan: Scan, limit: int | None) -> None:
    """Prints the rows of a scan. At a terminal, these are the first, unless a limit says how many."""
    target.print_title()
    names = scan.schema.names
    rows = itertools.islice(_rows(scan), limit)
    if target.form == "json":
        for row in rows:
            print_json(dict(zip(names, row, strict=True)))
    elif target.form == "csv":
        print_csv(names, rows)
    elif limit is not None or not sys.stdout.isatty():
        print_table(names, rows)
    else:
        first = list(itertools.islice(rows, ROWS_AT_A_TERMINAL + 1))
        print_table(names, first[:ROWS_AT_A_TERMINAL])
        if len(first) > ROWS_AT_A_TERMINAL:
            sys.stdout.flush()
            print(f"first {ROWS_AT_A_TERMINAL} rows; --limit N prints more", file=sys.stderr)


def _rows(scan: Scan) -> Iterator[tuple[Any, ...]]:
    for batch in scan.to_reader():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
