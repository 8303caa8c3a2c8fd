"""A planned query as a Spark DataFrame: `mapInArrow` over rows that hold the splits of a task each.

Spark estimates the size of a `mapInArrow` from the rows it is fed. Rows made from an RDD, or on Spark Connect by a
Python data source, have no known size, so no join will broadcast the whole table by mistake; where the files are in
truth small, the hint to broadcast is put here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice.spark.arrow_udf import DESCRIPTORS, ReadDescriptors, ReadNumbered
from mortice.spark.private import rows_of
from mortice.spark.schema import spark_arrow_schema, spark_schema
from mortice.spark.tasks import DEFAULT_SPLIT_BYTES, MANY_CORES, serialize_tasks, tasks_of
from mortice.split import Split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mortice.spark.metrics import Metrics

__all__ = ["DEFAULT_SPLIT_BYTES", "data_frame", "is_connect"]

_BYTES_IN_MEMORY = 8
"""How much larger rows may be in memory than in compressed files; for the broadcast hint only."""
_UNITS = {"": 0, "b": 0, "k": 1, "kb": 1, "m": 2, "mb": 2, "g": 3, "gb": 3, "t": 4, "tb": 4, "p": 5, "pb": 5}
_MOST_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"


def data_frame(
    spark: SparkSession,
    arrow_schema: pa.Schema,
    splits: Sequence[Split],
    split_bytes: int,
    metrics: Metrics | None = None,
) -> DataFrame:
    """The rows of splits as a DataFrame; a task reads up to `split_bytes` of files (see `mortice.spark.tasks`)."""
    schema = spark_schema(arrow_schema)
    target = spark_arrow_schema(arrow_schema)
    on_connect = is_connect(spark)
    tasks = tasks_of(splits, split_bytes, MANY_CORES if on_connect else spark.sparkContext.defaultParallelism)
    if not tasks:
        return spark.createDataFrame([], schema)
    tell = None if metrics is None else metrics.of(spark)
    is_small = _is_small(spark, splits)
    queries, descriptors = serialize_tasks(tasks)
    if on_connect and not hasattr(spark, "dataSource"):
        numbers = spark.range(0, len(tasks), 1, numPartitions=len(tasks))
        frame = numbers.mapInArrow(ReadNumbered(queries, descriptors, target), schema)
        # Spark takes it to be as small as the numbers; told so, it will not broadcast it.
        return frame.hint("broadcast" if is_small else "merge")
    rows = _described(spark, descriptors, on_connect=on_connect)
    frame = rows.mapInArrow(ReadDescriptors(queries, target, tell), schema)
    return frame.hint("broadcast") if is_small else frame


def _described(spark: SparkSession, tasks: list[list[bytes]], *, on_connect: bool) -> DataFrame:
    """One row and one partition for each task, of a size that Spark does not know."""
    if on_connect:
        from mortice.spark.described_tasks import described_tasks

        return described_tasks(spark, tasks)
    from pyspark.sql.types import ArrayType, BinaryType, StructType

    fed = [([bytearray(descriptor) for descriptor in task],) for task in tasks]
    rows = spark.sparkContext.parallelize(fed, len(fed))
    schema = StructType().add(DESCRIPTORS, ArrayType(BinaryType()))
    frame = rows_of(spark, rows, schema)
    return spark.createDataFrame(rows, schema, verifySchema=False) if frame is None else frame


def is_connect(spark: SparkSession) -> bool:
    """Whether there is neither RDD nor accumulator."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _is_small(spark: SparkSession, splits: Sequence[Split]) -> bool:
    """Whether the rows surely fit what this session broadcasts in a join."""
    most = _bytes(str(spark.conf.get(_MOST_BROADCAST)))
    return sum(split.size for split in splits) * _BYTES_IN_MEMORY <= most


def _bytes(text: str) -> int:
    """Bytes as Spark's configurations write them: `10485760b`, `10MB`, `-1`."""
    found = re.fullmatch(r"(-?\d+)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _UNITS:
        return -1
    return int(found[1]) << 10 * _UNITS[found[2]]
