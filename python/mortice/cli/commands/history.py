"""`mortice history` and `mortice diff`: what has happened to a record, and to a table."""

from __future__ import annotations

import dataclasses
from typing import Any

import click
import pyarrow as pa

from mortice.cli.parameters import WIDEST_PATH, Target, columns_of, on_table
from mortice.cli.show import cell_text

__all__ = ["diff", "history"]

KEY = "_hoodie_record_key"


@click.command()
@click.option("--partition", metavar="PATH", help="Look in this partition only.")
@on_table
@click.argument("key", required=False)
def history(target: Target, key: str | None, partition: str | None) -> None:
    """List the writes of a table; of a record every version, and why one wins.

    With KEY, every version of the record in base files and logs is shown, and why one of them wins.
    """
    if key is None:
        if partition is not None:
            raise click.UsageError("--partition is for the versions of a record; name its KEY")
        _show_writes(target)
        return
    found = target.table().history(key, partition=partition)
    lines = ["", f"{'no row' if found.row is None else cell_text(found.row, WIDEST_PATH)}: {found.reason}"]
    lines += [f"damaged: {one}" for one in found.damaged] + [f"missing: {one}" for one in found.missing]
    target.show(
        dataclasses.asdict(found),
        ["instant", "source", "state", "values", "reason", "file", "offset"],
        [
            [
                one.instant,
                one.source,
                one.state,
                _values(one.values),
                one.reason,
                one.file,
                "" if one.offset is None else one.offset,
            ]
            for one in found.versions
        ],
        lines,
        60,
    )


def _show_writes(target: Target) -> None:
    writes = target.table().history()
    names = [name.replace("_", " ") for name in writes.column_names]
    rows = writes.to_pylist()
    target.show(rows, names, [list(row.values()) for row in rows], [] if rows else ["no writes"], WIDEST_PATH)


def _values(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={cell_text(value)}" for name, value in values.items())


@click.command()
@click.option("--columns", metavar="A,B", help="The columns to compare and print (default: all but meta columns).")
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="Changes to print, at most (default: all).")
@on_table
@click.argument("begin")
@click.argument("end", required=False)
def diff(target: Target, begin: str, end: str | None, columns: str | None, limit: int | None) -> None:
    """Show what is different between two instants: BEGIN, and END or the latest."""
    found = target.table().diff(begin, end, columns=columns_of(columns))
    names = ["change", "record key", "columns"]
    rows = [
        *[["insert", row[KEY], _shown(row)] for row in _first(found.inserted, limit)],
        *[
            ["update", before[KEY], _changed(before, after)]
            for before, after in zip(_first(found.before, limit), _first(found.updated, limit), strict=True)
        ],
        *[["delete", row[KEY], _shown(row)] for row in _first(found.deleted, limit)],
    ][:limit]
    document = (
        {
            "begin": found.begin,
            "end": found.end,
            "inserted": found.inserted.to_pylist(),
            "updated": [
                {"before": before, "after": after}
                for before, after in zip(found.before.to_pylist(), found.updated.to_pylist(), strict=True)
            ]
            if target.form == "json"
            else [],
            "deleted": found.deleted.to_pylist(),
        }
        if target.form == "json"
        else {}
    )
    line = (
        f"{found.inserted.num_rows:,} inserted, {found.updated.num_rows:,} updated, {found.deleted.num_rows:,} deleted"
    )
    target.show(document, names, rows, [line], WIDEST_PATH)


def _first(rows: pa.Table, limit: int | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (rows if limit is None else rows.slice(0, limit)).to_pylist()
    return found


def _shown(row: dict[str, Any]) -> str:
    return _values({name: value for name, value in row.items() if name != KEY})


def _changed(before: dict[str, Any], after: dict[str, Any]) -> str:
    changed = [name for name in after if name != KEY and before.get(name) != after[name]]
    return ", ".join(f"{name}: {cell_text(before.get(name))} → {cell_text(after[name])}" for name in changed)
