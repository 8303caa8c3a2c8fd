"""A planned query and its splits.

A `Scan` is fixed when it is created: it names files, so it returns the same rows until Hudi's cleaner removes them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn, overload

import pyarrow as pa

from mortice import _mortice
from mortice.display.markup import grid, tag
from mortice.errors import InvalidArgumentError
from mortice.expressions import Filters
from mortice.reading.mergers import Merging
from mortice.reading.split import SharedQuery, Split, record_batches
from mortice.values.argument_types import OptionValue
from mortice.values.frames import DtypeBackend, pandas_frame, polars_frame
from mortice.values.metrics import Counts, Meter, added, format_counts
from mortice.values.observe import log_failure, span
from mortice.values.options import checked_count
from mortice.values.other_names import missing_attribute, names_of, with_hints
from mortice.values.visible_text import visible_text

if TYPE_CHECKING:
    import pandas
    import polars
    from pyspark.sql import DataFrame, SparkSession

    from mortice._mortice import ReadReport
    from mortice.spark.execution.data_frame import Metrics as SparkMetrics

__all__ = ["Scan"]

logger = logging.getLogger("mortice.scan")

SHOWN_COLUMNS = 100
"""Columns of `repr`, at most."""


class Lines(str):
    """Text of several lines, which shells and notebooks show as such, not as a quoted string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


Again = Callable[[list[str] | None, Filters], "Scan"]
"""Plans a query again, with other columns (None: the same ones) and further filters."""


