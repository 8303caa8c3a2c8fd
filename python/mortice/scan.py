"""A planned query, and the splits it is made of.

A `Scan` is fixed when it is made: it names files, so it gives the same rows until Hudi's cleaner removes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError
from mortice.mergers import Merging
from mortice.metrics import Counts, Meter, added, told
from mortice.options import checked_count
from mortice.split import SharedQuery, Split, record_batches

if TYPE_CHECKING:
    import pandas
    import polars
    from pyspark.sql import DataFrame, SparkSession

    from mortice.spark.metrics import Metrics as SparkMetrics

__all__ = ["Scan"]


class Scan:
    """A planned query. Reading it twice reads it anew, with the same answer.

    polars, duckdb, pandas and any other Arrow consumer read it as it is (`__arrow_c_stream__`).
    """

    def __init__(self, native: _mortice.Scan, title: str, merger: Merging | None = None) -> None:
        self._native = native
        self._merger = merger
        self._title = title
        self._queries: dict[_mortice.SharedQuery, SharedQuery] = {}
        self._last: _mortice.Stream | None = None
        self._read: Counts = {}
        self._by_spark: list[SparkMetrics] = []

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows, columns in the order asked for."""
        return pa.schema(self._native.schema())

    def splits(self, max_split_bytes: int | None = None) -> list[Split]:
        """One split for each file slice; or several, where its files have more than `max_split_bytes` bytes.

        The splits of a slice give its rows once between them: base rows by row groups, and inserts from the logs by
        their keys. Each reads the keys of the whole slice.

        Each split pickles by itself. What the splits of a query have in common (some kilobytes) is pickled once for all
        splits in one pickle.
        """
        if max_split_bytes is not None:
            max_split_bytes = checked_count("max_split_bytes", max_split_bytes)
        return [Split(split, self._shared(split.query)) for split in self._native.splits(max_split_bytes)]

    @property
    def size(self) -> int:
        """Bytes of the files of all splits."""
        return self._native.size

    def base_share(self) -> float:
        """The share of the bytes of base files that is read, estimated from the types of the columns: from 0 to 1."""
        return self._native.base_share()

    def _shared(self, query: _mortice.SharedQuery) -> SharedQuery:
        known = self._queries.get(query)
        return known if known is not None else self._queries.setdefault(query, SharedQuery(query, self._merger))

    def without_columns(self) -> Scan:
        """The same rows without their columns, for counting them."""
        return Scan(self._native.without_columns(), self._title, self._merger)

    def explain(self) -> str:
        """How the query will be read, as text; and what the readings of it have cost, once there were some."""
        counts = self.metrics()
        cost = f"read so far: {counts['splits']} splits, {told(counts)}" if counts else ""
        return "\n".join(filter(None, [self._native.explain(), cost]))

    def metrics(self) -> Counts:
        """What all readings of this scan have cost, in this process and in the tasks of `to_spark` (see
        `mortice.metrics`): empty before the first that came to its end.

        Not counted is what other libraries draw from the C stream; Spark Connect tells nothing.
        """
        sums = dict(self._read)
        for metrics in self._by_spark:
            sums = added(sums, metrics.counts())
        return sums

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows, batch by batch. Errors keep their type."""
        stream = self._stream()
        return pa.RecordBatchReader.from_batches(pa.schema(stream.schema()), self._metered(stream))

    def to_arrow(self) -> pa.Table:
        """The rows, in memory."""
        return self.to_reader().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame."""
        try:
            import polars
        except ImportError as error:
            raise ImportError("to_polars() needs polars: pip install 'mortice[polars]'") from error
        return polars.DataFrame(self.to_arrow())

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """The rows as a Spark frame. A large file slice is several tasks, many small ones are one."""
        from mortice.spark.data_frame import data_frame, is_connect
        from mortice.spark.metrics import Metrics

        metrics = None if is_connect(spark) else Metrics()
        if metrics is not None:
            self._by_spark.append(metrics)
        return data_frame(spark, self, metrics=metrics)

    def count(self) -> int:
        """How many rows there are. Reads only what is needed to tell."""
        return sum(batch.num_rows for batch in self._remembered(self._native.without_columns().stream()))

    def report(self) -> dict[str, Any]:
        """What the last reading of this scan met: files, blocks by kind, corrupt blocks, rows, row groups left unread,
        storage requests (`list_requests`, `open_requests`, `read_requests`), and the most bytes that were held at once
        of what was fetched from an object store (`peak_fetched_bytes`).

        Complete once the scan was read to its end.
        """
        if self._last is None:
            raise InvalidArgumentError(
                "nothing has been read yet; report() tells of the last to_arrow(), to_reader(), count(), …"
            )
        return self._last.report()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream().__arrow_c_stream__(requested_schema)

    def _metered(self, stream: _mortice.Stream) -> Iterator[pa.RecordBatch]:
        """Its batches; counted once they were all drawn."""
        meter = Meter()
        for batch in record_batches(stream):
            meter.batch(batch.num_rows, batch.nbytes)
            yield batch
            meter.lap("consumer")
        meter.lap("read")
        counts = meter.counts(stream.report(), splits=self._native.split_count, file_bytes=self._native.size)
        self._read = added(self._read, counts)

    def _stream(self) -> _mortice.Stream:
        return self._remembered(self._native.stream())

    def _remembered(self, stream: _mortice.Stream) -> _mortice.Stream:
        self._last = stream
        return stream

    def __repr__(self) -> str:
        columns = [f"  {field.name}: {field.type}" for field in self.schema]
        return "\n".join([f"Scan: {self._title}, {self._native.split_count} splits", *columns])
