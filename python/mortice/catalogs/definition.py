"""What a catalog has of a Hudi table, as Hudi's sync tool registers it, and what a sync needs of a catalog.

Columns have Hive's types, and Spark's JSON. Queries return all columns as nullable, as Hudi's do; the schema in a
catalog says what the writer said, by the Avro schema that commits carry. `hive_metastore` and `glue` are the catalogs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from mortice.catalogs.options import SyncOptions
from mortice.errors import UnsupportedError
from mortice.values.meta_columns import META_COLUMNS

_HIVE = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int8, "int"),
    (pa.types.is_int16, "int"),
    (pa.types.is_int32, "int"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_string, "string"),
    (pa.types.is_large_string, "string"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_large_binary, "binary"),
    (pa.types.is_fixed_size_binary, "binary"),
    (pa.types.is_date32, "date"),
)
_SPARK_NAMES = {"int": "integer", "bigint": "long"}
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def hive_type(kind: pa.DataType, timestamps: bool) -> str:
    """Returns Hive's name of a type. Raises `UnsupportedError` if it has none.

    Args:
        kind: The type of a column.
        timestamps: False returns `bigint` for timestamps, as Hudi's tool does by default.
    """
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        # Hudi's tool knows microseconds only: milliseconds remain numbers.
        return "timestamp" if timestamps and kind.unit == "us" else "bigint"
    if pa.types.is_time(kind):
        return "bigint" if pa.types.is_time64(kind) else "int"
    if any(is_list(kind) for is_list in _LISTS):
        return f"array<{hive_type(kind.value_type, timestamps)}>"
    if pa.types.is_map(kind):
        return f"map<{hive_type(kind.key_type, timestamps)},{hive_type(kind.item_type, timestamps)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{one.name}:{hive_type(one.type, timestamps)}' for one in kind)}>"
    for matches, name in _HIVE:
        if matches(kind):
            return name
    raise UnsupportedError(f"a catalog has no type for {kind}")


def spark_schema(fields: list[pa.Field]) -> str:
    """Returns the columns as Spark's JSON, in the spelling of Hudi's tool (`Parquet2SparkSchemaUtils`)."""
    return _struct(fields)


def _struct(fields: list[pa.Field]) -> str:
    columns = (
        f'{{"name":{json.dumps(one.name, ensure_ascii=False)},"type":{_spark_type(one.type)},'
        f'"nullable":{_json(one.nullable)},"metadata":{{}}}}'
        for one in fields
    )
    return f'{{"type":"struct","fields":[{",".join(columns)}]}}'


def _spark_type(kind: pa.DataType) -> str:
    if any(is_list(kind) for is_list in _LISTS):
        item = kind.value_field
        return f'{{"type":"array", "elementType":{_spark_type(item.type)},"containsNull":{_json(item.nullable)}}}'
    if pa.types.is_map(kind):
        key, value = _spark_type(kind.key_type), _spark_type(kind.item_type)
        nullable = _json(kind.item_field.nullable)
        return f'{{"type":"map", "keyType":{key},"valueType":{value},"valueContainsNull":{nullable}}}'
    if pa.types.is_struct(kind):
        return _struct(list(kind))
    if pa.types.is_timestamp(kind):
        return '"timestamp"'
    name = hive_type(kind, timestamps=True)
    return json.dumps(_SPARK_NAMES.get(name, name))


def _json(value: bool) -> str:
    return "true" if value else "false"


def with_nullability(schema: pa.Schema, avro: str | None) -> pa.Schema:
    """Returns a schema whose fields are nullable where those of an Avro schema are; others stay as they are.

    Args:
        schema: The columns.
        avro: The Avro schema, JSON; None leaves all columns as they are.
    """
    if not avro:
        return schema
    return pa.schema(_fields(list(schema), json.loads(avro)))


def _fields(fields: list[pa.Field], record: object) -> list[pa.Field]:
    described = record.get("fields") if isinstance(record, dict) else None
    types = {one["name"]: one["type"] for one in described or []}
    return [_field(one, types[one.name]) if one.name in types else one for one in fields]


def _field(field: pa.Field, avro: object) -> pa.Field:
    nullable = isinstance(avro, list) and "null" in avro
    if isinstance(avro, list):
        others = [one for one in avro if one != "null"]
        avro = others[0] if len(others) == 1 else None
    return pa.field(field.name, _type(field.type, avro), nullable)


def _type(kind: pa.DataType, avro: object) -> pa.DataType:
    if not isinstance(avro, dict):
        return kind
    if pa.types.is_struct(kind):
        return pa.struct(_fields(list(kind), avro))
    if pa.types.is_list(kind) and "items" in avro:
        return pa.list_(_field(kind.value_field, avro["items"]))
    if pa.types.is_map(kind) and "values" in avro:
        return pa.map_(kind.key_field, _field(kind.item_field, avro["values"]))
    return kind


SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
BASE_FILES = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
MERGED = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"


@dataclass(frozen=True)
class HudiTable:
    """What of a Hudi table a sync registers."""

    name: str
    location: str
    schema: pa.Schema
    is_merge_on_read: bool
    partition_fields: tuple[str, ...]
    last_instant: str
    last_completion: str | None
    """The greatest completion time; None below table version 8."""
    writer: str
    """Who has written it, for the property `hudi_writer_version`."""
    spark: str | None = None
    """The version of Spark that writes; None without Spark."""


@dataclass(frozen=True)
class CatalogTable:
    """A table as a catalog has it."""

    name: str
    location: str
    columns: tuple[tuple[str, str], ...]
    """Name and Hive type, without partition columns."""
    partition_columns: tuple[tuple[str, str], ...]
    input_format: str
    serde_properties: dict[str, str]
    properties: dict[str, str]
    is_managed: bool


def catalog_tables(table: HudiTable, options: SyncOptions) -> list[CatalogTable]:
    """Returns the tables to register: one for copy-on-write; for merge-on-read the merged one by its own name and with
    the suffix `_rt`, and the read-optimized one with the suffix `_ro` (`HiveSyncTool.syncHoodieTable`).
    """
    return [_catalog_table(table, options, *view) for view in _views(table, options)]


def _views(table: HudiTable, options: SyncOptions) -> Iterator[tuple[str, str, bool | None]]:
    """Yields name, input format and whether only base files are read; None for tables without logs."""
    name = options.table or table.name
    if not table.is_merge_on_read:
        yield name, BASE_FILES, None if options.tables != "RO" else True
        return
    if options.tables in ("ALL", "RO"):
        yield (f"{name}_ro" if options.read_optimized_has_suffix else name), BASE_FILES, True
    if options.tables in ("ALL", "RT"):
        yield f"{name}_rt", MERGED, False
    taken = options.tables == "ALL" and not options.read_optimized_has_suffix
    if options.tables in ("ALL", "RT") and options.snapshot_by_plain_name and not taken:
        yield name, MERGED, False


def _catalog_table(
    table: HudiTable, options: SyncOptions, name: str, input_format: str, base_files_only: bool | None
) -> CatalogTable:
    fields = [one for one in table.schema if options.meta_columns or one.name not in META_COLUMNS]
    parts = set(table.partition_fields)
    columns = [field for field in fields if field.name not in parts]
    by_name = {field.name: field for field in fields}
    partition_fields = [by_name.get(part, pa.field(part, pa.string())) for part in table.partition_fields]
    serde = dict(options.serde_properties)
    if options.spark_properties or base_files_only is not None:
        serde["hoodie.query.as.ro.table"] = str(bool(base_files_only)).lower()
    return CatalogTable(
        name=name.lower(),
        location=table.location,
        columns=tuple((one.name.lower(), hive_type(one.type, options.timestamps)) for one in columns),
        partition_columns=tuple(
            (one.name.lower(), hive_type(one.type, options.timestamps)) for one in partition_fields
        ),
        input_format=input_format,
        serde_properties={**serde, "path": table.location, "serialization.format": "1"},
        properties=_properties(table, options, columns, partition_fields),
        is_managed=options.managed,
    )


def _properties(
    table: HudiTable, options: SyncOptions, columns: list[pa.Field], partition_fields: list[pa.Field]
) -> dict[str, str]:
    properties = {
        **options.table_properties,
        "EXTERNAL": str(not options.managed).upper(),
        "hudi_writer_version": table.writer,
        "last_commit_time_sync": table.last_instant,
    }
    if table.last_completion is not None:
        properties["last_commit_completion_time_sync"] = table.last_completion
    if not options.spark_properties:
        return properties
    document = spark_schema([*columns, *partition_fields])
    size = options.longest_schema
    pieces = [document[at : at + size] for at in range(0, len(document), size)]
    properties["spark.sql.sources.provider"] = "hudi"
    properties["spark.sql.sources.schema.numParts"] = str(len(pieces))
    properties |= {f"spark.sql.sources.schema.part.{number}": piece for number, piece in enumerate(pieces)}
    if partition_fields:
        properties["spark.sql.sources.schema.numPartCols"] = str(len(partition_fields))
        named = enumerate(partition_fields)
        properties |= {f"spark.sql.sources.schema.partCol.{number}": field.name for number, field in named}
    if table.spark is not None:
        properties["spark.sql.create.version"] = table.spark
    return properties


@dataclass(frozen=True)
class Partition:
    """A partition: the values of its columns and its location."""

    values: tuple[str, ...]
    location: str


@dataclass(frozen=True)
class StoredTable:
    """What a sync compares of a table that the catalog has."""

    columns: tuple[tuple[str, str], ...]
    partition_columns: tuple[tuple[str, str], ...]
    location: str
    properties: dict[str, str]


class Catalog(Protocol):
    """A catalog, opened."""

    def ensure_database(self, name: str, *, create: bool) -> None:
        """Creates a database that is missing, or raises `InvalidArgumentError`."""

    def table(self, database: str, name: str) -> StoredTable | None:
        """Returns a table; None if there is none."""

    def create_table(self, database: str, table: CatalogTable) -> None:
        """Creates a table."""

    def alter_table(self, database: str, table: CatalogTable) -> None:
        """Replaces columns, formats and properties of a table, and the columns of its partitions. Properties that
        others have added stay.
        """

    def drop_table(self, database: str, name: str) -> None:
        """Drops a table; its files stay."""

    def partitions(self, database: str, table: CatalogTable) -> list[Partition]:
        """Returns all partitions."""

    def add_partitions(self, database: str, table: CatalogTable, partitions: list[Partition]) -> None:
        """Adds partitions."""

    def drop_partitions(self, database: str, table: CatalogTable, partitions: list[Partition]) -> None:
        """Drops partitions; their files stay."""

    def close(self) -> None:
        """Ends the connection."""
