"""Reads all files of a table in search of values: decoded columns and statistics, and bytes where they are plain."""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mortice.errors import MorticeError
from mortice.expressions.filters import Filters
from mortice.reading.log_file import Block, LogFile
from mortice.values.timeline import Timeline

__all__ = [
    "Erased",
    "Remains",
    "distinct_values",
    "is_in_records",
    "remaining_files",
    "search_files",
    "searched_columns",
]

RECORD_KEY = "_hoodie_record_key"
LEAST_BYTES = 4
"""Shorter values are searched for in columns only: bytes are like them by chance."""
_MOST_VALUES = 100_000
_OWN = ("_hoodie_record_key",)


@dataclass(frozen=True)
class Erased:
    """The values that no file may have: by column, and as bytes."""

    rows: int
    by_column: dict[str, pa.Array]

    @classmethod
    def of_values(
        cls,
        rows: int,
        values: Mapping[str, pa.Array],
        terms: Sequence[Sequence[tuple[str | tuple[str, ...], str, Any]]],
        table: tuple[pa.Schema, Sequence[str]],
    ) -> Erased:
        """Returns the values of rows to erase, and the constants of the filters that select them.

        Args:
            rows: The number of rows.
            values: Their distinct values.
            terms: The filters.
            table: The columns of the table, and the partition columns, whose values other rows share.
        """
        (schema, partitions), found = table, dict(values)
        for column, operator, literal in (term for all_of in terms for term in all_of):
            literals = literal if operator == "in" else [literal] if operator == "=" else []
            if literals and isinstance(column, str) and column in schema.names and column not in partitions:
                new = pa.array(literals).cast(schema.field(column).type)
                found[column] = pc.unique(pa.concat_arrays([found[column], new])) if column in found else new
        return cls(rows, {name: values for name, values in found.items() if len(values)})

    def without_shared(self, values_of: Callable[[Sequence[str], Filters], Mapping[str, pa.Array]]) -> Erased:
        """Returns the values without those that other rows have. Record keys stay, as no other row has them.

        Args:
            values_of: Returns the distinct values of columns of the rows that filters select.
        """
        kept = {}
        for name, values in self.by_column.items():
            shared = values_of([name], [[(name, "in", values.to_pylist()[:_MOST_VALUES])]])
            kept[name] = values.filter(pc.invert(pc.is_in(values, shared[name]))) if name in shared else values
        return Erased(self.rows, {name: values for name, values in kept.items() if len(values)})

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(len(values) for values in self.by_column.values())

    def byte_strings(self) -> list[bytes]:
        """Returns the values as the bytes that they have where they are stored plainly."""
        plain = (value for values in self.by_column.values() for value in values.to_pylist())
        byte_strings = {
            value.encode() if isinstance(value, str) else value for value in plain if isinstance(value, (str, bytes))
        }
        return sorted(text for text in byte_strings if len(text) >= LEAST_BYTES)


@dataclass
class Remains:
    """What was read, and the files in which values were found."""

    files: int = 0
    bytes: int = 0
    found: list[str] = field(default_factory=list)


def distinct_values(batches: Iterable[pa.RecordBatch]) -> dict[str, pa.Array]:
    """Returns the distinct values, without null, of each column of batches, which may have different columns."""
    found: dict[str, pa.Array] = {}
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            values = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
            new = pc.unique(values).drop_null()
            found[name] = pc.unique(pa.concat_arrays([found[name], new])) if name in found else new
    return found


def searched_columns(schema: pa.Schema, partitions: Sequence[str]) -> list[str]:
    """Returns the columns whose values are searched for: those of strings and binary values.

    Args:
        schema: The columns of a table, with meta columns.
        partitions: The partition columns.
    """
    own = (field for field in schema if field.name in _OWN or not field.name.startswith("_hoodie_"))
    kinds = (pa.types.is_string, pa.types.is_binary)
    return [field.name for field in own if field.name not in partitions and any(kind(field.type) for kind in kinds)]


def is_in_records(batches: Iterable[pa.RecordBatch], erased: Erased) -> bool:
    """Returns whether records of the metadata table, which are compressed in its files, have a value of erased rows."""
    strings = [text.decode(errors="replace") for text in erased.byte_strings()]
    lines = (json.dumps(batch.to_pylist(), default=_shown, ensure_ascii=False) for batch in batches)
    return any(text in line for line in lines for text in strings)


