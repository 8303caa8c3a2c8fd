"""A table as a source of Daft. The module imports Daft: `mortice.scan_daft` imports it when it is called."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa
from daft import Schema
from daft.io.source import DataSource, DataSourceTask
from daft.recordbatch import RecordBatch

from mortice import queries
from mortice.errors import InvalidArgumentError
from mortice.expressions import Filters, conjunction, superset
from mortice.reading.scan import Scan
from mortice.reading.split import Split
from mortice.table import Table
from mortice.values.instants import InstantLike


class TableSource(DataSource):
    """Reads a table for Daft: only the columns that a query needs, and file slices that can have its rows, in parallel.

    Daft evaluates the whole predicate of a query on the rows. What of it mortice can evaluate prunes files and rows
    before, but for comparisons of floating-point numbers: Daft orders -0.0 below 0.0.

    Args:
        table: The table.
        schema: The columns of the frame.
        filters: Filters that rows must satisfy, checked.
        as_of: The instant of time travel, if any.
    """

    def __init__(self, table: Table, schema: pa.Schema, filters: Filters, as_of: InstantLike) -> None:
        self._table = table
        self._columns = schema
        self._filters = filters
        self._as_of = as_of

    @property
    def name(self) -> str:
        """What plans of Daft call it."""
        return f"mortice({self._table.uri})"

    @property
    def schema(self) -> object:
        """The columns, as Daft has them."""
        return Schema.from_pyarrow_schema(self._columns)

    async def get_tasks(self, pushdowns: Any) -> AsyncIterator[DataSourceTask]:
        """Yields a task for each file slice that can have rows of a query."""
        names = set(self._columns.names if pushdowns.columns is None else pushdowns.columns)
        if pushdowns.filters is not None:
            names |= pushdowns.filter_required_column_names()
        scan = self.scan([name for name in self._columns.names if name in names], pushdowns.filters)
        schema = Schema.from_pyarrow_schema(scan.schema)
        for split in scan.splits():
            yield _Task(split, schema)

    def scan(self, names: list[str], predicate: Any) -> Scan:
        """Returns the scan of columns, of at least the rows that an expression of Daft selects.

        Args:
            names: The columns.
            predicate: The expression; None selects all rows.
        """
        given = self._filters
        if predicate is not None:
            try:
                given = conjunction(given, self._pushed(predicate), lambda: self._columns)
                return self._table.prepare(queries.Snapshot(names, given, self._as_of)).scan()
            except (InvalidArgumentError, ValueError, NotImplementedError):
                # Daft evaluates it on the rows that the other filters select.
                given = self._filters
        return self._table.prepare(queries.Snapshot(names, given, self._as_of)).scan()

    def _pushed(self, predicate: Any) -> Filters:
        """Returns filters that select at least the rows of an expression; None for all rows."""
        from daft.io.pushdowns import Pushdowns

        used = Pushdowns(filters=predicate).filter_required_column_names()
        if not all(_is_ordered_alike(self._columns.field(name).type) for name in used):
            return None
        return superset(predicate.to_arrow_expr(), self._columns)


def _is_ordered_alike(kind: pa.DataType) -> bool:
    """Returns true for types whose values Daft compares as mortice does."""
    tests = (pa.types.is_integer, pa.types.is_string, pa.types.is_boolean, pa.types.is_date, pa.types.is_timestamp)
    return any(is_of(kind) for is_of in tests)


class _Task(DataSourceTask):
    """Reads a split."""

    def __init__(self, split: Split, schema: object) -> None:
        self._split = split
        self._schema = schema

    @property
    def schema(self) -> object:
        """The columns of the rows."""
        return self._schema

    async def read(self) -> AsyncIterator[object]:
        """Yields the rows in record batches."""
        for batch in self._split.to_reader():
            yield RecordBatch.from_arrow_record_batches([batch], batch.schema)
