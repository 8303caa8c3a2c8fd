"""The parts of a planned query. Each is one file slice, or a part of one, and complete in itself.

A split pickles, and can be read anywhere: in another process, in a Spark executor. It takes some kilobytes, most of
which it shares with the other splits of its query: the table's schema, its merge rules, the completed instants. In one
pickle of many splits that is contained once, and each split takes some hundred bytes more; see also `serialize_splits`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice import _mortice, credentials
from mortice.errors import InvalidArgumentError

if TYPE_CHECKING:
    from mortice.mergers import Merging

__all__ = ["SharedQuery", "Split", "deserialize_splits", "reader", "record_batches", "serialize_splits"]

_WITH_FUNCTIONS = b"functions:"
"""What the bytes of a split or a query begin with that has functions of the user's; others are JSON."""
_NUMBER_BYTES = 4


def _without_functions(data: bytes) -> tuple[bytes, Merging | None]:
    if not data.startswith(_WITH_FUNCTIONS):
        return data, None
    native, merger, supplier = pickle.loads(data[len(_WITH_FUNCTIONS) :])  # noqa: S301
    if supplier is not None:
        credentials.adopt(*supplier)
    return native, merger


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


class SharedQuery:
    """What the splits of a query have in common: schema, projection, filter, merge rules, a registered merger.

    All splits of a scan hold the same object, so that one pickle of many splits contains it once.
    """

    __slots__ = ("_merger", "_native")

    def __init__(self, native: _mortice.SharedQuery, merger: Merging | None = None) -> None:
        self._native = native
        self._merger = merger

    @classmethod
    def from_bytes(cls, data: bytes) -> SharedQuery:
        """The query that `to_bytes` wrote. One with a function of the user's is code: trust who wrote it."""
        native, merger = _without_functions(data)
        return cls(_mortice.SharedQuery.from_bytes(native, merger), merger)

    def to_bytes(self) -> bytes:
        """The serialised query, a registered merger and a function that supplies credentials included.

        Only the same release of mortice reads it.
        """
        return self.with_functions(self._native.to_bytes())

    def with_functions(self, data: bytes) -> bytes:
        """`data` with the registered merger and the function that supplies credentials, if there are any."""
        name = self._native.credentials
        supplier = None if name is None else (name, credentials.supplier_of(name))
        if self._merger is None and supplier is None:
            return data
        return _WITH_FUNCTIONS + _pickled((data, self._merger, supplier))

    def split(self, data: bytes) -> Split:
        """The split of this query that `Split.to_bytes_without_query` wrote."""
        return Split(_mortice.Split.with_query(self._native, data), self)

    def __reduce__(self) -> tuple[Callable[[bytes], SharedQuery], tuple[bytes]]:
        return SharedQuery.from_bytes, (self.to_bytes(),)


class Split:
    """One file slice of a query, or a part of one. Pickles; see `to_reader`."""

    __slots__ = ("_native", "_query")

    def __init__(self, native: _mortice.Split, query: SharedQuery) -> None:
        self._native = native
        self._query = query

    @classmethod
    def from_bytes(cls, data: bytes) -> Split:
        """The split that `to_bytes` wrote. One with a function of the user's is code: trust who wrote it."""
        complete, merger = _without_functions(data)
        native = _mortice.Split.from_bytes(complete, merger)
        return cls(native, SharedQuery(native.query, merger))

    def to_bytes(self) -> bytes:
        """The split, complete by itself, functions of the user's included. Only the same release of mortice reads it.

        Of many splits, send a list of them as one pickle, which contains their query once.
        """
        return self._query.with_functions(self._native.to_bytes())

    def to_bytes_without_query(self) -> bytes:
        """The split without what it shares with the others of its query, for `SharedQuery.split`."""
        return self._native.to_bytes_without_query()

    def __reduce__(self) -> tuple[Callable[[SharedQuery, bytes], Split], tuple[SharedQuery, bytes]]:
        return _split_of, (self._query, self.to_bytes_without_query())

    @property
    def query(self) -> SharedQuery:
        """What it shares with the other splits of its query."""
        return self._query

    @property
    def schema(self) -> pa.Schema:
        """The schema of its rows."""
        return pa.schema(self._native.schema())

    @property
    def partition(self) -> str:
        """The partition path."""
        return self._native.partition

    @property
    def file_id(self) -> str:
        """The file group."""
        return self._native.file_id

    @property
    def size(self) -> int:
        """Bytes of its base and log files, of a part its share: a measure of the work."""
        return self._native.size

    @property
    def log_size(self) -> int:
        """Bytes of its log files, which `size` includes."""
        return self._native.log_size

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
        number, of = self._native.part or (0, 1)
        part = f", part {number + 1} of {of}" if of > 1 else ""
        return f"Split(partition={self.partition!r}, file_id={self.file_id!r}{part}, {self.size} bytes)"


def _split_of(query: SharedQuery, data: bytes) -> Split:
    """For pickles."""
    return query.split(data)


def serialize_splits(splits: Iterable[Split]) -> tuple[list[bytes], list[bytes]]:
    """The queries of splits, each once, and the splits without them, each behind the number of its query.

    Splits may be sent apart, as long as all queries are sent along; see `deserialize_splits`.
    """
    numbers: dict[SharedQuery, int] = {}
    rests = []
    for split in splits:
        number = numbers.setdefault(split.query, len(numbers))
        rests.append(number.to_bytes(_NUMBER_BYTES, "big") + split.to_bytes_without_query())
    return [query.to_bytes() for query in numbers], rests


def deserialize_splits(queries: Sequence[bytes], rests: Iterable[bytes]) -> Iterator[Split]:
    """The splits that `serialize_splits` took apart. A query is deserialised when its first split is."""
    known: dict[int, SharedQuery] = {}
    for rest in rests:
        number = int.from_bytes(rest[:_NUMBER_BYTES], "big")
        if number >= len(queries):
            raise InvalidArgumentError(f"a split of query {number}, but only {len(queries)} queries were sent along")
        query = known.get(number)
        if query is None:
            query = known[number] = SharedQuery.from_bytes(queries[number])
        yield query.split(rest[_NUMBER_BYTES:])
