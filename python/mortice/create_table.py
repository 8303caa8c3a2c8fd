"""New tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.options import absolute_uri, checked_count, checked_name, checked_storage_options, checked_string
from mortice.table import Table

__all__ = ["create_table"]

TABLE_TYPES = {"MERGE_ON_READ": True, "COPY_ON_WRITE": False}

Names = str | Sequence[str] | None
"""A column, or several."""


def create_table(
    uri: str | os.PathLike[str],
    schema: Any,
    *,
    name: str | None = None,
    record_key: Names,
    partition_by: Names = None,
    ordering: Names = None,
    table_type: str = "MERGE_ON_READ",
    version: int = 9,
    properties: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Table:
    """Creates an empty Hudi table and opens it.

        >>> import mortice, pyarrow as pa, tempfile
        >>> schema = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
        >>> path = tempfile.mkdtemp() + "/trips"
        >>> table = mortice.create_table(path, schema, name="trips", record_key="id", ordering="ts")
        >>> table.version, table.merge_mode, table.snapshot().to_arrow().num_rows
        (9, 'EVENT_TIME_ORDERING', 0)

    Hudi 1.2 reads and writes a table of version 9, Hudi 1.0 one of version 8, Hudi 0.15 one of version 6. The table
    exists when `hoodie.properties` does, which is created at once: a process that stops before leaves no table.

    Args:
        uri: Where the table is to be; a path or a URI (docs/storage.md). The folder may hold other files.
        schema: The columns, without Hudi's meta columns; a `pyarrow.Schema`, or what has `__arrow_c_schema__`.
        name: The table's name. Default: the last part of `uri`.
        record_key: The column or columns of the record key; a name with dots is a field of a struct. None has Hudi
            generate keys.
        partition_by: The partition column or columns. None: the table is not partitioned.
        ordering: The ordering column or columns (`precombine`); several from version 9 on. With some, records are
            merged by event time, otherwise by commit time, unless `properties` say otherwise.
        table_type: `MERGE_ON_READ` or `COPY_ON_WRITE`.
        version: The table version: 9, 8 or 6.
        properties: Further properties by Hudi's names, such as `hoodie.record.merge.mode` or
            `hoodie.datasource.write.hive_style_partitioning`. Others are refused by name.
        storage_options: Options of the storage (docs/storage.md).

    Returns:
        The table.

    Raises:
        TableExistsError: There is a table already.
        InvalidArgumentError: A field is not a column, or the properties contradict each other.
        UnsupportedError: A version, table type or property that tables of this release cannot have.
    """
    kind = str(table_type).upper()
    if kind not in TABLE_TYPES:
        raise InvalidArgumentError(f"table_type must be one of {', '.join(TABLE_TYPES)}, got {table_type!r}")
    if checked_count("version", version) not in {6, 8, 9}:
        raise UnsupportedError(f"unsupported version {version} of a new table (supported: 6, 8, 9)")
    _mortice.create_table(
        absolute_uri(uri),
        _arrow_schema(schema).empty_table(),
        checked_storage_options(storage_options),
        name=checked_name("name", PurePosixPath(absolute_uri(uri)).name if name is None else name),
        record_key=_names("record_key", record_key),
        partition_by=_names("partition_by", partition_by),
        ordering=_names("ordering", ordering),
        merge_on_read=TABLE_TYPES[kind],
        version=version,
        properties=_properties(properties),
    )
    return Table(uri, storage_options=storage_options)


def _arrow_schema(schema: Any) -> pa.Schema:
    if isinstance(schema, pa.Schema):
        return schema
    if not hasattr(schema, "__arrow_c_schema__"):
        raise InvalidArgumentError(
            f"schema must be an Arrow schema, got {type(schema).__name__}; that of rows is pyarrow.table(rows).schema, "
            "and upsert(rows) writes them"
        )
    return pa.schema(schema)


def _names(argument: str, given: Names) -> list[str]:
    if not isinstance(given, (str, Sequence, type(None))) or isinstance(given, (bytes, bytearray)):
        raise InvalidArgumentError(f"{argument} must be a column name or a list of them, got {given!r}")
    names = [given] if isinstance(given, str) else list(given or ())
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError(f"{argument} must be a column name or a list of them, got {given!r}")
        checked_string(argument, name)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidArgumentError(f"{argument} names {', '.join(map(repr, twice))} more than once")
    return names


def _properties(given: Mapping[str, Any] | None) -> dict[str, str]:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidArgumentError(f"properties must be a mapping of names to values, got {type(given).__name__}")
    checked = {}
    for name, value in (given or {}).items():
        if not isinstance(name, str) or not isinstance(value, (str, bool, int)):
            raise InvalidArgumentError(f"properties must map names to strings, got {name!r}: {value!r}")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        checked[checked_string("properties", name)] = checked_string(name, text)
    return checked
