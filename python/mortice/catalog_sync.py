"""Registering a table in a catalog: `mortice.sync`."""

from __future__ import annotations

import os

from mortice._mortice import Synced
from mortice.catalogs.run import sync_options, sync_with
from mortice.table import Table
from mortice.values.argument_types import Options, StorageOptions
from mortice.writing.writes import checked_options

__all__ = ["sync"]


def sync(
    table: Table | str | os.PathLike[str],
    options: Options | None = None,
    *,
    storage_options: StorageOptions | None = None,
) -> list[Synced]:
    """Registers a table in a catalog, or brings its entries up to date, as Hudi's sync tools do.

        mortice.sync("/lake/trips", {"hoodie.datasource.hive_sync.metastore.uris": "thrift://metastore:9083"})

    The entries are those of Hudi's tool: for copy-on-write one table; for merge-on-read the merged one by its own name
    and with the suffix `_rt`, and the read-optimized one with the suffix `_ro`. Columns, partitions and properties
    follow the table; files are never touched.

    Args:
        table: The table, or its base path. A table that is open is registered in its newest state.
        options: Options by Hudi's names, `hoodie.datasource.hive_sync.*` and `hoodie.meta.sync.*` (docs/catalogs.md).
            `hoodie.meta.sync.client.tool.class=org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool` chooses Glue.
        storage_options: Options of the storage, if `table` is a path.

    Returns:
        What was done, for each table of the catalog.

    Raises:
        InvalidArgumentError: An option is invalid, or the catalog cannot be reached.
        UnsupportedError: An option or the type of a column is not supported.
    """
    resolved = sync_options(checked_options(options))
    opened = table if isinstance(table, Table) else Table(table, storage_options=storage_options)
    opened.refresh()
    return sync_with(opened._native, resolved, spark=None)  # noqa: SLF001