@with_hints
class Scan:
    """A planned query. Each read of it returns the same rows.

    polars, duckdb, pandas and other Arrow consumers read it directly (`__arrow_c_stream__`).

    Args:
        native: The native scan.
        title: The query in one line.
        merger: The function that merges records, if it is user-defined.
        again: Plans the query again, for `select` and `filter`.
        limit: The number of rows to return, at most.
    """

    def __init__(
        self,
        native: _mortice.Scan,
        title: str,
        merger: Merging | None = None,
        again: Again | None = None,
        limit: int | None = None,
    ) -> None:
        self._native = native
        self._merger = merger
        self._title = title
        self._again = again
        self._limit = limit
        self._queries: dict[_mortice.SharedQuery, SharedQuery] = {}
        self._last: _mortice.Stream | None = None
        self._read: Counts = {}
        self._by_spark: list[SparkMetrics] = []

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows, with the columns in the requested order."""
        return pa.schema(self._native.schema())

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the requested order."""
        return list(self.schema.names)

    def splits(self, max_split_bytes: int | None = None) -> list[Split]:
        """Returns one split for each file slice, or several for a slice whose files exceed `max_split_bytes`.

        The splits of a slice return each of its rows once: base rows are divided by row groups, inserts from the logs
        by their keys. Each split reads the keys of the whole slice.

        A split pickles by itself. What the splits of a query share (some kilobytes) is contained once in a pickle of
        several.
        """
        if self._limit is not None:
            raise InvalidArgumentError(
                "a scan with a limit has no splits, which are read independently; use those of the scan without it"
            )
        if max_split_bytes is not None:
            max_split_bytes = checked_count("max_split_bytes", max_split_bytes)
        return [Split(split, self._shared(split.query)) for split in self._native.splits(max_split_bytes)]

    @property
    def size(self) -> int:
        """The size of the files of all splits, in bytes."""
        return self._native.size

    def base_share(self) -> float:
        """Returns the share of the bytes of base files that is read, from 0 to 1, estimated from column types."""
        return self._native.base_share()

    def _shared(self, query: _mortice.SharedQuery) -> SharedQuery:
        known = self._queries.get(query)
        return known if known is not None else self._queries.setdefault(query, SharedQuery(query, self._merger))

    def plain_files(self) -> tuple[_mortice.PlainFiles, Scan]:
        """Returns the files whose rows another Parquet reader returns, and a scan of all other rows.

        The footers of the files are read.
        """
        files = self._native.plain_files()
        return files, Scan(files.rest, self._title, self._merger)

    def without_columns(self) -> Scan:
        """Returns a scan of the same rows without columns, for counting."""
        return Scan(self._native.without_columns(), self._title, self._merger, limit=self._limit)

    def select(self, *columns: str | Sequence[str]) -> Scan:
        """Returns a scan of some of the columns, in this order: `scan.select("rider", "fare")`, or a list of names.

        The query is planned again, in the state of the table that this scan has.

        Raises `InvalidArgumentError` for an unknown column, and for a scan of `Table.follow` or one that was unpickled.
        """
        names = [name for one in columns for name in ([one] if isinstance(one, str) else one)]
        return self._planned_again("select()", names, None)

    def filter(self, filters: Filters) -> Scan:
        """Returns a scan of the rows that also satisfy these filters (see `mortice.filters`).

        The query is planned again, in the state of the table that this scan has. Raises as `select`.
        """
        return self._planned_again("filter()", None, filters)

    def _planned_again(self, what: str, columns: list[str] | None, filters: Filters) -> Scan:
        if self._again is None:
            raise InvalidArgumentError(
                f"{what} needs a scan of a query of a table; give columns and filters to the query"
            )
        if self._limit is not None and filters is not None:
            raise InvalidArgumentError("filter() after limit() is not supported; filter first")
        scan = self._again(columns, filters)
        return scan if self._limit is None else scan.limit(self._limit)

    def limit(self, n: int) -> Scan:
        """Returns a scan of at most `n` of the rows. Which ones is not determined, as in SQL without an order."""
        least = checked_count("the number of rows", n, least=0)
        most = least if self._limit is None else min(least, self._limit)
        return Scan(self._native, self._title, self._merger, self._again, most)

    def head(self, n: int = 5) -> pa.Table:
        """Returns at most `n` of the rows, and reads no more files than it takes to find them."""
        return self.limit(n).to_arrow()

    def _repr_html_(self) -> str:
        """The plan and the columns, for notebooks. No row is read."""
        columns = grid(["column", "type"], ([field.name, str(field.type)] for field in self.schema))
        return tag("pre", self.explain(), style="font-family:monospace") + tag(
            "details", tag("summary", f"{len(self.schema):,} columns"), columns
        )

    def explain(self) -> str:
        """Returns a description of how the query is read and, after it was read, of what that cost."""
        counts = self.metrics()
        cost = f"read so far: {counts['splits']} splits, {format_counts(counts)}" if counts else ""
        return Lines(visible_text("\n".join(filter(None, [self._native.explain(), cost])), keep="\n"))

    def metrics(self) -> Counts:
        """Returns what all reads of this scan have cost, in this process and in the tasks of `to_spark`
        (`mortice.values.metrics`).

        Empty before a first read has reached its end. What other libraries read from the C stream is not counted, nor
        are tasks of Spark Connect.
        """
        sums = dict(self._read)
        for metrics in self._by_spark:
            sums = added(sums, metrics.counts())
        return sums

    def to_reader(self) -> pa.RecordBatchReader:
        """Returns a reader of the rows, batch by batch. Errors keep their type."""
        stream = self._stream()
        return pa.RecordBatchReader.from_batches(pa.schema(stream.schema()), self._limited(self._metered(stream)))

    def to_arrow(self) -> pa.Table:
        """Returns the rows as an Arrow table."""
        return self.to_reader().read_all()

    def to_pandas(self, dtype_backend: DtypeBackend | None = None) -> pandas.DataFrame:
        """Returns the rows as a pandas DataFrame.

        Args:
            dtype_backend: `"numpy_nullable"` or `"pyarrow"`: types that have null, as in `pandas.read_parquet`.
                Default: the types of numpy, which make floats of integers with null.

        Raises `ImportError` if pandas is not installed.
        """
        return pandas_frame(self.to_arrow(), dtype_backend)

    def to_polars(self) -> polars.DataFrame:
        """Returns the rows as a polars DataFrame. Raises `ImportError` if polars is not installed."""
        return polars_frame(self.to_arrow())

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the rows to a local Parquet file, batch by batch, which is replaced.

        Raises `OSError` if it cannot be written.
        """
        from pyarrow import parquet

        reader = self.to_reader()
        with parquet.ParquetWriter(os.fspath(path), reader.schema) as file:
            for batch in reader:
                file.write_batch(batch)

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """Returns the rows as a Spark DataFrame. A large file slice is several tasks, many small ones are one."""
        from mortice.spark.execution.data_frame import Metrics, data_frame, is_connect

        if self._limit is not None:
            return Scan(self._native, self._title, self._merger).to_spark(spark).limit(self._limit)
        metrics = None if is_connect(spark) else Metrics()
        if metrics is not None:
            self._by_spark.append(metrics)
        return data_frame(spark, self, metrics=metrics)

    def count(self) -> int:
        """Returns the number of rows. Reads only what is needed to count them."""
        counted = 0
        with self._observed("count") as (attributes, started):
            for batch in self._remembered(self._native.without_columns().stream()):
                counted += batch.num_rows
                if self._limit is not None and counted >= self._limit:
                    counted = self._limit
                    break
            attributes["mortice.rows"] = counted
        logger.info("count %s: %d rows in %.3f s", visible_text(self._title), counted, time.perf_counter() - started)
        return counted

    def report(self) -> ReadReport:
        """Returns a report of the last read of this scan: files, blocks by kind, corrupt blocks, rows, skipped row
        groups, storage requests (`list_requests`, `open_requests`, `read_requests`), and the most bytes fetched from an
        object store that were held at once (`peak_fetched_bytes`).

        It is complete when the scan has been read to its end. Raises `InvalidArgumentError` before the first read.
        """
        if self._last is None:
            raise InvalidArgumentError("report() needs a read: call to_arrow(), to_reader() or count() first")
        return self._last.report()

    @overload
    def __getitem__(self, columns: str) -> pa.ChunkedArray: ...

    @overload
    def __getitem__(self, columns: Sequence[str]) -> pa.Table: ...

    def __getitem__(self, columns: str | Sequence[str]) -> pa.ChunkedArray | pa.Table:
        """Returns a column, read into memory; of a list of names an Arrow table. Raises as `select`."""
        names = checked_subscript(columns)
        # A scan that cannot be planned again reads all of its columns.
        read = self.to_arrow().select(names) if self._again is None else self.select(names).to_arrow()
        return read.column(0) if isinstance(columns, str) else read

    def __contains__(self, column: object) -> bool:
        """Returns true for the name of a column."""
        return column in self.schema.names

    def __iter__(self) -> Iterator[dict[str, object]]:
        """Yields the rows as dicts. `to_reader` yields them in record batches, which is many times faster."""
        for batch in self.to_reader():
            yield from batch.to_pylist()

    def __reduce__(self) -> tuple[Callable[..., Scan], tuple[object, ...]]:
        """Pickles the splits: the rows are the same in another process."""
        shared = SharedQuery(_mortice.SharedQuery.from_bytes(self._native.query_bytes()), self._merger)
        splits = Scan(self._native, self._title, self._merger).splits()
        query = splits[0].query if splits else shared
        return _unpickled, (self.schema, query, splits, self._title, self._native.explain(), self._limit)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._limit is not None:
            return self.to_reader().__arrow_c_stream__(requested_schema)
        logger.info("read %s: by a consumer of Arrow's C stream", visible_text(self._title))
        return self._stream().__arrow_c_stream__(requested_schema)

    def _limited(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the batches up to the limit, and stops the read then."""
        if self._limit is None:
            yield from batches
            return
        left = self._limit
        while left > 0 and (batch := next(batches, None)) is not None:
            yield batch.slice(0, left)
            left -= batch.num_rows
        batches.close()  # type: ignore[attr-defined]

    def _metered(self, stream: _mortice.Stream) -> Iterator[pa.RecordBatch]:
        """Yields the batches of a stream, and adds to the metrics when it has been read to its end."""
        meter = Meter()
        with self._observed("read") as (attributes, started):
            try:
                for batch in record_batches(stream):
                    meter.batch(batch.num_rows, batch.nbytes)
                    yield batch
                    meter.lap("consumer")
                meter.lap("read")
            except GeneratorExit:
                seconds = time.perf_counter() - started
                logger.info("read %s: left after %d rows in %.3f s", visible_text(self._title), meter.rows, seconds)
                raise
            finally:
                attributes |= {"mortice.rows": meter.rows, "mortice.bytes": meter.batch_bytes}
        counts = meter.counts(stream.report(), splits=self._native.split_count, file_bytes=self._native.size)
        logger.info("read %s: %s", visible_text(self._title), format_counts(counts))
        self._read = added(self._read, counts)

    @contextlib.contextmanager
    def _observed(self, what: str) -> Iterator[tuple[dict[str, OptionValue], float]]:
        """Makes a span of a read, and logs an error that ends it."""
        started = time.perf_counter()
        with span(f"mortice.{what}", {"mortice.query": self._title}, is_current=False) as attributes:
            try:
                yield attributes, started
            except Exception as error:
                log_failure(f"{what} {self._title}", started, error, logger)
                raise

    def _stream(self) -> _mortice.Stream:
        return self._remembered(self._native.stream())

    def _remembered(self, stream: _mortice.Stream) -> _mortice.Stream:
        self._last = stream
        return stream

    if not TYPE_CHECKING:  # which must go on to report unknown names

        def __getattr__(self, name: str) -> NoReturn:
            """Raises the error for a name that does not exist."""
            raise missing_attribute("a Scan", name, names_of("Scan"), dir(type(self)))

    def __repr__(self) -> str:
        fields = list(self.schema)
        columns = [f"  {field.name}: {field.type}" for field in fields[:SHOWN_COLUMNS]]
        more = [f"  … {len(fields) - SHOWN_COLUMNS} more columns"] if len(fields) > SHOWN_COLUMNS else []
        limit = "" if self._limit is None else f", at most {self._limit} rows"
        lines = [f"Scan: {self._title}, {self._native.split_count} splits{limit}", *columns, *more]
        return "\n".join(map(visible_text, lines))


def checked_subscript(columns: object) -> list[str]:
    """Returns the columns of `table[columns]`. Raises `TypeError` for what would be rows."""
    if isinstance(columns, (list, tuple)) and columns and all(isinstance(name, str) for name in columns):
        return list(columns)
    if isinstance(columns, str):
        return [columns]
    raise TypeError(
        f"rows have no numbers; [...] takes the name of a column or a list of names, got {columns!r}; head(n) returns "
        "some rows, filters select rows"
    )


def _unpickled(  # noqa: PLR0917
    schema: pa.Schema, query: SharedQuery, splits: list[Split], title: str, description: str, limit: int | None
) -> Scan:
    """Restores a scan from a pickle."""
    native = _mortice.Scan.from_splits(schema.empty_table(), query.native, [one.native for one in splits], description)
    return Scan(native, title, query.merger, limit=limit)
