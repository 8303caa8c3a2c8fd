"""`mortice.spark.build_metadata`: Spark's tasks read the files of a table for the indexes of its metadata table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mortice._mortice import MetadataResult
from mortice.spark.settings.write_options import WriteTarget, parallelism
from mortice.spark.writing.write_stages import SparkTasks
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["build_metadata"]


def build_metadata(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    options: Mapping[str, Any] | None = None,
    *,
    add: Sequence[str] = (),
    drop: Sequence[str] = (),
    rebuild: bool = False,
) -> MetadataResult:
    """Builds the metadata table, if there is none, and changes its indexes, as `Table.build_metadata`; tasks of Spark
    read the files. Works on Spark 3.5 and later, also on Connect.

        mortice.spark.build_metadata(spark, "/lake/trips", add=["record_index"])

    For a record index tasks count the keys of file slices, which decides the number of file groups; then they read the
    keys and send each to the task of its file group, which sorts the keys, 64 MiB of them in memory and the others in
    temporary files, and writes the file. No process holds all keys. For other indexes tasks read footers, or keys, and
    the driver writes what they report: it holds the statistics of all files, and their Bloom filters. It also holds the
    lock of the table, if it has one. If it is stopped, run it again: readers use a partition once it is complete.

    Args:
        spark: The session.
        uri: The table's base path, a local path or a URI.
        options: As for `Table.build_metadata`, and options of the storage as for `mortice.spark.write`.
        add: Indexes to add: `column_stats`, `partition_stats`, `record_index`, `bloom_filters`.
        drop: Indexes to drop.
        rebuild: True deletes it before, even if it is damaged, and builds the partitions that it had.

    Raises as `Table.build_metadata`.
    """
    target = WriteTarget.from_options(uri, options)
    table = Table(target.uri, storage_options=target.storage_options(spark))
    by_tasks = table.by_tasks(SparkTasks(spark, parallelism(spark)))
    return by_tasks.build_metadata(target.options, add=add, drop=drop, rebuild=rebuild)
