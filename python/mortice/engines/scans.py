"""Tables in polars' lazy queries, in DuckDB's SQL and in Daft."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice import queries
from mortice.errors import InvalidArgumentError
from mortice.expressions import Filters, conjunction, normal_form, superset
from mortice.reading.read_options import ReadOptions, checked_read_options
from mortice.reading.scan import Scan
from mortice.table import Table
from mortice.values.argument_types import StorageOptions
from mortice.values.frames import polars_library
from mortice.values.instants import InstantLike
from mortice.values.other_names import hinted, with_fields

if TYPE_CHECKING:
    import daft
    import polars

TableLike = Table | str | os.PathLike[str]


@hinted
@with_fields(ReadOptions)
def scan_polars(
    table: TableLike,
    columns: Sequence[str] | str | None = None,
    filters: Filters = None,
    as_of: InstantLike = None,
    *,
    meta: bool = False,
    storage_options: StorageOptions | None = None,
    read_options: ReadOptions | None = None,
    **settings: object,
) -> polars.LazyFrame:
    """Returns a table as a LazyFrame of polars, which reads only the columns and rows that a query needs.

        trips = mortice.scan_polars("/lake/trips")
        trips.filter(polars.col("fare") > 80).select("rider", "fare").collect()

    polars evaluates the whole predicate of a query; what of it mortice can evaluate prunes files and rows before. The
    rows are those that the table has when this function is called.

    Args:
        table: A table, or its path.
        columns: The columns of the frame. Default: all but Hudi's meta columns.
        filters: Predicates that rows must satisfy (see `mortice.filters`).
        as_of: Returns the rows as of this instant.
        meta: True also returns the meta columns, unless `columns` says otherwise.
        storage_options: Options of the storage of a path, as for `Table`.
        read_options: How the table of a path is read.
        settings: Fields of `mortice.ReadOptions` by their names, in place of those of `read_options`.

    Raises:
        ImportError: polars is not installed.
        MorticeError: As `Table` and `Table.snapshot`.
    """
    library = polars_library("scan_polars()")
    opened = _opened(table, storage_options, _read_options(read_options, settings))
    return _lazy_frame(library, _Source(*_planned(opened, columns, filters, as_of, meta=meta)))


@hinted
@with_fields(ReadOptions)
def scan_daft(
    table: TableLike,
    columns: Sequence[str] | str | None = None,
    filters: Filters = None,
    as_of: InstantLike = None,
    *,
    meta: bool = False,
    storage_options: StorageOptions | None = None,
    read_options: ReadOptions | None = None,
    **settings: object,
) -> daft.DataFrame:
    """Returns a table as a DataFrame of Daft, which reads only the columns that a query needs, and file slices in
    parallel.

        trips = mortice.scan_daft("/lake/trips")
        trips.where(daft.col("city") == "oslo").select("rider", "fare").collect()

    Daft evaluates the whole predicate of a query; what of it mortice can evaluate prunes files and rows before, but for
    comparisons of floating-point numbers, which Daft orders differently. The rows are those that the table has when
    this function is called.

    Args:
        table: A table, or its path.
        columns: The columns of the frame. Default: all but Hudi's meta columns.
        filters: Predicates that rows must satisfy (see `mortice.filters`).
        as_of: Returns the rows as of this instant.
        meta: True also returns the meta columns, unless `columns` says otherwise.
        storage_options: Options of the storage of a path, as for `Table`.
        read_options: How the table of a path is read.
        settings: Fields of `mortice.ReadOptions` by their names, in place of those of `read_options`.

    Raises:
        ImportError: Daft 0.7 or later is not installed.
        MorticeError: As `Table` and `Table.snapshot`.
    """
    try:
        from mortice.engines.daft_source import TableSource
    except ImportError as error:
        raise ImportError("scan_daft() needs Daft 0.7 or later: pip install daft") from error
    opened = _opened(table, storage_options, _read_options(read_options, settings))
    return TableSource(*_planned(opened, columns, filters, as_of, meta=meta)).read()


def _read_options(given: ReadOptions | None, settings: Mapping[str, object]) -> ReadOptions | None:
    """Returns the read options of a call; None if it has none."""
    return None if given is None and not settings else checked_read_options(given, settings)


def _planned(
    table: Table, columns: Sequence[str] | str | None, filters: Filters, as_of: InstantLike, *, meta: bool
) -> tuple[Table, pa.Schema, Filters, InstantLike]:
    """Returns a table, the columns of a query of it, its filters, checked, and the instant.

    Args:
        table: The table.
        columns: The columns.
        filters: The filters.
        as_of: The instant.
        meta: Whether meta columns are among the columns.
    """
    schema = table.prepare(queries.Snapshot(columns, filters, as_of, meta=meta)).schema
    all_columns = table.prepare(queries.Snapshot(as_of=as_of)).schema
    return table, schema, normal_form(filters, lambda: all_columns), as_of


class _Source:
    """Reads a table for polars."""

    def __init__(self, table: Table, schema: pa.Schema, filters: Filters, as_of: InstantLike) -> None:
        self._table = table
        self.schema = schema
        self._filters = filters
        self._as_of = as_of

    def frames(
        self,
        with_columns: list[str] | None,
        predicate: polars.Expr | None,
        n_rows: int | None,
        batch_size: int | None,  # noqa: ARG002 (a hint)
    ) -> Iterator[polars.DataFrame]:
        """Yields frames of the rows that a query needs.

        Args:
            with_columns: The columns.
            predicate: Selects rows, among the first `n_rows`.
            n_rows: The number of rows to read.
            batch_size: The number of rows that polars prefers in a frame.
        """
        library = polars_library("scan_polars()")
        names = list(self.schema.names) if with_columns is None else list(with_columns)
        used = names if predicate is None else [*dict.fromkeys([*names, *predicate.meta.root_names()])]
        scan = self._scan(used, None if n_rows is not None else predicate)
        if n_rows is not None:
            scan = scan.limit(n_rows)
        for rows in gathered(scan.to_reader()):
            frame = library.from_arrow(rows)
            # In one query, as each has a cost that does not depend on the number of rows.
            yield frame.select(names) if predicate is None else frame.lazy().filter(predicate).select(names).collect()

    def _scan(self, names: list[str], predicate: polars.Expr | None) -> Scan:
        given: Filters = self._filters
        if predicate is not None:
            try:
                both = conjunction(given, superset(predicate, self.schema), lambda: self.schema)
                return self._table.prepare(queries.Snapshot(names, both, self._as_of)).scan()
            except InvalidArgumentError:
                # polars evaluates the predicate on the rows that the other filters select.
                pass
        return self._table.prepare(queries.Snapshot(names, given, self._as_of)).scan()


def _lazy_frame(library: Any, source: _Source) -> polars.LazyFrame:
    try:
        from polars.io.plugins import register_io_source
    except ImportError as error:
        raise ImportError("scan_polars() needs polars 1.22 or later: pip install -U polars") from error
    schema = library.from_arrow(source.schema.empty_table()).schema
    return register_io_source(source.frames, schema=schema)


def duckdb(connection: Any = None, /, **tables: TableLike) -> Any:
    """Makes tables known to a connection of DuckDB by name. DuckDB reads only the columns and rows that a query needs.

        con = mortice.duckdb(trips="/lake/trips", riders=mortice.Table("/lake/riders"))
        con.sql("select city, max(fare) from trips where fare > 80 group by city")

    The rows are those that the tables have when this function is called. A `Table`, a `Scan` and a dataset
    (`Table.dataset`) that are variables can also be named in SQL; of these DuckDB pushes filters into a dataset only.

    Args:
        connection: The connection. Default: a new one, in memory.
        tables: Tables, or their paths, by the names that SQL knows them by.

    Returns:
        The connection.

    Raises:
        ImportError: DuckDB is not installed.
        MorticeError: As `Table` and `Table.snapshot`.
    """
    if connection is not None and not hasattr(connection, "register"):
        raise InvalidArgumentError(
            f"the connection must be one of DuckDB, got {type(connection).__name__}; tables have names: "
            "mortice.duckdb(trips=table)"
        )
    if connection is None:
        try:
            library: Any = import_module("duckdb")
        except ImportError as error:
            raise ImportError("duckdb() needs DuckDB: pip install duckdb") from error
        connection = library.connect()
    for name, table in tables.items():
        connection.register(name, _opened(table).dataset())
    return connection


def _opened(
    table: TableLike, storage_options: StorageOptions | None = None, read_options: ReadOptions | None = None
) -> Table:
    if isinstance(table, Scan):
        raise InvalidArgumentError("a table or its path is needed, got a Scan; pass its table, and columns and filters")
    if not isinstance(table, Table):
        return Table(table, storage_options=storage_options, read_options=read_options)
    for name, given in (("storage_options", storage_options), ("read_options", read_options)):
        if given is not None:
            raise InvalidArgumentError(f"{name} is an argument of a path; the table is open")
    # A refresh of the table must not change what is read later.
    return copy.copy(table)


_ROWS = 65_536
_BYTES = 16 << 20


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yields the rows of batches, in their order, in tables of one batch or of several small ones.

    The first batch with rows is yielded at once: who needs only some rows does not wait for more. A table of several
    batches has at most 65,536 rows or 16 MiB, and one batch more.

    Args:
        batches: Batches of one schema.
    """
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    limit = 1
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= limit or size >= _BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size, limit = [], 0, 0, _ROWS
    if waiting:
        yield pa.Table.from_batches(waiting)
