"""A table as data: its newest rows, without Hudi's meta columns, as other libraries want them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, overload

import pyarrow as pa

from mortice import queries
from mortice.expressions.filters import Filters
from mortice.reading.scan import Scan, checked_subscript
from mortice.table.base import TableBase
from mortice.values.frames import DtypeBackend
from mortice.values.instants import InstantLike
from mortice.values.meta_columns import without_meta
from mortice.values.options import checked_bool
from mortice.values.other_names import with_hints

if TYPE_CHECKING:
    import pandas
    import polars

    from mortice.reading.dataset import TableDataset

__all__ = ["TableData"]

HEAD_ROWS = 5


@with_hints
class TableData(TableBase):
    """The rows of a table as data."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns, without Hudi's meta columns, which `schema` has as well."""
        return without_meta(self.schema.names)

    def scan(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
    ) -> Scan:
        """Returns what `snapshot` returns, without Hudi's meta columns.

            table.scan().select("rider", "fare").filter("fare > 80").head(3)

        Args:
            columns: The columns to return, in this order; a string is one. Default: all but the meta columns.
            filters: Predicates that rows must satisfy (see `mortice.filters`).
            as_of: Returns the rows as of this instant.
            meta: True also returns the meta columns, unless `columns` says otherwise.

        Raises as `snapshot`.
        """
        return self.prepare(queries.Snapshot(columns, filters, as_of, meta=meta)).scan()

    def count(self, filters: Filters = None, as_of: InstantLike = None) -> int:
        """Returns the number of rows that satisfy the filters. Arguments and errors are those of `scan`."""
        return self.scan([], filters, as_of).count()

    def head(
        self,
        n: int = HEAD_ROWS,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        *,
        meta: bool = False,
    ) -> pa.Table:
        """Returns some rows, at most `n`, and reads no more files than it takes to find them.

        Args:
            n: The number of rows.
            columns: As for `scan`.
            filters: As for `scan`.
            meta: As for `scan`.

        Raises as `scan`.
        """
        return self.scan(columns, filters, meta=meta).head(n)

    def to_arrow(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
    ) -> pa.Table:
        """Returns the rows as an Arrow table.

        Args:
            columns: As for `scan`.
            filters: As for `scan`.
            as_of: As for `scan`.
            meta: As for `scan`.

        Raises as `scan`.
        """
        return self.scan(columns, filters, as_of, meta=meta).to_arrow()

    def to_reader(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
    ) -> pa.RecordBatchReader:
        """Returns a reader of the rows, for results of any size.

        Args:
            columns: As for `scan`.
            filters: As for `scan`.
            as_of: As for `scan`.
            meta: As for `scan`.

        Raises as `scan`.
        """
        return self.scan(columns, filters, as_of, meta=meta).to_reader()

    def to_pandas(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
        dtype_backend: DtypeBackend | None = None,
    ) -> pandas.DataFrame:
        """Returns the rows as a pandas DataFrame.

        Args:
            columns: As for `scan`.
            filters: As for `scan`.
            as_of: As for `scan`.
            meta: As for `scan`.
            dtype_backend: `"numpy_nullable"` or `"pyarrow"`: types that have null. Default: the types of numpy.

        Raises `ImportError` if pandas is not installed, and as `scan`.
        """
        return self.scan(columns, filters, as_of, meta=meta).to_pandas(dtype_backend)

    def to_polars(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
    ) -> polars.DataFrame:
        """Returns the rows as a polars DataFrame; `mortice.scan_polars` returns a LazyFrame.

        Args:
            columns: As for `scan`.
            filters: As for `scan`.
            as_of: As for `scan`.
            meta: As for `scan`.

        Raises as `scan`, and `ImportError` if polars is not installed.
        """
        return self.scan(columns, filters, as_of, meta=meta).to_polars()

    def dataset(self, as_of: InstantLike = None, *, meta: bool = False) -> TableDataset:
        """Returns the table as a `pyarrow.dataset.Dataset`. DuckDB, polars, DataFusion and others read from it only the
        columns and rows that a query needs.

            trips = table.dataset()
            duckdb.sql("select city, max(fare) from trips where fare > 80 group by city")

        The rows are those that the table has now, also after a refresh. A dataset that is unpickled has those of the
        moment when it is unpickled.

        Args:
            as_of: As for `scan`.
            meta: True also has the meta columns.

        Raises as `snapshot`.
        """
        from mortice.reading.dataset import TableDataset

        table = copy.copy(self)
        has_meta = checked_bool("meta", meta)

        def plan(columns: list[str], filters: Filters) -> Scan:
            return table.prepare(queries.Snapshot(columns, filters, as_of)).scan()

        schema = table.prepare(queries.Snapshot(as_of=as_of, meta=has_meta)).schema
        return TableDataset(plan, schema, partial(_dataset_of, table, as_of, has_meta))

    def __arrow_c_schema__(self) -> object:
        return self.prepare(queries.Snapshot(meta=False)).schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    @overload
    def __getitem__(self, columns: str) -> pa.ChunkedArray: ...

    @overload
    def __getitem__(self, columns: Sequence[str]) -> pa.Table: ...

    def __getitem__(self, columns: str | Sequence[str]) -> pa.ChunkedArray | pa.Table:
        """Returns a column, read into memory; of a list of names an Arrow table. Raises as `scan`."""
        read = self.to_arrow(checked_subscript(columns))
        return read.column(0) if isinstance(columns, str) else read

    def __contains__(self, column: object) -> bool:
        """Returns true for the name of a column."""
        return column in self.schema.names

    def __iter__(self) -> Iterator[dict[str, object]]:
        """Yields the rows as dicts, without meta columns. `to_reader` yields them in record batches, which is many
        times faster.
        """
        return iter(self.scan())

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        # Not whether it has rows, which would be a query.
        return True


def _dataset_of(table: TableData, as_of: InstantLike, has_meta: bool) -> TableDataset:
    return table.dataset(as_of, meta=has_meta)
