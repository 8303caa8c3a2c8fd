"""Tables with a key of several rows, as inserts leave them: where these rows are, and which index finds them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import mortice

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("note", pa.string()), ("ts", pa.int64())])
NEW_GROUPS = {"hoodie.parquet.small.file.limit": "0"}
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"


def arrow(*rows):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)


FIRST, AGAIN, OTHER = ("k", "x", "first", 10), ("k", "x", "again", 20), ("other", "x", "other", 10)
ELSEWHERE = ("k", "y", "again", 20)


def one_file(table, options):
    table.insert(arrow(FIRST, OTHER, AGAIN), options)


def one_file_group(table, options):
    table.insert(arrow(FIRST, OTHER), options)
    table.insert(arrow(AGAIN), options)


def file_and_logs(table, options):
    """The base file has the key twice, and a log over it another one."""
    table.insert(arrow(FIRST, OTHER, AGAIN), options)
    table.upsert(arrow(("other", "x", "other", 11)), options)


def file_groups(table, options):
    table.insert(arrow(FIRST, OTHER), options)
    table.insert(arrow(AGAIN), options | NEW_GROUPS)


def partitions(table, options):
    table.insert(arrow(FIRST, OTHER), options)
    table.insert(arrow(ELSEWHERE), options)


@dataclass(frozen=True)
class State:
    """A table with a key of two rows, and the index that finds it."""

    place: Callable[..., None]
    table_type: str
    version: int = 9
    index: str = "SIMPLE"
    ordering: str | None = "ts"
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def options(self):
        own = {"hoodie.index.type": self.index, "hoodie.metadata.enable": "false"}
        if self.index == "BUCKET":
            own["hoodie.bucket.index.num.buckets"] = "1"
        return own | self.more

    @property
    def is_apart(self):
        """Whether a row of the key is in another partition."""
        return self.place is partitions

    @property
    def is_global(self):
        return self.index.startswith("GLOBAL") or self.index == "RECORD_INDEX"

    def build(self, path):
        table = mortice.create_table(
            path, SCHEMA, name="t", record_key="id", partition_by="city", ordering=self.ordering,
            table_type=self.table_type, version=self.version,
        )  # fmt: skip
        made = self.options
        if self.index.startswith("GLOBAL") or self.index == "BUCKET":
            # These do not make a key of several rows.
            made = made | ({"hoodie.index.type": "SIMPLE"} if self.index != "BUCKET" else {})
        self.place(table, made)
        assert [row[2] for row in rows_of(table, "k")] == ["again", "first"]
        table.refresh()
        assert len(table.file_slices()) == (2 if self.place in {file_groups, partitions} else 1)
        return table

    def __str__(self):
        more = "-metadata" if self.more else ""
        kind = "cow" if self.table_type == COW else "mor"
        return f"{self.place.__name__}-{kind}-{self.version}-{self.index.lower()}-{self.ordering}{more}"


def rows_of(table, key=None, **arguments):
    found = (
        mortice.Table(table.uri, read_options=mortice.ReadOptions(**arguments))
        .snapshot(columns=SCHEMA.names)
        .to_arrow()
        .to_pylist()
    )
    rows = [tuple(row.values()) for row in found if key is None or row["id"] == key]
    return sorted(rows, key=lambda row: row[2] + row[1])
