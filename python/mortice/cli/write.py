"""`mortice create`, `mortice write`, `mortice delete`: create a table, write files of rows to it, delete rows."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import PurePath

import click
import pyarrow as pa

from mortice._mortice import Commit
from mortice.cli.data_files import FILE_TYPES, FORMATS, DataFiles
from mortice.cli.parameters import Target, columns_of, mapping_option, on_table, options_of
from mortice.cli.progress import CountedRows, service_progress
from mortice.cli.read import terms
from mortice.cli.table import facts_of
from mortice.create_table import create_table
from mortice.values.type_names import columns_of_text
from mortice.writing.writes import SchemaChanges, with_schema

OPERATIONS = ("bulk_insert", "delete", "insert", "insert_overwrite", "insert_overwrite_table", "upsert")
"""The methods of a table that write rows."""


@click.command()
@click.option(
    "--schema",
    metavar="COLUMNS",
    required=True,
    help="The columns: 'id string not null, fare double, at timestamp'; or a file of "
    f"rows ({FILE_TYPES}), whose columns are taken.",
)
@click.option("--record-key", metavar="A,B", help="The columns of the record key (default: keys are generated).")
@click.option("--partition-by", metavar="A,B", help="The partition columns.")
@click.option("--ordering", metavar="A,B", help="The ordering columns.")
@click.option("--name", metavar="NAME", help="The table's name (default: the last part of TABLE).")
@click.option(
    "--table-type",
    type=click.Choice(["MERGE_ON_READ", "COPY_ON_WRITE"], case_sensitive=False),
    default="MERGE_ON_READ",
    show_default=True,
)
@click.option("--table-version", metavar="N", type=click.IntRange(min=0), default=9, help="9 (default), 8 or 6.")
@mapping_option(
    "--property",
    "properties",
    help="A further property by Hudi's name, such as hoodie.record.merge.mode=COMMIT_TIME_ORDERING.",
)
@on_table
def create(
    target: Target,
    *,
    schema: str,
    record_key: str | None,
    partition_by: str | None,
    ordering: str | None,
    name: str | None,
    table_type: str,
    table_version: int,
    properties: dict[str, str],
) -> None:
    """Create an empty table."""
    table = create_table(
        target.path,
        _schema(schema),
        name=name or PurePath(target.path.rstrip("/")).name,
        record_key=columns_of(record_key),
        partition_by=columns_of(partition_by),
        ordering=columns_of(ordering),
        table_type=table_type,
        version=table_version,
        properties=properties,
        storage_options=target.storage_options,
    )
    facts = facts_of(table)
    key = f"key ({', '.join(table.record_key_fields)})" if table.record_key_fields else "generated keys"
    line = f"created {table.uri}: {facts['type']}, version {table.version}, {table.merge_mode}, {key}"
    target.show(facts, list(facts), target.if_csv([list(facts.values())]), [line])


@click.command()
@click.option("--operation", type=click.Choice(OPERATIONS), required=True, help="How the rows are written.")
@click.option(
    "--columns",
    type=click.Choice(["exact", "add", "evolve"]),
    help="Which changes of the table's columns the write may make: none (default), new columns, wider types, too.",
)
@click.option(
    "--format", "kind", type=click.Choice(sorted(set(FORMATS.values()))), help="The format of DATA, for standard input."
)
@options_of("hoodie.index.type=BLOOM")
@on_table
@click.argument("data", nargs=-1, required=True)
def write(
    target: Target,
    data: tuple[str, ...],
    *,
    operation: str,
    columns: SchemaChanges | None,
    kind: str | None,
    options: dict[str, str],
) -> None:
    """Write files of rows to a table, as one commit."""
    table = target.table()
    with closing(DataFiles(data, table.schema, kind)) as files, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        rows = CountedRows(files.row_count)
        with service_progress("rows", rows.progress):
            commit = getattr(table, operation)(rows.counted(files.reader()), with_schema(options, columns))
    for warning in warned:
        print(f"mortice: {warning.message}", file=sys.stderr)
    show_commit(target, commit)


write.help = (
    f"Write files of rows to a table, as one commit.\n\nDATA are files ({FILE_TYPES}; of JSON, a document per line) "
    "of any size, which are read as a stream; - reads standard input, of the format that --format names."
)


def _of_rows(run: Callable[..., object]) -> Callable[..., object]:
    """Adds what commands have that change the rows which a filter selects."""
    run = options_of("hoodie.write.concurrency.mode=optimistic_concurrency_control")(run)
    run = click.option("--dry-run", is_flag=True, help="Count the rows; change nothing.")(run)
    return click.option(
        "--filter",
        "filters",
        metavar="CONDITION",
        multiple=True,
        required=True,
        help="Which rows: \"fare > 3 and city = 'oslo'\"; may be repeated, all must hold.",
    )(run)


@click.command()
@mapping_option(
    "--set",
    "values",
    metavar="COLUMN=EXPRESSION",
    required=True,
    help="What a column gets: fare='fare * 1.1', note=\"'raised'\"; may be repeated.",
)
@_of_rows
@on_table
def update(
    target: Target, *, values: dict[str, str], filters: tuple[str, ...], dry_run: bool, options: dict[str, str]
) -> None:
    """Update the rows that a filter selects."""
    _change_where(target, "update", filters, options, dry_run=dry_run, values=values)


@click.command()
@_of_rows
@on_table
def delete(target: Target, *, filters: tuple[str, ...], dry_run: bool, options: dict[str, str]) -> None:
    """Delete the rows that a filter selects."""
    _change_where(target, "delete", filters, options, dry_run=dry_run)


def _change_where(
    target: Target, verb: str, filters: tuple[str, ...], options: dict[str, str], *, dry_run: bool, **named: object
) -> None:
    """Updates or deletes the rows that filters select, or counts them."""
    table = target.table()
    found = terms(filters)
    if dry_run:
        rows = table.count(found)
        target.show({"rows": rows}, ["rows"], target.if_csv([[rows]]), [f"would {verb} {rows:,} rows"])
        return
    with service_progress("", table.service_progress):
        commit = getattr(table, f"{verb}_where")(filters=found, options=options, **named)
    show_commit(target, commit)


@click.command()
@click.option("--audit", metavar="FILE", help="Write the audit record, as JSON, to this file outside of the table.")
@_of_rows
@on_table
def erase(
    target: Target, *, filters: tuple[str, ...], audit: str | None, dry_run: bool, options: dict[str, str]
) -> None:
    """Delete the rows that a filter selects from all files, older versions and statistics, and prove it."""
    table = target.table()
    found = terms(filters)
    with service_progress("", table.service_progress):
        erasure = table.plan_erase(found) if dry_run else table.erase(found, options, audit=audit)
    lines = [f"would erase {erasure.rows:,} rows"]
    lines += [
        f"savepoint {instant} holds {rows:,} of them: delete it first" for instant, rows in erasure.savepoints.items()
    ]
    if not dry_run:
        read = f"{erasure.files_read:,} files that remain were searched for {erasure.values_searched:,} values"
        lines = [f"erased {erasure.rows:,} rows in {len(erasure.commits):,} commits; {read}, and have none"]
    document = erasure.to_dict()
    target.show(document, list(document), target.if_csv([list(document.values())]), lines)


def show_commit(target: Target, commit: Commit) -> None:
    """Prints what a write has done."""
    counts = {"inserts": commit.inserts, "updates": commit.updates, "deletes": commit.deletes}
    changes = [
        {"column": change.column, "before": change.before and str(change.before), "after": str(change.after)}
        for change in commit.schema_changes
    ]
    document = commit.to_dict() | {"schema_changes": changes} | counts
    names = ["partition", "file id", "path", "bytes", "rows", "inserts", "updates", "deletes"]
    rows = [
        [one.partition, one.file_id, one.path, one.file_bytes, one.rows_written, one.inserts, one.updates, one.deletes]
        for one in commit.stats
    ]
    target.show(document, names, target.if_csv(rows), [str(commit)])


def _schema(text: str) -> pa.Schema:
    if PurePath(text).suffix.lower() in FORMATS:
        return DataFiles([text]).schema
    return columns_of_text(text, "--schema", "a file or columns such as 'id string, fare double'")
