"""A planned query, and the splits it is made of.

A `Scan` is fixed when it is made: it names files, so it gives the same rows until Hudi's cleaner removes them. Each of
its splits is one file slice and complete in itself: it pickles, and reads anywhere (another process, a Spark executor).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    import pandas
    import polars
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Scan", "Split"]


def record_batches(stream: _mortice.Stream) -> Iterator[pa.RecordBatch]:
    """What is left of a stream; closed when the consumer goes away."""
    try:
        for batch in stream:
            yield pa.record_batch(batch)
    finally:
        stream.close()


def _reader(stream: _mortice.Stream) -> pa.RecordBatchReader:
    # Not through the C stream: a reader over Python batches lets errors through with their type.
    return pa.RecordBatchReader.from_batches(pa.schema(stream.schema()), record_batches(stream))


class Split:
    """One file slice of a query. Pickles; see `to_reader`."""

    __slots__ = ("_native",)

    def __init__(self, native: _mortice.Split) -> None:
        self._native = native

    @classmethod
    def from_bytes(cls, data: bytes) -> Split:
        """The split that `to_bytes` wrote."""
        return cls(_mortice.Split.from_bytes(data))

    def to_bytes(self) -> bytes:
        """A compact form, for shipping. Only the same release of mortice reads it."""
        return self._native.to_bytes()

    def __reduce__(self) -> tuple[Callable[[bytes], Split], tuple[bytes]]:
        return Split.from_bytes, (self.to_bytes(),)

    @property
    def schema(self) -> pa.Schema:
        """The schema of its rows."""
        return pa.schema(self._native.schema())

    @property
    def partition(self) -> str:
        """The partition path."""
        return str(self._native.describe()["partition"])

    @property
    def file_id(self) -> str:
        """The file group."""
        return str(self._native.describe()["file_id"])

    @property
    def size(self) -> int:
        """Bytes of its base and log files: a measure of the work."""
        return int(self._native.describe()["bytes"])

    def stream(self, start_row: int = 0) -> _mortice.Stream:
        """The rows as a native stream, with a report of the reading."""
        if isinstance(start_row, bool) or not isinstance(start_row, int) or start_row < 0:
            raise InvalidArgumentError(f"start_row is a whole number of 0 or more, not {start_row!r}")
        return self._native.stream(start_row)

    def to_reader(self, start_row: int = 0) -> pa.RecordBatchReader:
        """The rows, the first `start_row` of them left out."""
        return _reader(self.stream(start_row))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.stream().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"Split(partition={self.partition!r}, file_id={self.file_id!r}, {self.size} bytes)"


class Scan:
    """A planned query. Reading it twice reads it anew, with the same answer.

    polars, duckdb, pandas and any other Arrow consumer read it as it is (`__arrow_c_stream__`).
    """

    def __init__(self, native: _mortice.Scan, without_columns: Callable[[], _mortice.Scan], title: str) -> None:
        self._native = native
        self._without_columns = without_columns
        self._title = title
        self._last: _mortice.Stream | None = None

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows, columns in the order asked for."""
        return pa.schema(self._native.schema())

    def splits(self, max_split_bytes: int | None = None) -> list[Split]:
        """One split for each file slice."""
        if max_split_bytes is not None:
            raise UnsupportedError(
                "max_split_bytes (several splits for one file slice) is not in this release; "
                "leave it out for one split a slice"
            )
        return [Split(split) for split in self._native.splits()]

    def explain(self) -> str:
        """How the query will be read, as text."""
        return self._native.explain()

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows, batch by batch. Errors keep their type."""
        return _reader(self._stream())

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
        """The rows as a Spark frame, one task for each split."""
        from mortice.spark.read import data_frame

        return data_frame(spark, self)

    def count(self) -> int:
        """How many rows there are. Reads only what is needed to tell."""
        return sum(batch.num_rows for batch in self._remembered(self._without_columns().stream()))

    def report(self) -> dict[str, Any]:
        """What the last reading of this scan met: files, blocks by kind, corrupt blocks, rows.

        Complete once the scan was read to its end.
        """
        if self._last is None:
            raise InvalidArgumentError(
                "nothing has been read yet; report() tells of the last to_arrow(), to_reader(), count(), …"
            )
        return self._last.report()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream().__arrow_c_stream__(requested_schema)

    def _stream(self) -> _mortice.Stream:
        return self._remembered(self._native.stream())

    def _remembered(self, stream: _mortice.Stream) -> _mortice.Stream:
        self._last = stream
        return stream

    def __repr__(self) -> str:
        columns = [f"  {field.name}: {field.type}" for field in self.schema]
        return "\n".join([f"Scan: {self._title}, {len(self._native.splits())} splits", *columns])
