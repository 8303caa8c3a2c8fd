"""New tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeAlias

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.table import Table
from mortice.values.argument_types import ArrowSchema, Options, Rows, StorageOptions
from mortice.values.observe import observed
from mortice.values.options import (
    absolute_uri,
    checked_count,
    checked_name,
    checked_names,
    checked_storage_options,
    checked_string,
)
from mortice.values.other_names import hinted
from mortice.values.type_names import META_COLUMNS, arrow_type, columns_of_text
from mortice.writing.row_input import arrow_rows, check_names
from mortice.writing.writes import checked_options

__all__ = ["bootstrap", "create_table"]

TABLE_TYPES = {"MERGE_ON_READ": True, "COPY_ON_WRITE": False}
SHORT_TYPES = {"MOR": "MERGE_ON_READ", "COW": "COPY_ON_WRITE"}

SchemaLike: TypeAlias = (
    pa.Schema | ArrowSchema | Mapping[str, pa.DataType | str] | Sequence[pa.Field | tuple[str, pa.DataType | str]] | str
)
"""Columns, in the forms that `create_table` takes."""
Names = str | Sequence[str] | None
"""A column, or several."""


@hinted
def create_table(
    uri: str | os.PathLike[str],
    schema: SchemaLike | Rows | None = None,
    *,
    data: Rows | None = None,
    name: str | None = None,
    record_key: Names,
    partition_by: Names = None,
    ordering: Names = None,
    table_type: str = "MERGE_ON_READ",
    version: int = 9,
    properties: Options | None = None,
    storage_options: StorageOptions | None = None,
) -> Table:
    """Creates a Hudi table and opens it.

        >>> import mortice, pyarrow as pa, tempfile
        >>> schema = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
        >>> path = tempfile.mkdtemp() + "/trips"
        >>> table = mortice.create_table(path, schema, name="trips", record_key="id", ordering="ts")
        >>> table.version, table.merge_mode, table.snapshot().to_arrow().num_rows
        (9, 'EVENT_TIME_ORDERING', 0)

    With rows (`data`, or in place of the schema) the table has them: they are upserted as its first commit, or inserted
    if keys are generated.

        mortice.create_table("/lake/trips", frame, record_key="id")

    Hudi 1.2 reads and writes a table of version 9, Hudi 1.0 one of version 8, Hudi 0.15 one of version 6. The table
    exists when `hoodie.properties` does, which is created at once: a process that stops before leaves no table.

    Args:
        uri: Where the table is to be; a path or a URI (docs/storage.md). The folder may hold other files.
        schema: The columns, without Hudi's meta columns; a `pyarrow.Schema`, or what has `__arrow_c_schema__`; names
            and types, as a mapping or as text (`"id string not null, fare double"`). Default: those of `data`. Rows are
            taken as `data`.
        data: The first rows, in a form that `Table.upsert` takes. If they are refused the table exists, and is empty.
        name: The table's name. Default: the last part of `uri`.
        record_key: The column or columns of the record key; a name with dots is a field of a struct. None has Hudi
            generate keys.
        partition_by: The partition column or columns. None: the table is not partitioned.
        ordering: The ordering column or columns (`precombine`); several from version 9 on. With some, records are
            merged by event time, otherwise by commit time, unless `properties` say otherwise.
        table_type: `MERGE_ON_READ` or `COPY_ON_WRITE`, also `MOR` and `COW`.
        version: The table version: 10, 9, 8 or 6.
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
    kind = SHORT_TYPES.get(str(table_type).upper(), str(table_type).upper())
    if kind not in TABLE_TYPES:
        raise InvalidArgumentError(f"table_type must be one of {', '.join(TABLE_TYPES)}, got {table_type!r}")
    if checked_count("version", version) not in {6, 8, 9, 10}:
        raise UnsupportedError(f"unsupported version {version} of a new table (supported: 6, 8, 9, 10)")
    if data is None and _are_rows(schema):
        schema, data = None, schema
    given = None if schema is None else _arrow_schema(schema)
    rows = None if data is None else _known_rows(data, given)
    columns = _columns_of_rows(rows) if given is None else given
    with observed("create_table", absolute_uri(uri)) as operation:
        _mortice.create_table(
            absolute_uri(uri),
            columns.empty_table(),
            checked_storage_options(storage_options),
            name=checked_name("name", PurePosixPath(absolute_uri(uri)).name if name is None else name),
            record_key=checked_names("record_key", record_key),
            partition_by=checked_names("partition_by", partition_by),
            ordering=checked_names("ordering", ordering),
            merge_on_read=TABLE_TYPES[kind],
            version=version,
            properties=_properties(properties),
        )
        table = operation.done(Table(uri, storage_options=storage_options))
    if rows is not None:
        try:
            _ = table.upsert(rows) if table.record_key_fields else table.insert(rows)
        except (InvalidArgumentError, UnsupportedError) as error:
            error.args = (f"{error.message}; the table was created, and is empty: write rows with its upsert",)
            raise
    return table


