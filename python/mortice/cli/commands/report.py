"""`mortice report`: a page on a table."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mortice.cli.output import exact
from mortice.cli.parameters import Target, on_table, options_of

__all__ = ["report"]


@click.command()
@click.option("-o", "--output", metavar="FILE", help="The file to write (default: standard output).")
@options_of("hoodie.compact.inline.max.delta.commits=10")
@on_table
def report(target: Target, output: str | None, options: tuple[tuple[str, str], ...]) -> None:
    """Write a page of HTML on a table, which needs no network: health, layout, timeline, writes, columns."""
    table = target.table()
    if target.form != "text":
        raise click.UsageError("report prints HTML; mortice health and info have --json and --csv")
    page = table.report(dict(options))
    if output in (None, "-"):
        print(page, end="", file=sys.stdout if sys.stdout.isatty() else exact(sys.stdout))
        return
    Path(str(output)).write_text(page, encoding="utf-8")
    print(f"{output}: {len(page):,} characters")
