"""Brings the entries of a catalog up to date with a table. What these are is the core's (`catalog_entries`)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from mortice import _mortice
from mortice._mortice import CatalogPartition, CatalogTable, Synced, SyncOptions
from mortice.catalogs import Catalog
from mortice.catalogs.glue import Glue
from mortice.catalogs.hive_metastore import HiveMetastore
from mortice.errors import MorticeError, TableServiceError
from mortice.values.argument_types import Options
from mortice.values.damage import caller_level
from mortice.values.observe import observed
from mortice.values.visible_text import visible_text

__all__ = ["SyncOptions", "asked_for", "sync_after", "sync_options", "sync_with", "without_sync"]


def sync_options(options: Mapping[str, str]) -> SyncOptions:
    """Returns the options of a sync by Hudi's names. Raises `InvalidArgumentError`, `UnsupportedError`."""
    return _warned(SyncOptions.resolve(options))


def asked_for(options: Mapping[str, object] | None) -> SyncOptions | None:
    """Returns the options of the sync that those of a write ask for, checked; None if they ask for none.

    Raises `InvalidArgumentError`, `UnsupportedError`.
    """
    asked = SyncOptions.asked_for({name: str(value) for name, value in (options or {}).items() if _is_of_sync(name)})
    return None if asked is None else _warned(asked)


def without_sync(options: Options | None) -> Options | None:
    """Returns the options of a write without those of the sync that they ask for, which no write knows."""
    if not isinstance(options, Mapping) or asked_for(options) is None:
        return options
    return {name: value for name, value in options.items() if not _is_of_sync(name)}


def _is_of_sync(name: object) -> bool:
    return isinstance(name, str) and _mortice.is_sync_option(name)


def _warned(options: SyncOptions) -> SyncOptions:
    if options.without_effect:
        warnings.warn(
            f"{', '.join(options.without_effect)} has no effect: the sync speaks to the metastore itself, at "
            "hoodie.datasource.hive_sync.metastore.uris",
            UserWarning,
            stacklevel=caller_level(),
        )
    return options


def sync_with(table: _mortice.Table, options: SyncOptions, spark: str | None) -> list[Synced]:
    """Registers a table. Arguments and errors are those of `sync`; `spark` is the version of Spark that writes."""
    with observed("sync", table.uri) as operation:
        return operation.done(_synced(table, options, spark))


def _synced(table: _mortice.Table, options: SyncOptions, spark: str | None) -> list[Synced]:
    tables, partitions = _mortice.catalog_entries(table, options, spark)
    catalog: Catalog = Glue() if options.is_glue else HiveMetastore(options.metastore_uris)
    try:
        catalog.ensure_database(options.database, create=options.creates_database)
        return [_sync_one(catalog, options.database, one, partitions) for one in tables]
    finally:
        catalog.close()


def sync_after(table: _mortice.Table, instant: str, options: SyncOptions, spark: str | None = None) -> None:
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


def _sync_one(catalog: Catalog, database: str, table: CatalogTable, partitions: list[CatalogPartition]) -> Synced:
    stored = catalog.table(database, table.name)
    if stored is not None and stored.partition_columns != table.partition_columns:
        # Partition columns cannot be altered; a table of others is another table.
        catalog.drop_table(database, table.name)
        stored = None
    if stored is None:
        catalog.create_table(database, table)
    else:
        catalog.alter_table(database, table)
    there = catalog.partitions(database, table) if table.partition_columns else []
    gone, new = _mortice.partition_changes(there, partitions)
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
