"""A planned query as a Spark DataFrame: `mapInArrow` over rows that hold the splits of a task each.

Spark estimates the size of a `mapInArrow` from the rows it is fed. Rows made from an RDD have no known size, so no join
will broadcast the whole table by mistake; where the files are in truth small, the hint to broadcast is put here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice.spark.arrow_udf import DESCRIPTORS, ReadDescriptors, ReadNumbered
from mortice.spark.schema import spark_arrow_schema, spark_schema
from mortice.spark.tasks import DEFAULT_SPLIT_BYTES, MANY_CORES, tasks_of
from mortice.split import Split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["DEFAULT_SPLIT_BYTES", "data_frame"]

_BYTES_IN_MEMORY = 8
"""How much larger rows may be in memory than in compressed files; for the broadcast hint only."""


def data_frame(spark: SparkSession, arrow_schema: pa.Schema, splits: Sequence[Split], split_bytes: int) -> DataFrame:
    """The rows of splits as a DataFrame; a task reads up to `split_bytes` of files (see `mortice.spark.tasks`)."""
    schema = spark_schema(arrow_schema)
    target = spark_arrow_schema(arrow_schema)
    is_connect = _is_connect(spark)
    tasks = tasks_of(splits, split_bytes, MANY_CORES if is_connect else spark.sparkContext.defaultParallelism)
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
    return frame.hint("broadcast") if _is_small(spark, splits) else frame


def _is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _is_small(spark: SparkSession, splits: Sequence[Split]) -> bool:
    """Whether the rows surely fit what this session broadcasts in a join."""
    threshold = spark._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()  # noqa: SLF001
    return sum(split.size for split in splits) * _BYTES_IN_MEMORY <= int(threshold)
