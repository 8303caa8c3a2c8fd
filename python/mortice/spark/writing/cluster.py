"""Clustering whose groups are written by Spark's tasks: the driver plans and commits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mortice._mortice import ClusterResult
from mortice.spark.writing.service_tasks import ServiceTasks
from mortice.values.observe import observed
from mortice.values.options import checked_bool

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["cluster"]


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
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    tasks = ServiceTasks(spark, uri, "cluster", options)
    with observed("cluster", tasks.uri) as observation:
        scheduled = tasks.schedule() if schedule else None
        return observation.done(ClusterResult(scheduled, tasks.execute() if run else []))
