"""The parts of a planned query. A split is one file slice or a part of one, and is complete in itself.

A split pickles and can be read in any process, such as a Spark executor. It takes some kilobytes, most of which it
shares with the other splits of its query: the table's schema, its merge rules, the completed instants. A pickle of many
splits contains these once and some hundred bytes for each split; see also `serialize_splits`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError
from mortice.values import credentials
from mortice.values.other_names import answering

if TYPE_CHECKING:
    from mortice.reading.mergers import Merging

__all__ = [
    "NumberedQueries",
    "SharedQuery",
    "Split",
    "deserialize_splits",
    "pickled",
    "reader",
    "record_batches",
    "serialize_splits",
]

_WITH_FUNCTIONS = b"functions:"
"""The prefix of serialised splits and queries with user-defined functions; others are JSON."""
_NUMBER_BYTES = 4


def _without_functions(data: bytes, *, functions: bool) -> tuple[bytes, Merging | None]:
    if not data.startswith(_WITH_FUNCTIONS):
        return data, None
    if not functions:
        raise InvalidArgumentError(
            "the bytes contain functions (a registered merger, or one that returns credentials), which are code; "
            "pass functions=True if you trust their source"
        )
    native, merger, supplier = pickle.loads(data[len(_WITH_FUNCTIONS) :])  # noqa: S301
    if supplier is not None:
        credentials.adopt(*supplier)
    return native, merger


def pickled(value: object) -> bytes:
    """Pickles by value if cloudpickle is available: a function of a notebook cannot be imported elsewhere."""
    for module in ("cloudpickle", "pyspark.cloudpickle"):
        try:
            library = import_module(module)
        except ImportError:
            continue
        return bytes(library.dumps(value))
    return pickle.dumps(value)


def record_batches(stream: _mortice.Stream) -> Iterator[pa.RecordBatch]:
    """Yields the remaining batches of a stream, and closes the stream when the consumer stops."""
    try:
        for batch in stream:
            yield pa.record_batch(batch)
    finally:
        stream.close()


def reader(stream: _mortice.Stream) -> pa.RecordBatchReader:
    """Returns a pyarrow reader of a stream."""
    # A reader over Python batches, not over the C stream, raises errors with their own type.
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
    def from_bytes(cls, data: bytes, *, functions: bool = False) -> SharedQuery:
        """Returns the query that `to_bytes` wrote.

        Args:
            data: The bytes. Without functions they are plain data, and may come from anywhere.
            functions: True loads functions in it, which are code: their source must be trusted. False raises
                `InvalidArgumentError` if there are any.
        """
        native, merger = _without_functions(data, functions=functions)
        return cls(_mortice.SharedQuery.from_bytes(native, merger), merger)

    @property
    def native(self) -> _mortice.SharedQuery:
        """The native query."""
        return self._native

    @property
    def merger(self) -> Merging | None:
        """The registered merger."""
        return self._merger

    def to_bytes(self) -> bytes:
        """Serialises the query with its registered merger and credentials function, if there are any.

        Only the same release of mortice can read it.
        """
        return self.with_functions(self._native.to_bytes())

    def with_functions(self, data: bytes) -> bytes:
        """Returns `data` together with the registered merger and the credentials function, if there are any."""
        name = self._native.credentials
        supplier = None if name is None else (name, credentials.supplier_of(name))
        if self._merger is None and supplier is None:
            return data
        return _WITH_FUNCTIONS + pickled((data, self._merger, supplier))

    def split(self, data: bytes) -> Split:
        """Returns the split of this query that `Split.to_bytes_without_query` wrote."""
        return Split(_mortice.Split.with_query(self._native, data), self)

    def __reduce__(self) -> tuple[Callable[[bytes], SharedQuery], tuple[bytes]]:
        return _query_of, (self.to_bytes(),)


@answering
class Split:
    """One file slice of a query, or a part of one. It pickles."""

    __slots__ = ("_native", "_query")

    def __init__(self, native: _mortice.Split, query: SharedQuery) -> None:
        self._native = native
        self._query = query

    @classmethod
    def from_bytes(cls, data: bytes, *, functions: bool = False) -> Split:
        """Returns the split that `to_bytes` wrote.

        Args:
            data: The bytes. Without functions they are plain data, and may come from anywhere: they cannot name a file
                outside of their table, other than the source of a bootstrapped one.
            functions: As for `SharedQuery.from_bytes`.
        """
        complete, merger = _without_functions(data, functions=functions)
        native = _mortice.Split.from_bytes(complete, merger)
        return cls(native, SharedQuery(native.query, merger))

    def to_bytes(self) -> bytes:
        """Serialises the complete split with user-defined functions. Only the same release of mortice can read it.

        To send many splits, pickle a list of them: the pickle contains their query once.
        """
        return self._query.with_functions(self._native.to_bytes())

    def to_bytes_without_query(self) -> bytes:
        """Serialises the split without what it shares with others of its query, for `SharedQuery.split`."""
        return self._native.to_bytes_without_query()

    def __reduce__(self) -> tuple[Callable[[SharedQuery, bytes], Split], tuple[SharedQuery, bytes]]:
        return _split_of, (self._query, self.to_bytes_without_query())

    @property
    def native(self) -> _mortice.Split:
        """The native split."""
        return self._native

    @property
    def query(self) -> SharedQuery:
        """What the split shares with the other splits of its query."""
        return self._query

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows."""
        return pa.schema(self._native.schema())

    @property
    def partition(self) -> str:
        """The partition path."""
        return self._native.partition

    @property
    def file_id(self) -> str:
        """The id of the file group."""
        return self._native.file_id

    @property
    def size(self) -> int:
        """The size of its base and log files in bytes, for a part its share of them: a measure of the work."""
        return self._native.size

    @property
    def log_size(self) -> int:
        """The size of its log files in bytes, which `size` includes."""
        return self._native.log_size

    def stream(self, start_row: int = 0) -> _mortice.Stream:
        """Returns the rows as a native stream, which can report on the read."""
        if isinstance(start_row, bool) or not isinstance(start_row, int) or start_row < 0:
            raise InvalidArgumentError(f"start_row must be an integer of 0 or more, got {start_row!r}")
        return self._native.stream(start_row)

    def to_reader(self, start_row: int = 0) -> pa.RecordBatchReader:
        """Returns a reader of the rows, without the first `start_row` rows."""
        return reader(self.stream(start_row))

    def to_arrow(self) -> pa.Table:
        """Returns the rows as an Arrow table."""
        return self.to_reader().read_all()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.stream().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        number, of = self._native.part or (0, 1)
        part = f", part {number + 1} of {of}" if of > 1 else ""
        return f"Split(partition={self.partition!r}, file_id={self.file_id!r}{part}, {self.size} bytes)"


