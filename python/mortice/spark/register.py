"""Registers `format("mortice")` with a session.

This is rarely needed: if mortice is installed, Spark 4 finds the format through the module `pyspark_mortice`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from mortice.spark.table_functions import register_table_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Registers `spark.read.format("mortice")` and the table functions of SQL with this session.

        SELECT * FROM mortice_changes('/lake/trips', 'earliest')

    The functions are `mortice_changes(path, from[, to])`, `mortice_timeline(path)`, `mortice_files(path)` and
    `mortice_history(path, key)` (docs/spark.md).

    Spark plans a Python data source in a process that has no session. The current settings of object stores in the
    session (`fs.s3a.*`, `fs.azure.*`, `fs.gs.*`) are therefore stored in the source. Register it again after they have
    changed. On Spark 3.5, which has no Python data sources, a `RuntimeWarning` is issued; the functions are registered.
    """
    if hasattr(spark, "udtf"):
        register_table_functions(spark)
    if not hasattr(spark, "dataSource"):
        warnings.warn(
            f"Spark {spark.version} has no Python data sources, so format('mortice') needs Spark 4; "
            "mortice.spark.read(spark, path) works here",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    from pyspark.errors import AnalysisException

    from mortice.spark.settings.hadoop_conf import all_hadoop_settings
    from pyspark_mortice import DefaultSource

    class SessionSource(DefaultSource):
        session_settings = all_hadoop_settings(spark)

    try:
        spark.dataSource.register(SessionSource if SessionSource.session_settings else DefaultSource)
    except AnalysisException as error:
        # Spark 4.0 rejects the name of a source that it has discovered itself: the source is available then.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