@hinted
def bootstrap(
    uri: str | os.PathLike[str],
    source: str | os.PathLike[str],
    options: Options,
    *,
    full: bool = False,
    storage_options: StorageOptions | None = None,
) -> Table:
    """Makes a Hudi table of a folder of Parquet files, and opens it.

    The files stay where they are, and the table has a skeleton with keys for each of them (a metadata-only bootstrap);
    with `full` all rows are written to the table. Columns are those of the files, then the partition columns that only
    their folders name (`day=2026-01-01`).

    Args:
        uri: Where the table is to be.
        source: The folder of the files.
        options: Options of the table and the write, by Hudi's names: at least
            `hoodie.datasource.write.recordkey.field`; partition columns, ordering, table type. `hoodie.table.name` is
            by default the last part of `uri`.
        full: True to write all rows to the table.
        storage_options: Options of the storage of both.

    Returns:
        The table.

    Raises:
        TableExistsError: There is a table with commits already.
        InvalidArgumentError: The options describe no table of these files.
    """
    target = absolute_uri(uri)
    given = {"hoodie.table.name": PurePosixPath(target).name, **checked_options(options)}
    given["hoodie.bootstrap.base.path"] = absolute_uri(source)
    if full:
        given["hoodie.bootstrap.mode.selector"] = "FULL_RECORD"
    with observed("bootstrap", target) as operation:
        operation.done(_mortice.bootstrap(target, checked_storage_options(storage_options), given))
    return Table(uri, storage_options=storage_options)


def _are_rows(given: object) -> bool:
    """Returns true for what is rows, and no columns, in place of the schema."""
    if isinstance(given, Mapping):
        return any(not isinstance(one, (str, pa.DataType)) for one in given.values())
    if isinstance(given, (list, tuple)):
        return any(isinstance(one, Mapping) for one in given)
    # A LazyFrame of polars has the last one alone.
    return any(hasattr(given, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "collect_schema"))


def _arrow_schema(schema: object) -> pa.Schema:
    columns = _columns(schema)
    check_names(columns)
    return columns


def _columns(schema: object) -> pa.Schema:
    if isinstance(schema, pa.Schema):
        return schema
    if isinstance(schema, str):
        return columns_of_text(schema, "schema", "columns such as 'id string, fare double'")
    if hasattr(schema, "__arrow_c_schema__") and not hasattr(schema, "__arrow_c_stream__"):
        return pa.schema(schema)
    if isinstance(schema, (list, tuple)) and all(isinstance(one, pa.Field) for one in schema):
        return pa.schema(schema)
    given = list(schema.items()) if isinstance(schema, Mapping) else schema
    pairs: Sequence[Any] = given if isinstance(given, (list, tuple)) else [None]
    if not all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):  # noqa: PLR2004
        raise InvalidArgumentError(
            "schema must be an Arrow schema, names and types ({'id': 'string', 'fare': 'double'}), or text ('id "
            f"string, fare double'), got {type(schema).__name__}; for rows use data=rows, whose columns the table gets"
        )
    return pa.schema([pa.field(name, arrow_type(name, kind, "schema")) for name, kind in pairs])


def _known_rows(data: Rows, schema: pa.Schema | None) -> Any:
    """Returns rows as Arrow data, whose columns are known before they are read.

    Args:
        data: The rows.
        schema: The columns of the table; None if they are those of the rows.
    """
    rows = arrow_rows(data, lambda: pa.schema([]) if schema is None else schema)
    if hasattr(rows, "__arrow_c_schema__"):
        return rows
    try:
        # Some streams can be read once only.
        return pa.RecordBatchReader.from_stream(rows) if hasattr(rows, "__arrow_c_stream__") else pa.record_batch(rows)
    except (pa.ArrowException, TypeError) as error:
        raise InvalidArgumentError(f"the rows cannot be read: {error}") from error


def _columns_of_rows(rows: Any) -> pa.Schema:
    """Returns the columns of rows, without Hudi's meta columns and the index of a DataFrame of pandas."""
    if rows is None:
        raise InvalidArgumentError("a table needs a schema, or data, whose schema it gets")
    schema = pa.schema(rows) if hasattr(rows, "__arrow_c_schema__") else rows.schema
    fields = [one for one in schema if one.name not in META_COLUMNS and not one.name.startswith("__index_level_")]
    if not fields:
        raise InvalidArgumentError("the data has no columns; a table needs a schema, or data, whose schema it gets")
    for field in fields:
        if pa.types.is_null(field.type):
            raise InvalidArgumentError(
                f"the column {field.name!r} of the data is always null and has no type; give the columns as schema"
            )
    return pa.schema(fields)


def _properties(given: Options | None) -> dict[str, str]:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidArgumentError(f"properties must be a mapping of names to values, got {type(given).__name__}")
    checked = {}
    for name, value in (given or {}).items():
        if not isinstance(name, str) or not isinstance(value, (str, bool, int)):
            raise InvalidArgumentError(f"properties must map names to strings, got {name!r}: {value!r}")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        checked[checked_string("properties", name)] = checked_string(name, text)
    return checked
