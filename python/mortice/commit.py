"""What a write did."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from mortice.display.markup import grid
from mortice.other_names import answering
from mortice.visible_text import visible_text

__all__ = ["Commit", "FileGroupStats", "RowError", "SchemaChange"]


@dataclass(frozen=True)
class FileGroupStats:
    """What a write did to a file group: one file of it."""

    partition: str
    """The partition path; empty if the table is not partitioned."""
    file_id: str
    """The id of the file group."""
    path: str | None
    """The file's path, relative to the table; None if no file was written."""
    file_bytes: int
    """The size of the file, in bytes."""
    rows_written: int
    """The number of rows in the file; of a log file, of its records."""
    inserts: int
    """The number of rows whose key was new."""
    updates: int
    """The number of rows whose key was there."""
    deletes: int
    """The number of deleted keys."""


@dataclass(frozen=True)
class RowError:
    """A row that was not written, with `hoodie.write.ignore.failed`."""

    record_key: str | None
    """Its record key; None if it has none."""
    message: str
    """Why it was not written; it names the row, counted from 0, and the column."""


@dataclass(frozen=True)
class SchemaChange:
    """A column, or a field within one, that a write has added or given another type."""

    column: str
    """The column, or the path of a field: `rider.age`, `stops.element.city`."""
    before: pa.DataType | None
    """The type that it had; None if it is new."""
    after: pa.DataType
    """The type that it has."""


@answering
@dataclass(frozen=True)
class Commit:
    """A completed write.

    commit = table.upsert(rows)
    commit.instant, commit.inserts, commit.updates
    """

    instant: str
    """The requested time: the value of `_hoodie_commit_time` in the rows that were written. Empty if an update or a
    merge had nothing to write, and made no commit."""
    completion_time: str | None
    """The completion time; None up to table version 7."""
    operation: str
    """The operation, as Hudi's constant: `UPSERT`, `BULK_INSERT`, `DELETE_PARTITION`, `COMPACT`, `CLUSTER`, …."""
    stats: list[FileGroupStats] = field(repr=False)
    """What was done to each file group."""
    errors: list[RowError] = field(default_factory=list, repr=False)
    """The first rows that were not written, at most 10,000. Without `hoodie.write.ignore.failed` there are none."""
    error_count: int = field(default=0, repr=False)
    """The number of rows that were not written."""
    attempts: int = field(default=1, repr=False)
    """How often the write was tried: more than once after conflicts with other writers, if options allow it."""
    schema_changes: list[SchemaChange] = field(default_factory=list, repr=False)
    """What the write has changed of the table's columns: nothing, unless its argument `schema` allows it."""

    @property
    def inserts(self) -> int:
        """The number of rows whose key was new."""
        return sum(stats.inserts for stats in self.stats)

    @property
    def updates(self) -> int:
        """The number of rows whose key was there."""
        return sum(stats.updates for stats in self.stats)

    @property
    def deletes(self) -> int:
        """The number of deleted keys."""
        return sum(stats.deletes for stats in self.stats)

    @property
    def bytes_written(self) -> int:
        """The size of the written files, in bytes."""
        return sum(stats.file_bytes for stats in self.stats)

    def __repr__(self) -> str:
        counts = (("inserted", self.inserts), ("updated", self.updates), ("deleted", self.deletes))
        rows = ", ".join(f"{count:,} {what}" for what, count in counts if count) or "no rows"
        files = len([stats for stats in self.stats if stats.path is not None])
        failed = f", {self.error_count:,} not written" if self.error_count else ""
        what = f"{self.operation}: {rows} in {files} file{'s' * (files != 1)}{failed}"
        return visible_text(f"Commit({self.instant or 'none'}, {what})")

    def _repr_html_(self) -> str:
        """The commit as a table, for notebooks."""
        columns = ["partition", "file_id", "inserts", "updates", "deletes", "file_bytes"]
        return grid(columns, ([getattr(stats, name) for name in columns] for stats in self.stats), repr(self))
