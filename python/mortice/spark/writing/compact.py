"""Compactions whose file slices are merged by Spark's tasks: the driver plans and commits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mortice._mortice import CompactResult
from mortice.spark.writing.service_tasks import ServiceTasks
from mortice.values.observe import observed
from mortice.values.options import checked_bool

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["compact", "log_compact"]


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
    return _compacted(spark, uri, "compact", options, schedule=schedule, run=run)


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
    return _compacted(spark, uri, "log_compact", options, schedule=schedule, run=run)


def _compacted(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    service: str,
    options: Mapping[str, Any] | None,
    *,
    schedule: bool,
    run: bool,
) -> CompactResult:
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    tasks = ServiceTasks(spark, uri, service, options)
    with observed(service, tasks.uri) as observation:
        commits = tasks.execute() if run else []
        scheduled = tasks.schedule() if schedule else None
        if run and scheduled is not None:
            commits += tasks.execute()
        return observation.done(CompactResult(scheduled, commits))
