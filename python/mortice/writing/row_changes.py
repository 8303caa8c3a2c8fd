"""Rows of a table that expressions have changed, and their write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError
from mortice.expressions.expression import Columns, Expression
from mortice.values.meta_columns import META_COLUMNS
from mortice.writing.validators import CommitCheck

__all__ = ["RECORD_KEY", "ChangedRows", "Values", "assignments", "own_columns"]

RECORD_KEY, PARTITION_PATH = "_hoodie_record_key", "_hoodie_partition_path"
KEYS = [RECORD_KEY, PARTITION_PATH]
Values = Mapping[str, object]
"""What columns get: expressions as strings, or other Python values."""
BATCH_ROWS = 65_536


def own_columns(schema: pa.Schema) -> pa.Schema:
    """Returns the columns of a table without meta columns, any of them nullable."""
    return pa.schema([field.with_nullable(True) for field in schema if field.name not in META_COLUMNS])


def assignments(values: Values, schema: pa.Schema, columns: Columns) -> dict[str, Expression]:
    """Returns the expressions of columns.

    Args:
        values: The columns and what they get.
        schema: The columns of the table.
        columns: The columns that expressions can name.

    Raises `InvalidArgumentError` for columns that the table does not have, and expressions that do not fit them.
    """
    if not isinstance(values, Mapping) or not values:
        raise InvalidArgumentError(f"values must map columns to expressions, got {values!r}")
    parsed = {}
    for name, value in values.items():
        if name not in schema.names:
            hint = "; assign the whole struct" if isinstance(name, str) and "." in name else ""
            raise InvalidArgumentError(f"values name {name!r}, which the table does not have{hint}")
        parsed[name] = Expression.constant(value) if not isinstance(value, str) else Expression(value, columns)
        empty = {side: pa.RecordBatch.from_pylist([], schema=of) for side, of in columns.sides.items()}
        parsed[name].assigned(empty, schema.field(name))
    return parsed


class ChangedRows:
    """Makes the batches of changed rows that the native module writes.

    Args:
        native: The table, opened.
        updated: The columns that updates change.
    """

    def __init__(self, native: _mortice.Table, updated: Sequence[str]) -> None:
        self.native = native
        self.own = own_columns(pa.schema(native.schema()))
        self.updated = [name for name in self.own.names if name in set(updated)]
        self.ordering = [name for name in native.ordering_fields if name in self.updated]
        marks = [pa.field(name, pa.bool_()) for name in (_mortice.MergePlan.DELETES, _mortice.MergePlan.UPDATES)]
        keys = [pa.field(name, pa.string()) for name in KEYS]
        stored = [self.own.field(name).with_name(_mortice.MergePlan.STORED + name) for name in self.ordering]
        self.schema = pa.schema([*self.own, *marks, *keys, *stored])

    def updates(self, stored: pa.RecordBatch, values: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """Returns stored rows with other values in some columns."""
        return self._stored(stored, values, deletes=False)

    def deletes(self, stored: pa.RecordBatch) -> pa.RecordBatch:
        """Returns stored rows, to be deleted."""
        return self._stored(stored, {}, deletes=True)

    def inserts(self, rows: int, values: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """Returns new rows, null in columns that have no values."""
        nulls = [pa.nulls(rows, field.type) for field in self.schema]
        columns = [values.get(field.name, null) for field, null in zip(self.schema, nulls, strict=True)]
        return pa.record_batch(columns, schema=self.schema)

    def _stored(self, stored: pa.RecordBatch, values: Values, *, deletes: bool) -> pa.RecordBatch:
        rows = stored.num_rows
        columns = [values[name] if name in values else stored.column(name) for name in self.own.names]
        columns += [pa.repeat(deletes, rows), pa.repeat(not deletes, rows)]
        columns += [stored.column(name) for name in [*KEYS, *self.ordering]]
        return pa.record_batch(columns, schema=self.schema)

    def write(
        self,
        batches: Iterable[pa.RecordBatch],
        options: Mapping[str, str],
        check: CommitCheck | None,
    ) -> Commit:
        """Writes changed rows as one commit. Without rows nothing is written.

        Args:
            batches: The rows, of `schema`.
            options: Options of the write, checked.
            check: Checks the table before the write is completed.
        """
        rows = iter(batches)
        first = next((batch for batch in rows if batch.num_rows), None)
        if first is None:
            return Commit(instant="", completion_time=None, operation="UPSERT", stats=[])
        reader = pa.RecordBatchReader.from_batches(self.schema, _chained(first, rows))
        return _mortice.write_changes(self.native, reader, self.updated, dict(options), check)


def _chained(first: pa.RecordBatch, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from (batch for batch in rows if batch.num_rows)