def _query_of(data: bytes) -> SharedQuery:
    """Returns a query of a process of the same user, as pickle does."""
    return SharedQuery.from_bytes(data, functions=True)


def _split_of(query: SharedQuery, data: bytes) -> Split:
    """Restores a split from a pickle."""
    return query.split(data)


class NumberedQueries:
    """The queries of splits, numbered, to be sent once and apart from the splits.

    Args:
        splits: All splits that will be serialised.
    """

    __slots__ = ("_numbers",)

    def __init__(self, splits: Iterable[Split]) -> None:
        self._numbers: dict[SharedQuery, int] = {}
        for split in splits:
            self._numbers.setdefault(split.query, len(self._numbers))

    def to_bytes(self) -> list[bytes]:
        """Serialises each query."""
        return [query.to_bytes() for query in self._numbers]

    def serialize(self, split: Split) -> bytes:
        """Serialises a split without its query, prefixed with the number of its query, for `deserialize_splits`."""
        return self._numbers[split.query].to_bytes(_NUMBER_BYTES, "big") + split.to_bytes_without_query()


def serialize_splits(splits: Sequence[Split]) -> tuple[list[bytes], list[bytes]]:
    """Returns the queries of the splits, each once, and each split without its query, prefixed with the number of its
    query.

    Splits may be sent separately, provided that all queries are sent along; see `deserialize_splits`.
    """
    queries = NumberedQueries(splits)
    return queries.to_bytes(), [queries.serialize(split) for split in splits]


def deserialize_splits(queries: Sequence[bytes], rests: Iterable[bytes]) -> Iterator[Split]:
    """Yields the splits of `serialize_splits`. A query is deserialised with its first split."""
    known: dict[int, SharedQuery] = {}
    for rest in rests:
        number = int.from_bytes(rest[:_NUMBER_BYTES], "big")
        if number >= len(queries):
            raise InvalidArgumentError(
                f"a split refers to query {number}, but only {len(queries)} queries were given; pass all of them"
            )
        query = known.get(number)
        if query is None:
            query = known[number] = _query_of(queries[number])
        yield query.split(rest[_NUMBER_BYTES:])
