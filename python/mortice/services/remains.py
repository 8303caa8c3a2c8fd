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
from mortice.log_file import LogFile
from mortice.timeline import Timeline

__all__ = ["Erased", "Remains", "remaining_files"]

RECORD_KEY = "_hoodie_record_key"
LEAST_BYTES = 4
"""Shorter values are searched for in columns only: bytes are like them by chance."""
_MOST_VALUES = 100_000
_OWN = ("_hoodie_record_key",)


@dataclass(frozen=True)
class Erased:
    """The values that no file may have: by column, and as bytes."""

    rows: int
    by_column: dict[str, pa.Array[Any]]

    @classmethod
    def of_rows(cls, rows: pa.Table, terms: Sequence[Sequence[Any]], partitions: Sequence[str]) -> Erased:
        """Returns the values of rows to erase, and the constants of the filters that select them.

        Args:
            rows: The rows, with meta columns.
            terms: The filters.
            partitions: The partition columns, whose values other rows share.
        """
        found: dict[str, pa.Array[Any]] = {}
        for name in rows.schema.names:
            is_own = name in _OWN or not name.startswith("_hoodie_")
            kind = rows.schema.field(name).type
            if is_own and name not in partitions and (pa.types.is_string(kind) or pa.types.is_binary(kind)):
                values = pc.unique(rows.column(name)).drop_null()
                found[name] = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        for column, operator, literal in (term for all_of in terms for term in all_of):
            literals = literal if operator == "in" else [literal] if operator == "=" else []
            if literals and column in rows.schema.names and column not in partitions:
                new = pa.array(literals).cast(rows.schema.field(column).type)
                found[column] = pc.unique(pa.concat_arrays([found[column], new])) if column in found else new
        return cls(rows.num_rows, {name: values for name, values in found.items() if len(values)})

    def without_shared(self, snapshot: Callable[..., Any]) -> Erased:
        """Returns the values without those that other rows have. Record keys stay, as no other row has them."""
        kept = {}
        for name, values in self.by_column.items():
            shared = snapshot(columns=[name], filters=[(name, "in", values.to_pylist()[:_MOST_VALUES])]).to_arrow()
            kept[name] = values.filter(pc.invert(pc.is_in(values, shared.column(name).combine_chunks())))
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

    def add_metadata(self, batches: Iterable[pa.RecordBatch], erased: Erased) -> None:
        """Adds the metadata table, if its records, which are compressed in its files, have a value.

        Args:
            batches: Its records.
            erased: The values.
        """
        strings = [text.decode(errors="replace") for text in erased.byte_strings()]
        for batch in batches:
            lines = json.dumps(batch.to_pylist(), default=_shown, ensure_ascii=False)
            if any(text in lines for text in strings):
                self.found.append(".hoodie/metadata (its statistics)")
                return


def remaining_files(folder: Path, erased: Erased, timeline: Timeline) -> Remains:
    """Reads all files of a table, and returns those that have a value of erased rows.

    Args:
        folder: The table's base path.
        erased: The values.
        timeline: The table's timeline.
    """
    remains, byte_strings = Remains(), erased.byte_strings()
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        remains.files += 1
        remains.bytes += path.stat().st_size
        why = _found_in(path, erased, byte_strings)
        if why is not None:
            remains.found.append(f"{path.relative_to(folder)} ({why})")
    for why in _in_timeline(timeline, byte_strings):
        remains.found.append(f".hoodie ({why})")
    return remains


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


def _columns_of(log: LogFile, block: Any, name: str) -> Iterator[pa.Array[Any]]:
    if "DELETE" in str(block.type).upper():
        if name == RECORD_KEY:
            yield log.deletes(block).column("record_key")
    elif "DATA" in str(block.type).upper():
        for batch in log.record_batches(block):
            if name in batch.schema.names:
                yield batch.column(name)


def _has(column: pa.Array[Any], values: pa.Array[Any]) -> bool:
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
