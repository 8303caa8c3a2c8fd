"""Names of types and columns: Spark's (`id string not null, fare double, price decimal(10,2)`), and Hudi's columns."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa

from mortice.errors import InvalidArgumentError

__all__ = ["META_COLUMNS", "arrow_type", "columns_of_text", "type_of_name", "without_meta"]

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
"""The columns that Hudi adds to each row: its commit, its key, its partition and its file."""
TYPES = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
OTHER_NAMES = {
    "bool": pa.bool_(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "utf8": pa.string(),
    "date32": pa.date32(),
    "integer": pa.int32(),
    "real": pa.float32(),
    "varchar": pa.string(),
    "text": pa.string(),
}
"""Other names of Arrow and SQL for the same types."""
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_COLUMN = re.compile(r"\s*(\S+)\s+(\w+(?:\(\d+,\s*\d+\))?)(\s+not\s+null)?\s*", re.IGNORECASE)


def columns_of_text(text: str, argument: str, what: str) -> pa.Schema:
    """Returns the columns that `name type, name type not null` describes.

    Args:
        text: The text.
        argument: The name of the argument, for errors.
        what: What the argument may be, for errors.

    Raises `InvalidArgumentError`.
    """
    fields = []
    # A comma between parentheses belongs to a decimal type.
    for part in re.split(r",(?![^(]*\))", text):
        matched = _COLUMN.fullmatch(part)
        kind = None if matched is None else type_of_name(matched[2], argument)
        if matched is None or kind is None:
            raise InvalidArgumentError(
                f"{argument} must be {what}, got {part.strip()!r}; types are {', '.join(TYPES)} and decimal(p,s)"
            )
        fields.append(pa.field(matched[1], kind, nullable=matched[3] is None))
    return pa.schema(fields)


def type_of_name(name: str, argument: str) -> pa.DataType | None:
    """Returns the type that a name stands for, in any case; None if there is none.

    Args:
        name: The name.
        argument: The name of the argument, for errors.

    Raises `InvalidArgumentError` for a decimal that does not exist.
    """
    small = name.strip().lower()
    decimal = _DECIMAL.fullmatch(small)
    if decimal is None:
        return TYPES.get(small) or OTHER_NAMES.get(small)
    try:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    except ValueError as error:
        raise InvalidArgumentError(f"{argument}: {name}: {error}") from error


def arrow_type(path: object, kind: object, argument: str) -> pa.DataType:
    """Returns the type of a column: a type of pyarrow, or the name of one.

    Args:
        path: The column.
        kind: The type, or its name.
        argument: The name of the argument, for errors.

    Raises `InvalidArgumentError`.
    """
    if isinstance(kind, pa.DataType):
        return kind
    known = type_of_name(kind, argument) if isinstance(kind, str) else None
    if known is None:
        raise InvalidArgumentError(
            f"{argument} maps columns to types, got {path!r}: {kind!r}; types are those of pyarrow, or the names "
            f"{', '.join(TYPES)} and decimal(p,s)"
        )
    return known


def without_meta(names: Iterable[str]) -> list[str]:
    """Returns the names that are not those of meta columns."""
    return [name for name in names if name not in META_COLUMNS]
