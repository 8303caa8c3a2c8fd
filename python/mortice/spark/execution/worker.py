"""Prepares Python workers of Spark for tasks of mortice."""

from __future__ import annotations

from dataclasses import dataclass

from mortice.spark.execution.worker_gc import freeze_until_collected
from mortice.spark.execution.zip_directories import keep_unchanged

__all__ = ["WorkerOptions", "is_worker"]


@dataclass(frozen=True)
class WorkerOptions:
    """Options of Python workers."""

    zip_cache: bool = True
    """`mortice.zip.cache`: whether workers keep the directories of unchanged zip archives."""
    gc_freeze: bool = True
    """`mortice.gc.freeze`: whether the collection after a task visits only objects of the task."""

    def prepare(self) -> None:
        """Applies the options to this process, once for each task. Does nothing if it is not a worker."""
        if not is_worker():
            return
        if self.zip_cache:
            keep_unchanged()
        if self.gc_freeze:
            freeze_until_collected()


def is_worker() -> bool:
    """Returns true if this process is a Python worker of Spark: it runs tasks, or plans the query of a data source.

    A driver that reads a partition itself is not one.
    """
    from pyspark import SparkFiles, TaskContext

    # The latter is set by `setup_spark_files`, and before Spark 4.0 by `pyspark.worker.main`.
    return TaskContext.get() is not None or getattr(SparkFiles, "_is_running_on_worker", False)
