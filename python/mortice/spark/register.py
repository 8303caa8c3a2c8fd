"""Making `format("mortice")` known to a session.

Not needed where mortice is installed: Spark 4 finds `pyspark_mortice` itself.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Makes `spark.read.format("mortice")` known to this session. On Spark 3.5, which has no such sources, it warns.

    Spark plans a Python data source in a process that has no session. So the session's settings of object stores
    (`fs.s3a.*`, `fs.azure.*`, `fs.gs.*`) go with the source, as they are now; register again after they have changed.
    """
    if not hasattr(spark, "dataSource"):
        warnings.warn(
            f"Spark {spark.version} has no Python data sources, so format('mortice') needs Spark 4; "
            "mortice.spark.read(spark, path) works here",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    from pyspark.errors import AnalysisException

    from mortice.spark.hadoop_conf import all_hadoop_settings
    from pyspark_mortice import DefaultSource

    class SessionSource(DefaultSource):
        session_settings = all_hadoop_settings(spark)

    try:
        spark.dataSource.register(SessionSource if SessionSource.session_settings else DefaultSource)
    except AnalysisException as error:
        # Spark 4.0 refuses a name that it has found by itself: then the source is known.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
