"""Tables that mortice writes, and their rows: helpers of the tests of writing."""

import os

import pyarrow as pa

import mortice

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("fare", pa.float64())])
EVERY_KIND = [(version, table_type) for version in (6, 8, 9, 10) for table_type in ("MERGE_ON_READ", "COPY_ON_WRITE")]
SOME_KINDS = [
    (6, "MERGE_ON_READ"),
    (8, "COPY_ON_WRITE"),
    (9, "MERGE_ON_READ"),
    (10, "MERGE_ON_READ"),
]
KINDS = EVERY_KIND if os.environ.get("MORTICE_EVERY_KIND") else SOME_KINDS
"""Each version, and both types of table; `make test-kinds` takes every pair."""

NO_METADATA = {"hoodie.metadata.enable": "false"}
NO_SERVICES = NO_METADATA | {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
}
"""Writes run no table service, and keep no metadata table."""


def rows(*given, schema=SCHEMA):
    names = schema.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in given], schema=schema)


def new_table(path, version=9, table_type="MERGE_ON_READ", schema=SCHEMA, **arguments):
    arguments = {"record_key": "id", "partition_by": "city", "ordering": "ts", **arguments}
    return mortice.create_table(path, schema, name="trips", table_type=table_type, version=version, **arguments)


def content(table, *columns):
    """The rows of a snapshot, ordered by key."""
    columns = columns or SCHEMA.names
    found = table.snapshot(columns=list(columns)).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


FIRST = rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0))
CHANGED = rows(("a", "x", 2, 10.0), ("c", "y", 2, 30.0))
# Inserts go to file groups of their own, updates of merge-on-read tables to logs.
NO_SMALL_FILES = {"hoodie.parquet.small.file.limit": "0"}


def both(table):
    """The rows, which are the same if files are listed from storage."""
    listed = content(mortice.Table(table.uri, read_options=mortice.ReadOptions(use_metadata=False)))
    assert content(table) == listed
    return listed