def remaining_files(
    folder: Path,
    erased: Erased,
    timeline: Timeline,
    search: Callable[[Sequence[Path], Erased], Iterable[tuple[Path, str]]],
) -> Remains:
    """Reads all files of a table, and returns those that have a value of erased rows.

    Args:
        folder: The table's base path.
        erased: The values.
        timeline: The table's timeline.
        search: Yields the files that have values, and how.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    remains = Remains(len(paths), sum(path.stat().st_size for path in paths))
    remains.found = [f"{path.relative_to(folder)} ({why})" for path, why in search(paths, erased)]
    for why in _in_timeline(timeline, erased.byte_strings()):
        remains.found.append(f".hoodie ({why})")
    return remains


def search_files(paths: Iterable[Path], erased: Erased) -> Iterator[tuple[Path, str]]:
    """Reads files. Yields those that have values of erased rows, and how."""
    byte_strings = erased.byte_strings()
    for path in paths:
        why = _found_in(path, erased, byte_strings)
        if why is not None:
            yield path, why


def _found_in(path: Path, erased: Erased, byte_strings: Sequence[bytes]) -> str | None:
    """Returns how a file has a value; None if it has none."""
    plain = _plain(path, byte_strings)
    if path.suffix == ".parquet" and "history" not in path.parts:
        column = _in_parquet(path, erased)
        if column is not None:
            return f"column {column!r}"
        return f"the bytes of {len(plain)} values" if plain and not _explained(path, plain) else None
    if ".log." in path.name and "metadata" not in path.parts:
        column = _in_log(path, erased)
        if column is not None:
            return f"column {column!r}"
    return f"the bytes of {len(plain)} values" if plain else None


def _plain(path: Path, byte_strings: Sequence[bytes]) -> list[bytes]:
    if not path.stat().st_size:
        return []
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return [text for text in byte_strings if mapped.find(text) >= 0]


def _in_parquet(path: Path, erased: Erased) -> str | None:
    file = pq.ParquetFile(path)
    for name, values in erased.by_column.items():
        if name not in file.schema_arrow.names:
            continue
        for batch in file.iter_batches(columns=[name]):
            if _has(batch.column(0), values):
                return name
    return None


def _in_log(path: Path, erased: Erased) -> str | None:
    log = LogFile(path)
    for block in log.blocks():
        for name, values in erased.by_column.items():
            for column in _columns_of(log, block, name):
                if _has(column, values):
                    return name
    return None


def _columns_of(log: LogFile, block: Block, name: str) -> Iterator[pa.Array]:
    if "DELETE" in str(block.type).upper():
        if name == RECORD_KEY:
            yield log.deletes(block).column("record_key")
    elif "DATA" in str(block.type).upper():
        for batch in log.record_batches(block):
            if name in batch.schema.names:
                yield batch.column(name)


def _has(column: pa.Array, values: pa.Array) -> bool:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        return bool(pc.any(pc.is_in(column, values.cast(column.type))).as_py())
    except pa.ArrowException:
        return False


def _explained(path: Path, plain: Sequence[bytes]) -> bool:
    """Returns whether values of other columns, or of rows that remain, contain the bytes."""
    file = pq.ParquetFile(path)
    left = set(plain)
    for batch in file.iter_batches():
        for column in batch.columns:
            if pa.types.is_string(column.type):
                left -= {text for text in left if pc.any(pc.match_substring(column, text.decode())).as_py()}
    return not left


def _in_timeline(timeline: Timeline, byte_strings: Sequence[bytes]) -> Iterator[str]:
    """Yields which instants, active and archived, have values in their metadata."""
    for instant in timeline:
        for read in (timeline.metadata, timeline.plan):
            try:
                stored: Mapping[str, Any] | None = read(instant)
            except MorticeError:
                continue
            text = json.dumps(stored, ensure_ascii=False)
            if any(value.decode(errors="replace") in text for value in byte_strings):
                yield f"the {instant.action} {instant.requested_time}"


def _shown(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
