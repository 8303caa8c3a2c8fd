"""Brings the entries of a catalog up to date with a table.

Values of a partition path are as Hudi's extractors make them (`org.apache.hudi.sync.common.model`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote

import pyarrow as pa

from mortice import _mortice
from mortice.catalogs.definition import Catalog, CatalogTable, HudiTable, Partition, catalog_tables, with_nullability
from mortice.catalogs.glue import Glue
from mortice.catalogs.hive_metastore import HiveMetastore
from mortice.catalogs.options import Extractor, SyncOptions
from mortice.errors import InvalidArgumentError, MorticeError, TableServiceError
from mortice.values.caller import caller_level
from mortice.values.file_slice import FileSlice
from mortice.values.timeline import Instant, Timeline
from mortice.values.visible_text import visible_text

_DAY, _HOUR = 3, 4


def default_extractor(fields: int, hive_style: bool) -> Extractor:
    """Returns the extractor that Hudi infers for a number of partition fields."""
    if fields == 0:
        return "NonPartitionedExtractor"
    if fields > 1:
        return "MultiPartKeysValueExtractor"
    return "HiveStylePartitionValueExtractor" if hive_style else "SinglePartPartitionValueExtractor"


def partition_values(path: str, extractor: Extractor, fields: int, decodes: bool) -> tuple[str, ...]:
    """Returns the values of the partition columns of a partition.

    Args:
        path: The partition path, relative to the base path.
        extractor: The simple name of Hudi's class.
        fields: The number of partition columns.
        decodes: Whether percent codes are decoded.

    Raises `InvalidArgumentError` if the path has another form than the extractor expects.
    """
    shown = unquote(path) if decodes else path
    parts = shown.split("/")
    if extractor == "NonPartitionedExtractor":
        return ()
    if extractor == "SinglePartPartitionValueExtractor":
        return (shown,)
    if extractor in ("SlashEncodedDayPartitionValueExtractor", "SlashEncodedHourPartitionValueExtractor"):
        wanted = _DAY if extractor == "SlashEncodedDayPartitionValueExtractor" else _HOUR
        if len(parts) != wanted:
            raise InvalidArgumentError(f"{extractor} expects {wanted} parts, the partition is {path!r}")
        return ("-".join(part.partition("=")[2] or part for part in parts),)
    values = tuple(part.partition("=")[2] if "=" in part else part for part in parts)
    if extractor == "HiveStylePartitionValueExtractor" and (len(parts) != 1 or "=" not in shown):
        raise InvalidArgumentError(f"{extractor} expects COLUMN=VALUE, the partition is {path!r}")
    if len(values) != fields:
        raise InvalidArgumentError(
            f"the partition {path!r} has {len(values)} parts, and there are {fields} partition columns; "
            "hoodie.datasource.hive_sync.partition_extractor_class names another way to read it"
        )
    return values


_HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
_ENCODED = "hoodie.datasource.write.partitionpath.urlencode"
_SEVERAL_TABLES = "MERGE_ON_READ"
_COMMITS = ("commit", "deltacommit", "replacecommit")


class OpenTable(Protocol):
    """What a sync asks of a table."""

    @property
    def uri(self) -> str: ...
    @property
    def schema(self) -> pa.Schema: ...
    @property
    def properties(self) -> Mapping[str, str]: ...
    @property
    def partition_fields(self) -> list[str]: ...
    @property
    def timeline(self) -> Timeline: ...
    def file_slices(self) -> list[FileSlice]:
        """Returns the newest file slices."""


@dataclass(frozen=True)
class Synced:
    """What a sync did with one table of the catalog."""

    database: str
    table: str
    created: bool
    columns_changed: bool
    partitions_added: int
    partitions_dropped: int


def sync_with(table: OpenTable, options: SyncOptions, spark: str | None) -> list[Synced]:
    """Registers a table. Arguments and errors are those of `sync`; `spark` is the version of Spark that writes."""
    described = _described(table, options, spark)
    partitions = _partitions(table, described, options)
    catalog: Catalog = Glue() if options.catalog == "glue" else HiveMetastore(options.metastore_uris)
    try:
        catalog.ensure_database(options.database, create=options.creates_database)
        return [_sync_one(catalog, options.database, one, partitions) for one in catalog_tables(described, options)]
    finally:
        catalog.close()


def sync_after(table: OpenTable, instant: str, options: SyncOptions, spark: str | None = None) -> None:
    """Registers a table after a write, which is complete whether the catalog can be reached or not.

    Args:
        table: The table, in the state after the write.
        instant: The write.
        options: The options of the sync.
        spark: The version of Spark that writes; None without Spark.

    Raises:
        TableServiceError: The rows are in the table, and the catalog is as it was; a warning instead if the options
            ignore errors.
    """
    try:
        sync_with(table, options, spark)
    except Exception as error:
        reason = error.message if isinstance(error, MorticeError) else f"{type(error).__name__}: {error}"
        said = f"the rows are in the table, and it could not be registered in the catalog: {reason}"
        if not options.ignores_errors:
            raise TableServiceError(f"{said}; call mortice.sync to try again", instant=instant) from error
        warnings.warn(visible_text(said), UserWarning, stacklevel=caller_level())


def _described(table: OpenTable, options: SyncOptions, spark: str | None) -> HudiTable:
    completed = [one for one in table.timeline.active if one.is_completed and one.action in _COMMITS]
    if not completed:
        completed = [one for one in table.timeline.completed if one.action in _COMMITS]
    if not completed:
        raise InvalidArgumentError(f"{table.uri} has no commit, and so no columns to register")
    newest = max(completed, key=lambda one: one.requested_time)
    completions = [one.completion_time for one in completed if one.completion_time is not None]
    fields = table.partition_fields if options.partition_fields is None else options.partition_fields
    return HudiTable(
        name=table.properties.get("hoodie.table.name", ""),
        location=table.uri,
        schema=with_nullability(table.schema, _avro_schema(table, newest)),
        is_merge_on_read=table.properties.get("hoodie.table.type", "").upper() == _SEVERAL_TABLES,
        partition_fields=tuple(field.split(":")[0] for field in fields),
        last_instant=newest.requested_time,
        last_completion=max(completions, default=None),
        writer=f"mortice {_mortice.__version__}",
        spark=spark,
    )


def _avro_schema(table: OpenTable, instant: Instant) -> str | None:
    extra = (table.timeline.metadata(instant) or {}).get("extraMetadata") or {}
    return extra.get("schema") or None


def _partitions(table: OpenTable, described: HudiTable, options: SyncOptions) -> list[Partition]:
    fields = len(described.partition_fields)
    if fields == 0:
        return []
    hive_style = table.properties.get(_HIVE_STYLE, "").lower() == "true"
    encoded = table.properties.get(_ENCODED, "").lower() == "true"
    extractor = options.extractor or default_extractor(fields, hive_style)
    decodes = encoded if options.decodes_partitions is None else options.decodes_partitions
    paths = sorted({one.partition for one in table.file_slices()})
    return [
        Partition(partition_values(path, extractor, fields, decodes), f"{described.location.rstrip('/')}/{path}")
        for path in paths
    ]


def _sync_one(catalog: Catalog, database: str, table: CatalogTable, partitions: list[Partition]) -> Synced:
    stored = catalog.table(database, table.name)
    if stored is not None and stored.partition_columns != table.partition_columns:
        # Partition columns cannot be altered; a table of others is another table.
        catalog.drop_table(database, table.name)
        stored = None
    if stored is None:
        catalog.create_table(database, table)
    else:
        catalog.alter_table(database, table)
    wanted = {one.values: one for one in partitions}
    there = {one.values: one for one in (catalog.partitions(database, table) if table.partition_columns else [])}
    moved = [one for values, one in there.items() if values in wanted and not _same(one, wanted[values])]
    gone = [one for values, one in there.items() if values not in wanted] + moved
    new = [one for values, one in wanted.items() if values not in there or not _same(there[values], one)]
    catalog.drop_partitions(database, table, gone)
    catalog.add_partitions(database, table, new)
    return Synced(
        database=database,
        table=table.name,
        created=stored is None,
        columns_changed=stored is not None and stored.columns != table.columns,
        partitions_added=len(new),
        partitions_dropped=len(gone),
    )


def _same(one: Partition, other: Partition) -> bool:
    """Returns whether locations are equal; a metastore puts `file:` before local paths, and Glue knows `s3` only."""
    return _path(one.location) == _path(other.location)


def _path(location: str) -> str:
    if location.startswith("file:"):
        return "/" + location.removeprefix("file:").strip("/")
    for scheme in ("s3a://", "s3n://"):
        location = "s3://" + location.removeprefix(scheme) if location.startswith(scheme) else location
    return location.rstrip("/")
