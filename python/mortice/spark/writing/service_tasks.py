"""Table services whose plans are executed by Spark's tasks: the driver plans and commits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mortice import _mortice
from mortice._mortice import Commit
from mortice.spark.execution.task_errors import aborted_on_error
from mortice.spark.settings.write_options import WriteTarget, parallelism
from mortice.spark.writing.write_stages import run_tasks
from mortice.writing.writes import warn_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ServiceTasks:
    """A service of a table.

    Args:
        spark: The session.
        uri: The table's base path.
        service: `compact`, `log_compact` or `cluster`.
        options: Options of the service and of the storage.

    Raises what the service raises for tables and options that it does not support.
    """

    def __init__(
        self, spark: SparkSession, uri: str | os.PathLike[str], service: str, options: Mapping[str, object] | None
    ) -> None:
        target = WriteTarget.from_options(uri, options)
        storage = target.storage_options(spark)
        self.uri = target.uri
        self._spark = spark
        self._native = _mortice.DistributedService(target.uri, storage, service, target.options, parallelism(spark))
        warn_of(self._native.warnings)

    def schedule(self) -> str | None:
        """Makes a plan, if the service is due, and returns its requested time."""
        return self._native.schedule()

    def execute(self) -> list[Commit]:
        """Executes the pending plans, oldest first. One that fails stays pending."""
        commits = []
        self._native.find_pending()
        while (step := self._native.begin_next()) is not None:
            stage, tasks = step
            with aborted_on_error(self._native):
                reports = run_tasks(self._spark, stage, tasks)
            commits.append(self._native.commit(reports))
        return commits
