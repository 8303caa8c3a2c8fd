"""A planned query as a Spark DataFrame: `mapInArrow` over rows that hold the splits of a task each.

Spark estimates the size of a `mapInArrow` from the rows it is fed. Rows made from an RDD have no known size, so no join
will broadcast the whole table by mistake; where the files are in truth small, the hint to broadcast is put here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortice.spark.arrow_udf import DESCRIPTORS, ReadDescriptors, ReadNumbered
from mortice.spark.schema import spark_arrow_schema, spark_schema
from mortice.spark.tasks import DEFAULT_SPLIT_BYTES, MANY_CORES, tasks_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mortice.scan import Scan

__all__ = ["data_frame"]

_BYTES_IN_MEMORY = 8
"""How much larger rows may be in memory than in compressed files; for the broadcast hint only."""


def data_frame(spark: SparkSession, scan: Scan, split_bytes: int = DEFAULT_SPLIT_BYTES) -> DataFrame:
    """The rows of a query as a DataFrame; a task reads up to `split_bytes` of files (`mortice.spark.tasks`)."""
    schema = spark_schema(scan.schema)
    target = spark_arrow_schema(scan.schema)
    is_connect = _is_connect(spark)
    tasks = tasks_of(scan, split_bytes, MANY_CORES if is_connect else spark.sparkContext.defaultParallelism)
    if not tasks:
        return spark.createDataFrame([], schema)
    if is_connect:
        numbers = spark.range(0, len(tasks), 1, numPartitions=len(tasks))
        descriptors = [[split.to_bytes() for split in task] for task in tasks]
        return numbers.mapInArrow(ReadNumbered(descriptors, target), schema)
    fed = [([bytearray(split.to_bytes()) for split in task],) for task in tasks]
    rows = spark.sparkContext.parallelize(fed, len(fed))
    frame = spark.createDataFrame(rows, f"{DESCRIPTORS} array<binary>", verifySchema=False).mapInArrow(
        ReadDescriptors(target), schema
    )
    return frame.hint("broadcast") if _is_small(spark, scan) else frame


def _is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _is_small(spark: SparkSession, scan: Scan) -> bool:
    """Whether the rows surely fit what this session broadcasts in a join."""
    threshold = spark._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()  # noqa: SLF001
    return sum(split.size for split in scan.splits()) * _BYTES_IN_MEMORY <= int(threshold)
