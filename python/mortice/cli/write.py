"""`mortice create` and `mortice write`: creates a table, and writes files of rows to it."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import PurePath

import pyarrow as pa

from mortice.cli.data_files import FORMATS, DataFiles, parse_columns
from mortice.cli.progress import ProgressBar
from mortice.cli.show import print_json
from mortice.commit import Commit
from mortice.create_table import create_table
from mortice.table import Table
from mortice.writes import with_schema

__all__ = ["OPERATIONS", "run_create", "run_write"]

OPERATIONS: Mapping[str, Callable[..., Commit]] = {
    "upsert": Table.upsert,
    "insert": Table.insert,
    "bulk_insert": Table.bulk_insert,
    "insert_overwrite": Table.insert_overwrite,
    "insert_overwrite_table": Table.insert_overwrite_table,
    "delete": Table.delete,
}


def run_create(arguments: argparse.Namespace) -> int:
    """Creates a table."""
    table = create_table(
        arguments.path,
        _schema(arguments.schema),
        name=arguments.name or PurePath(arguments.path.rstrip("/")).name,
        record_key=_columns(arguments.record_key),
        partition_by=_columns(arguments.partition_by),
        ordering=_columns(arguments.ordering),
        table_type=arguments.table_type,
        version=arguments.table_version,
        properties=dict(arguments.properties),
        storage_options=dict(arguments.storage_options),
    )
    print(table)
    return 0


def run_write(arguments: argparse.Namespace) -> int:
    """Writes the rows of files, as one commit."""
    table = Table(arguments.path, storage_options=dict(arguments.storage_options), mmap=arguments.mmap)
    data = DataFiles(arguments.data, table.schema)
    with warnings.catch_warnings(record=True) as warned, ProgressBar(data.row_count) as progress:
        warnings.simplefilter("always", UserWarning)
        options = with_schema(dict(arguments.options), arguments.columns)
        commit = OPERATIONS[arguments.operation](table, progress.counted(data.reader()), options)
    for warning in warned:
        print(f"mortice: {warning.message}", file=sys.stderr)
    _print_commit(commit, is_json=arguments.json)
    return 0


def _print_commit(commit: Commit, *, is_json: bool) -> None:
    if is_json:
        counts = {"inserts": commit.inserts, "updates": commit.updates, "deletes": commit.deletes}
        changes = [
            {"column": change.column, "before": change.before and str(change.before), "after": str(change.after)}
            for change in commit.schema_changes
        ]
        plain = dataclasses.asdict(dataclasses.replace(commit, schema_changes=[]))
        print_json(plain | {"schema_changes": changes} | counts)
    else:
        print(commit)


def _schema(text: str) -> pa.Schema:
    if PurePath(text).suffix.lower() in FORMATS:
        return DataFiles([text]).schema
    return parse_columns(text)


def _columns(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]
