"""What a catalog has of a Hudi table, as Hudi's sync tool registers it, and what a sync needs of a catalog.

`hive_metastore` and `glue` implement the latter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from mortice.catalogs.hive_types import hive_type, spark_schema
from mortice.catalogs.options import SyncOptions
from mortice.values.meta_columns import META_COLUMNS

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
