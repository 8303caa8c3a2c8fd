"""What Spark's public interface has not: two things that its JVM does at once. Where a release has other members,
there is nothing, and the public way is gone.
"""

# ruff: noqa: SLF001

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["configured", "hadoop_configuration", "rows_of"]

_BETWEEN = "\x1e"
"""Separates records in ASCII: no setting has it."""


def rows_of(spark: Any, rows: Any, schema: StructType) -> DataFrame | None:
    """An RDD of tuples as a DataFrame, unpickled by the JVM itself.

    `createDataFrame` has Python workers go over the rows first, through pipes of their own: a quarter of the CPU time
    of a small query.
    """
    from pyspark.sql import DataFrame

    try:
        serde = spark.sparkContext._jvm.SerDeUtil
        unpickled = serde.toJavaArray(serde.pythonToJava(rows._jrdd, True))
        return DataFrame(spark._jsparkSession.applySchemaToPythonRDD(unpickled.rdd(), schema.json()), spark)
    except Exception:  # noqa: BLE001 — py4j has many, and whatever is wrong, there is another way
        return None


def configured(spark: Any) -> dict[str, str] | None:
    """All settings of a session in one call of the JVM: else there is one for each, a fraction of a millisecond each.

    `None` if this Spark lacks the members, as Spark Connect does.
    """
    try:
        told = str(spark._jsparkSession.conf().getAll().mkString(_BETWEEN))
    except Exception:  # noqa: BLE001
        return None
    # As Scala writes a map.
    pairs = (pair.partition(" -> ") for pair in told.split(_BETWEEN))
    return {name: value for name, _, value in pairs}


def hadoop_configuration(spark: Any) -> Any | None:
    """Returns the Hadoop configuration that Spark's own sources would get in this session: a copy, free to be changed.

    It has core-site.xml, `spark.hadoop.*`, what was set on `hadoopConfiguration`, and the session's configuration.
    """
    try:
        return spark._jsparkSession.sessionState().newHadoopConf()
    except Exception:  # noqa: BLE001
        return None
