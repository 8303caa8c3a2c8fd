"""Commands that print rows: `read`, `count`, `changes`, `follow`; which rows and columns, and how they are printed."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import click

from mortice.cli.output import print_csv, print_json
from mortice.cli.parameters import Target, as_of, columns_of, on_table, on_tables
from mortice.cli.tables import print_table
from mortice.cli.terminal import say
from mortice.reading.scan import Scan
from mortice.table import Table
from mortice.values.type_names import without_meta

ROWS_AT_A_TERMINAL = 20

_Command = TypeVar("_Command", bound=Callable[..., object])


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


@dataclass(frozen=True)
class Query:
    """Which rows of which snapshot a command is about."""

    columns: str | None
    """Names with commas between them; None are all."""
    meta: bool
    """Whether meta columns are among all columns."""
    filters: tuple[str, ...]
    as_of: str | None
    read_optimized: bool

    def scan(self, table: Table) -> Scan:
        """Plans the query of a table."""
        query = table.read_optimized if self.read_optimized else table.snapshot
        return query(columns=columns_of(self.columns), filters=terms(self.filters), as_of=self.as_of, meta=self.meta)


def query_options(run: _Command) -> _Command:
    """Adds all that says which rows of which snapshot are read, as one argument `query`."""

    @column_options
    @filter_option
    @as_of
    @click.option("--read-optimized", is_flag=True, help="Read base files only, without log files.")
    @functools.wraps(run)
    def command(
        *,
        columns: str | None,
        meta: bool,
        filters: tuple[str, ...],
        as_of: str | None,
        read_optimized: bool,
        **named: object,
    ) -> object:
        return run(query=Query(columns, meta, filters, as_of, read_optimized), **named)

    return command  # type: ignore[return-value]


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
            say(f"first {ROWS_AT_A_TERMINAL} rows; --limit N prints more", sys.stderr)


def _rows(scan: Scan) -> Iterator[tuple[object, ...]]:
    for batch in scan.to_reader():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


@click.command()
@query_options
@limit_option
@on_tables
def read(target: Target, limit: int | None, query: Query) -> None:
    """Print the rows of a table."""
    print_rows(target, query.scan(target.table()), limit)


@click.command()
@filter_option
@as_of
@click.option("--read-optimized", is_flag=True, help="Count rows of base files only, without log files.")
@on_tables
def count(target: Target, filters: tuple[str, ...], as_of: str | None, read_optimized: bool) -> None:
    """Print the number of rows of a table."""
    table = target.table()
    query = table.read_optimized if read_optimized else table.snapshot
    found = query(columns=[], filters=terms(filters), as_of=as_of).count()
    target.show(found, ["rows"], target.if_csv([[found]]), [str(found)])


@click.command()
@click.option(
    "--since", metavar="INSTANT", default="earliest", help="The instant after which changes begin (default: all)."
)
@click.option("--until", metavar="INSTANT", help="The last instant whose changes are printed (default: the latest).")
@click.option(
    "--all-versions", is_flag=True, help="Print every version that was written, unmerged, not the last of each key."
)
@click.option(
    "--deletes/--no-deletes", default=True, help="Print deleted keys, too, with D in _hoodie_operation (default)."
)
@column_options
@filter_option
@limit_option
@on_table
def changes(
    target: Target,
    *,
    since: str,
    until: str | None,
    all_versions: bool,
    deletes: bool,
    columns: str | None,
    meta: bool,
    filters: tuple[str, ...],
    limit: int | None,
) -> None:
    """Print the rows that writes have changed since an instant."""
    table = target.table()
    names = _changed_columns(table, columns, meta=meta, has_operation=deletes or all_versions)
    scan = table.incremental(
        since,
        until,
        columns=names,
        filters=terms(filters),
        changelog=all_versions,
        emit_deletes=deletes and not all_versions,
    )
    print_rows(target, scan, limit)


def _changed_columns(table: Table, columns: str | None, *, meta: bool, has_operation: bool = True) -> list[str] | None:
    """Returns the columns of changed rows, the operation first; None for all, meta columns included."""
    names = columns_of(columns)
    if names is not None or meta:
        return names
    names = without_meta(table.schema.names)
    if has_operation and "_hoodie_operation" not in names:
        names.insert(0, "_hoodie_operation")
    return names


@click.command()
@click.option("--since", metavar="INSTANT", default="latest", show_default=True, help="The instant to begin after.")
@click.option(
    "--poll-seconds",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="Seconds between two looks at the timeline.",
)
@click.option("--once", is_flag=True, help="Print what is there and end; do not wait for more.")
@column_options
@filter_option
@on_table
def follow(
    target: Target,
    *,
    since: str,
    poll_seconds: float,
    once: bool,
    columns: str | None,
    meta: bool,
    filters: tuple[str, ...],
) -> None:
    """Print the rows of each write as it completes, deletes with D in _hoodie_operation, until interrupted.

    With --json, each line has the instant of its write. To go on later, pass the last instant as --since.
    """
    table = target.table()
    names = _changed_columns(table, columns, meta=meta)
    wait = None if once else poll_seconds
    with table.follow(since, wait, columns=names, filters=terms(filters), emit_deletes=True) as commits:
        for instant, scan in commits:
            if target.form == "json":
                for batch in scan.to_reader():
                    for row in batch.to_pylist():
                        print_json({"instant": instant, "row": row})
            else:
                if target.form == "text":
                    say(f"{instant}:")
                print_rows(target, scan, None)
            sys.stdout.flush()
