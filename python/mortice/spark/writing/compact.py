"""Compactions whose file slices are merged by Spark's tasks: the driver plans and commits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mortice import _mortice
from mortice.commit import Commit
from mortice.observe import observed
from mortice.options import checked_bool
from mortice.services.compaction import CompactResult
from mortice.spark.execution.task_errors import aborted_on_error
from mortice.spark.settings.write_options import WriteTarget, parallelism
from mortice.spark.writing.write_stages import run_tasks
from mortice.writes import commit_of, warn_of

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
    return _compacted(spark, uri, options, schedule=schedule, run=run, into_logs=False)


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
    return _compacted(spark, uri, options, schedule=schedule, run=run, into_logs=True)


def _compacted(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    options: Mapping[str, Any] | None,
    *,
    schedule: bool,
    run: bool,
    into_logs: bool,
) -> CompactResult:
    target = WriteTarget.from_options(uri, options)
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    storage = target.storage_options(spark)
    native = _mortice.DistributedCompaction(target.uri, storage, target.options, into_logs, parallelism(spark))
    warn_of(native.warnings)
    with observed("log_compact" if into_logs else "compact", target.uri) as observation:
        commits = _executed(spark, native) if run else []
        scheduled = native.schedule() if schedule else None
        if run and scheduled is not None:
            commits += _executed(spark, native)
        return observation.done(CompactResult(scheduled, commits))


def _executed(spark: SparkSession, native: _mortice.DistributedCompaction) -> list[Commit]:
    """Executes the pending compactions."""
    commits = []
    native.find_pending()
    while (step := native.begin_next()) is not None:
        stage, tasks = step
        with aborted_on_error(native):
            reports = run_tasks(spark, stage, tasks)
        commits.append(commit_of(native.commit(reports)))
    return commits
