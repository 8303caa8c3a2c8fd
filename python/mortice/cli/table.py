"""Commands that show what a table is, and what has happened to it: `info`, `schema`, `timeline`, `slices`, `explain`,
`history`, `diff`, `report`; `sync` registers it in a catalog.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import click
import pyarrow as pa

from mortice._mortice import Instant
from mortice.catalog_sync import sync as sync_table
from mortice.cli.output import cell_text, exact
from mortice.cli.parameters import Target, as_of, columns_of, mapping_option, on_table, on_tables, options_of
from mortice.cli.read import Query, query_options
from mortice.cli.terminal import as_time
from mortice.table import Table

WIDEST_ROW = 200
"""Characters of a row or of a value in it, at most."""


def facts_of(table: Table) -> dict[str, object]:
    """Returns what a table is, without its files."""
    return {
        "uri": table.uri,
        "name": table.properties.get("hoodie.table.name"),
        "type": table.properties.get("hoodie.table.type", "COPY_ON_WRITE"),
        "version": table.version,
        "merge_mode": table.merge_mode,
        "record_key": table.record_key_fields,
        "partition_by": table.partition_fields,
        "ordering": table.ordering_fields,
    }


@click.command()
@on_tables
def info(target: Target) -> None:
    """Show what a table is: its keys, files, bytes, and latest writes."""
    table = target.table()
    found = table.file_slices()
    logs = [log for one in found for log in one.log_files]
    bases = [one.base_file for one in found if one.base_file]
    latest = table.timeline.latest
    facts: dict[str, object] = {
        **facts_of(table),
        "columns": len(table.columns),
        "partitions": len({one.partition for one in found}),
        "file_groups": len({(one.partition, one.file_id) for one in found}),
        "base_files": len(bases),
        "base_bytes": sum(one.size for one in bases),
        "log_files": len(logs),
        "log_bytes": sum(one.size for one in logs),
        "active_instants": len(table.timeline.active),
        "pending": [one.requested_time for one in table.timeline.pending],
        "latest": None if latest is None else latest.to_dict(),
        "metadata_partitions": sorted(
            name for name in table.properties.get("hoodie.table.metadata.partitions", "").split(",") if name
        ),
    }
    shown = facts | {"latest": None if latest is None else _moment(latest)}
    target.show(
        facts,
        ["fact", "value"],
        [[name.replace("_", " "), _fact(value)] for name, value in shown.items()],
    )


def _fact(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, int):
        return f"{value:,} "  # not a number alone, so that the column is aligned to the left
    return "none" if value is None else value


def _moment(instant: Instant) -> str:
    """Returns an instant with its time, as people read it."""
    time, name = as_time(instant.requested_time), instant.requested_time
    return f"{name} ({time})  {instant.action}" if time != name else f"{name}  {instant.action}"


@click.command()
@click.option("--meta", is_flag=True, help="List Hudi's meta columns, too.")
@on_tables
def schema(target: Target, meta: bool) -> None:
    """List the columns of a table, with their types and roles."""
    table = target.table()
    roles = {
        "record key": table.record_key_fields,
        "partition": table.partition_fields,
        "ordering": table.ordering_fields,
    }
    fields = [field for field in pa.schema(table.schema) if meta or field.name in table.columns]
    rows = [
        [one.name, str(one.type), one.nullable, ", ".join(role for role, of in roles.items() if one.name in of)]
        for one in fields
    ]
    names = ["column", "type", "nullable", "role"]
    target.show([dict(zip(names, row, strict=True)) for row in rows], names, rows)


@click.command()
@on_tables
def timeline(target: Target) -> None:
    """List the instants of a table."""
    table = target.table()
    target.show(
        [instant.to_dict() for instant in table.timeline],
        ["requested", "completed", "action", "state"],
        [[i.requested_time, i.completion_time or "", i.action, i.state] for i in table.timeline],
    )


@click.command()
@as_of
@on_tables
def slices(target: Target, as_of: str | None) -> None:
    """List the file slices that a snapshot reads."""
    found = target.table().file_slices(as_of=as_of)
    rows = []
    for one in found:
        size = one.base_file.size if one.base_file else ""
        logs = len(one.log_files), sum(log.size for log in one.log_files)
        rows.append((one.partition, one.file_id, one.base_instant, size, *logs))
    names = ["partition", "file id", "instant", "base bytes", "log files", "log bytes"]
    target.show([one.to_dict() for one in found], names, rows, is_whole=False, less=["log files"])


@click.command()
@query_options
@on_tables
def explain(target: Target, query: Query) -> None:
    """Show the plan of `mortice read`: files, pruning, merge."""
    plan = query.scan(target.table()).explain()
    target.show({"plan": plan}, ["plan"], target.if_csv([[line] for line in plan.splitlines()]), [plan])


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
    lines = ["", f"{'no row' if found.row is None else cell_text(found.row, WIDEST_ROW)}: {found.reason}"]
    lines += [f"damaged: {one}" for one in found.damaged] + [f"missing: {one}" for one in found.missing]
    rows = [
        (
            one.instant,
            one.source,
            one.state,
            _values(one.values),
            one.reason,
            one.file,
            "" if one.offset is None else one.offset,
        )
        for one in found.versions
    ]
    names = ["instant", "source", "state", "values", "reason", "file", "offset"]
    target.show(dataclasses.asdict(found), names, rows, lines)


LESS = ("completion time", "action", "files")
"""What a narrow terminal leaves out of a list of writes."""


def _show_writes(target: Target) -> None:
    writes = target.table().history()
    names = [name.replace("_", " ") for name in writes.column_names]
    rows = writes.to_pylist()
    target.show(rows, names, [list(row.values()) for row in rows], [] if rows else ["no writes"], less=LESS)


def _values(values: dict[str, object]) -> str:
    return ", ".join(f"{name}={cell_text(value, WIDEST_ROW)}" for name, value in values.items())


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
    changes = [
        *[["insert", row[KEY], _shown(row)] for row in _first(found.inserted, limit)],
        *[
            ["update", before[KEY], _changed(before, after)]
            for before, after in zip(_first(found.before, limit), _first(found.updated, limit), strict=True)
        ],
        *[["delete", row[KEY], _shown(row)] for row in _first(found.deleted, limit)],
    ][:limit]
    document: dict[str, object] = {}
    if target.form == "json":
        pairs = zip(found.before.to_pylist(), found.updated.to_pylist(), strict=True)
        updated = [{"before": before, "after": after} for before, after in pairs]
        inserted, deleted = found.inserted.to_pylist(), found.deleted.to_pylist()
        document = {"begin": found.begin, "end": found.end}
        document |= {"inserted": inserted, "updated": updated, "deleted": deleted}
    tables = {"inserted": found.inserted, "updated": found.updated, "deleted": found.deleted}
    line = ", ".join(f"{rows.num_rows:,} {what}" for what, rows in tables.items())
    target.show(document, names, changes, [line])


def _first(rows: pa.Table, limit: int | None) -> list[dict[str, object]]:
    found: list[dict[str, object]] = (rows if limit is None else rows.slice(0, limit)).to_pylist()
    return found


def _shown(row: dict[str, object]) -> str:
    return _values({name: value for name, value in row.items() if name != KEY})


def _changed(before: dict[str, object], after: dict[str, object]) -> str:
    changed = [name for name in after if name != KEY and before.get(name) != after[name]]
    return ", ".join(
        f"{name}: {cell_text(before.get(name), WIDEST_ROW)} → {cell_text(after[name], WIDEST_ROW)}" for name in changed
    )


@click.command()
@click.option("-o", "--output", metavar="FILE", help="The file to write (default: standard output).")
@options_of("hoodie.compact.inline.max.delta.commits=10")
@on_table
def report(target: Target, output: str | None, options: dict[str, str]) -> None:
    """Write a page of HTML on a table, which needs no network: health, layout, timeline, writes, columns."""
    table = target.table()
    if target.form != "text":
        raise click.UsageError("report prints HTML; mortice health and info have --json and --csv")
    page = table.report(options)
    if output in (None, "-"):
        print(page, end="", file=sys.stdout if sys.stdout.isatty() else exact(sys.stdout))
        return
    Path(str(output)).write_text(page, encoding="utf-8")
    print(f"{output}: {len(page):,} characters")


_HIVE = "hoodie.datasource.hive_sync."
_GLUE = {"hoodie.meta.sync.client.tool.class": "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool"}


@click.command()
@click.option("--metastore", metavar="URI", help="The Hive metastore, thrift://HOST:PORT.")
@click.option("--glue", is_flag=True, help="Register in AWS Glue, with the account that boto3 finds.")
@click.option("--database", metavar="NAME", help="The database. Default: default.")
@mapping_option("--option", "options", help="An option of Hudi's sync tools, by its name.")
@on_tables
def sync(target: Target, *, metastore: str | None, glue: bool, database: str | None, options: dict[str, str]) -> None:
    """Register a table in a Hive metastore or in AWS Glue, or bring its entries up to date."""
    given = dict(_GLUE) if glue else {}
    if metastore is not None:
        given[_HIVE + "metastore.uris"] = metastore
    if database is not None:
        given[_HIVE + "database"] = database
    done = sync_table(target.table(), {**given, **options})
    rows = []
    for one in done:
        state = "created" if one.created else "columns changed" if one.columns_changed else "up to date"
        rows.append((f"{one.database}.{one.table}", state, one.partitions_added, one.partitions_dropped))
    names = ["table", "state", "partitions added", "partitions dropped"]
    target.show([one.to_dict() for one in done], names, rows)
