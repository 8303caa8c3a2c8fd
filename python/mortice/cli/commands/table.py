"""Commands that show what a table is: `info`, `schema`, `timeline`, `slices`, `explain`."""

from __future__ import annotations

import dataclasses
from typing import Any

import click
import pyarrow as pa

from mortice.cli.parameters import WIDEST_PATH, Target, as_of, on_tables
from mortice.cli.rows import query_options, scan_of

__all__ = ["explain", "info", "schema", "slices", "timeline"]

DAY_DIGITS = 14


@click.command()
@on_tables
def info(target: Target) -> None:
    """Show what a table is: its keys, files, bytes, and latest writes."""
    table = target.table()
    found = table.file_slices()
    logs = [log for one in found for log in one.log_files]
    bases = [one.base_file for one in found if one.base_file]
    latest = table.timeline.latest
    facts: dict[str, Any] = {
        "uri": table.uri,
        "name": table.properties.get("hoodie.table.name"),
        "type": table.properties.get("hoodie.table.type", "COPY_ON_WRITE"),
        "version": table.version,
        "merge_mode": table.merge_mode,
        "record_key": table.record_key_fields,
        "partition_by": table.partition_fields,
        "ordering": table.ordering_fields,
        "columns": len(table.columns),
        "partitions": len({one.partition for one in found}),
        "file_groups": len({(one.partition, one.file_id) for one in found}),
        "base_files": len(bases),
        "base_bytes": sum(one.size for one in bases),
        "log_files": len(logs),
        "log_bytes": sum(one.size for one in logs),
        "active_instants": len(table.timeline.active),
        "pending": [one.requested_time for one in table.timeline.pending],
        "latest": None if latest is None else dataclasses.asdict(latest),
        "metadata_partitions": sorted(
            name for name in table.properties.get("hoodie.table.metadata.partitions", "").split(",") if name
        ),
    }
    shown = facts | {"latest": None if latest is None else f"{_moment(latest.requested_time)}  {latest.action}"}
    target.show(
        facts,
        ["fact", "value"],
        [[name.replace("_", " "), _fact(value)] for name, value in shown.items()],
        widest=WIDEST_PATH,
    )


def _fact(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, int):
        return f"{value:,} "  # not a number alone, so that the column is aligned to the left
    return "none" if value is None else value


def _moment(instant: str) -> str:
    """Returns an instant as people read it.

    >>> _moment("20240102030405678"), _moment("001")
    ('20240102030405678 (2024-01-02 03:04:05)', '001')
    """
    if len(instant) < DAY_DIGITS or not instant.isdigit():
        return instant
    pairs = [instant[at : at + 2] for at in range(2, DAY_DIGITS, 2)]
    return f"{instant} ({instant[:2]}{'-'.join(pairs[:3])} {':'.join(pairs[3:])})"


@click.command()
@click.option("--meta", is_flag=True, help="List Hudi's meta columns, too.")
@on_tables
def schema(target: Target, meta: bool) -> None:
    """List the columns of a table, with their types and roles."""
    table = target.table()
    roles: dict[str, list[str]] = {}
    for role, columns in (
        ("record key", table.record_key_fields),
        ("partition", table.partition_fields),
        ("ordering", table.ordering_fields),
    ):
        for name in columns:
            roles.setdefault(name, []).append(role)
    fields = [field for field in pa.schema(table.schema) if meta or field.name in table.columns]
    rows = [[one.name, str(one.type), one.nullable, ", ".join(roles.get(one.name, []))] for one in fields]
    names = ["column", "type", "nullable", "role"]
    target.show([dict(zip(names, row, strict=True)) for row in rows], names, rows, widest=WIDEST_PATH)


@click.command()
@on_tables
def timeline(target: Target) -> None:
    """List the instants of a table."""
    table = target.table()
    target.show(
        [dataclasses.asdict(instant) for instant in table.timeline],
        ["requested", "completed", "action", "state"],
        [[i.requested_time, i.completion_time or "", i.action, i.state] for i in table.timeline],
    )


@click.command()
@as_of
@on_tables
def slices(target: Target, as_of: str | None) -> None:
    """List the file slices that a snapshot reads."""
    found = target.table().file_slices(as_of=as_of)
    target.show(
        [dataclasses.asdict(one) for one in found],
        ["partition", "file id", "instant", "base bytes", "log files", "log bytes"],
        [
            [
                one.partition,
                one.file_id,
                one.base_instant,
                one.base_file.size if one.base_file else "",
                len(one.log_files),
                sum(log.size for log in one.log_files),
            ]
            for one in found
        ],
    )


@click.command()
@query_options
@on_tables
def explain(target: Target, **query: Any) -> None:
    """Show the plan of `mortice read`: files, pruning, merge."""
    plan = scan_of(target.table(), **query).explain()
    target.show(
        {"plan": plan}, ["plan"], [[line] for line in plan.splitlines()] if target.form == "csv" else [], [plan]
    )
