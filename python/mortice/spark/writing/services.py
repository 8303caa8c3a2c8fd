"""Table services that Spark's tasks execute: the driver plans and commits.

They are those of `Table`; the native module runs them with the tasks of a `SparkTasks`. They work on Spark 3.5 and
later, also on Connect.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from mortice._mortice import ClusterResult, CompactResult, MetadataResult, VerifyResult, run_service_by_tasks
from mortice.errors import InvalidArgumentError
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.writing.write_stages import SparkTasks
from mortice.table import Table
from mortice.values.observe import observed
from mortice.values.options import checked_bool

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["build_metadata", "cluster", "compact", "log_compact", "verify"]

Result = TypeVar("Result", ClusterResult, CompactResult)


def compact(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    run: bool = True,
) -> CompactResult:
    """Merges log files of a table into base files, as tasks of Spark. Works on Spark 3.5 and later, also on Connect.

        mortice.spark.compact(spark, "/lake/trips")

    It executes what is pending, also what Hudi planned, then plans and executes another compaction, if one is due. A
    compaction that is stopped, or fails, stays pending; the next call executes it.

    Args:
        spark: The session.
        uri: The table's base path, a local path or a URI.
        options: As for `Table.compact`, and options of the storage as for `mortice.spark.write`.
        schedule: False executes what is pending only.
        run: False executes nothing: what is planned stays pending.

    Raises as `Table.compact`.
    """
    return _planned_and_executed(CompactResult, "compact", spark, uri, options, schedule=schedule, run=run)


def log_compact(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    run: bool = True,
) -> CompactResult:
    """Merges the log files of file slices into one log file each, as tasks of Spark. Works on Spark 3.5 and later, also
    on Connect.

        mortice.spark.log_compact(spark, "/lake/trips")

    It executes what is pending, also what Hudi planned, then plans and executes another log compaction, if one is due.
    One that is stopped, or fails, stays pending; the next call executes it.

    Args:
        spark: The session.
        uri: The table's base path, a local path or a URI.
        options: As for `Table.log_compact`, and options of the storage as for `mortice.spark.write`.
        schedule: False executes what is pending only.
        run: False executes nothing: what is planned stays pending.

    Raises as `Table.log_compact`.
    """
    return _planned_and_executed(CompactResult, "log_compact", spark, uri, options, schedule=schedule, run=run)


def cluster(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    run: bool = True,
) -> ClusterResult:
    """Writes rows of small file groups to larger ones, in another order, as tasks of Spark. Works on Spark 3.5 and
    later, also on Connect.

        mortice.spark.cluster(spark, "/lake/trips", {"hoodie.clustering.plan.strategy.sort.columns": "city"})

    It plans as `Table.cluster`, then executes what is pending, also what `Table.cluster` or Hudi planned. Each group of
    a plan is written by one task. Clustering that is stopped, or fails, stays pending; the next call executes it.

    Args:
        spark: The session.
        uri: The table's base path, a local path or a URI.
        options: As for `Table.cluster`, and options of the storage as for `mortice.spark.write`.
        schedule: False executes what is pending only.
        run: False executes nothing: what is planned stays pending.

    Raises as `Table.cluster`.
    """
    return _planned_and_executed(ClusterResult, "cluster", spark, uri, options, schedule=schedule, run=run)


def _planned_and_executed(
    result: type[Result],
    service: Literal["compact", "log_compact", "cluster"],
    spark: SparkSession,
    uri: str | os.PathLike[str],
    options: Mapping[str, Any] | None,
    *,
    schedule: bool,
    run: bool,
) -> Result:
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    target = WriteTarget.from_options(uri, options)
    with observed(service, target.uri) as observation:
        storage, tasks = target.storage_options(spark), SparkTasks(spark)
        done = run_service_by_tasks(target.uri, storage, service, target.options, tasks, schedule=schedule, run=run)
        return observation.done(result(*done))


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
    return table.by_tasks(SparkTasks(spark)).build_metadata(target.options, add=add, drop=drop, rebuild=rebuild)


def verify(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    options: Mapping[str, Any] | None = None,
    *,
    contents: bool = False,
    keys: bool = True,
    global_keys: bool = False,
    spill_dir: str | os.PathLike[str] | None = None,
) -> VerifyResult:
    """Returns what is wrong with a table, as `Table.verify`; tasks of Spark read its record keys and compare them.

    It works on Spark 3.5 and later, also on Connect.

        for finding in mortice.spark.verify(spark, "/lake/trips").findings:
            print(finding.kind, finding.path, finding.message)

    A task reads the keys of file slices, or of file groups of the record index, and sends them to the task that
    compares them, by the hash of the key. No process holds all keys: a task that compares sorts 64 MiB of keys in
    memory and the others in files of `spill_dir`. The driver lists files and timeline. Nothing is changed. Run it while
    nobody writes.

    Args:
        spark: The session.
        uri: The table's base path, a local path or a URI.
        options: Options of the storage, as for `mortice.spark.write`.
        contents: True decodes all files, as `Table.verify`, in the driver.
        keys: True reads the record keys of all rows: finds keys of several rows of a partition, and compares the rows
            with the record index, if the table has one.
        global_keys: True does the same, and finds keys of several rows of the table.
        spill_dir: The directory of files in which tasks sort keys; None is the system's own for temporary files.

    Raises as `Table.verify`, `InvalidArgumentError` for other options.
    """
    target = WriteTarget.from_options(uri, options)
    if target.options:
        raise InvalidArgumentError(
            f"verify has options of the storage alone, got {', '.join(sorted(target.options))}; leave them out"
        )
    table = Table(target.uri, storage_options=target.storage_options(spark), spill_dir=spill_dir)
    return table.by_tasks(SparkTasks(spark)).verify(contents=contents, keys=keys, global_keys=global_keys)
