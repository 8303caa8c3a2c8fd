"""Commands that print rows: `read`, `count`, `changes`."""

from __future__ import annotations

from typing import Any

import click

from mortice.cli.parameters import Target, as_of, columns_of, on_table, on_tables
from mortice.cli.rows import (
    column_options,
    filter_option,
    limit_option,
    print_rows,
    query_options,
    scan_of,
    terms,
)
from mortice.meta_columns import without_meta

__all__ = ["changes", "count", "read"]


@click.command()
@query_options
@limit_option
@on_tables
def read(target: Target, limit: int | None, **query: Any) -> None:
    """Print the rows of a table."""
    print_rows(target, scan_of(target.table(), **query), limit)


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
    target.show(found, ["rows"], [[found]] if target.form == "csv" else [], [str(found)])


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
    names = columns_of(columns)
    if names is None and not meta:
        names = without_meta(table.schema.names)
        if "_hoodie_operation" not in names and (deletes or all_versions):
            names.insert(0, "_hoodie_operation")
    scan = table.incremental(
        since,
        until,
        columns=names,
        filters=terms(filters),
        changelog=all_versions,
        emit_deletes=deletes and not all_versions,
    )
    print_rows(target, scan, limit)
