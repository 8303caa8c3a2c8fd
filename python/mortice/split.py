"""The parts of a planned query. Each is one file slice, or a part of one, and complete in itself.

A split pickles, and reads anywhere: another process, a Spark executor.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError

if TYPE_CHECKING:
    from mortice.mergers import Merging

__all__ = ["Split", "reader", "record_batches"]

_WITH_MERGER = b"merger:"
"""What the bytes of a split begin with that has a registered merger; others are JSON."""


def _pickled(value: object) -> bytes:
    """Pickled by value, where there is a library for it: a function of a notebook cannot be imported elsewhere."""
    for module in ("cloudpickle", "pyspark.cloudpickle"):
        try:
            library: Any = import_module(module)
        except ImportError:
            continue
        return bytes(library.dumps(value))
    return pickle.dumps(value)


def record_batches(stream: _mortice.Stream) -> Iterator[pa.RecordBatch]:
    """What is left of a stream; closed when the consumer goes away."""
    try:
        for batch in stream:
            yield pa.record_batch(batch)
    finally:
        stream.close()


def reader(stream: _mortice.Stream) -> pa.RecordBatchReader:
    """A stream as pyarrow reads it."""
    # Not through the C stream: a reader over Python batches lets errors through with their type.
    return pa.RecordBatchReader.from_batches(pa.schema(stream.schema()), record_batches(stream))


class Split:
    """One file slice of a query, or a part of one. Pickles; see `to_reader`."""

    __slots__ = ("_merger", "_native")

    def __init__(self, native: _mortice.Split, merger: Merging | None = None) -> None:
        self._native = native
        self._merger = merger

    @classmethod
    def from_bytes(cls, data: bytes) -> Split:
        """The split that `to_bytes` wrote. One with a registered merger is code: trust who wrote it."""
        if not data.startswith(_WITH_MERGER):
            return cls(_mortice.Split.from_bytes(data))
        native, merger = pickle.loads(data[len(_WITH_MERGER) :])  # noqa: S301
        return cls(_mortice.Split.from_bytes(native, merger), merger)

    def to_bytes(self) -> bytes:
        """A compact form, for shipping, a registered merger included. Only the same release of mortice reads it."""
        native = self._native.to_bytes()
        return native if self._merger is None else _WITH_MERGER + _pickled((native, self._merger))

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
        """Bytes of its base and log files, of a part its share: a measure of the work."""
        return int(self._native.describe()["bytes"])

    def stream(self, start_row: int = 0) -> _mortice.Stream:
        """The rows as a native stream, with a report of the reading."""
        if isinstance(start_row, bool) or not isinstance(start_row, int) or start_row < 0:
            raise InvalidArgumentError(f"start_row is a whole number of 0 or more, not {start_row!r}")
        return self._native.stream(start_row)

    def to_reader(self, start_row: int = 0) -> pa.RecordBatchReader:
        """The rows, the first `start_row` of them left out."""
        return reader(self.stream(start_row))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.stream().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        number, of = self._native.describe()["part"] or (0, 1)
        part = f", part {number + 1} of {of}" if of > 1 else ""
        return f"Split(partition={self.partition!r}, file_id={self.file_id!r}{part}, {self.size} bytes)"
