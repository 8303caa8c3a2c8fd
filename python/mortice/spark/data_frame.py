"""Splits as a Spark DataFrame: `mapInArrow` over rows that hold the splits, one task a split.

Spark estimates the size of a `mapInArrow` from the rows it is fed. Rows made from an RDD have no known size, so no join
will broadcast the whole table by mistake; where the files are in truth small, the hint to broadcast is put here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice.spark.arrow_udf import DESCRIPTOR, ReadDescriptors, ReadNumbered
from mortice.spark.schema import spark_arrow_schema, spark_schema
from mortice.split import Split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["data_frame", "largest_first"]

_BYTES_IN_MEMORY = 8
"""How much larger rows may be in memory than in compressed files; for the broadcast hint only."""


def data_frame(spark: SparkSession, arrow_schema: pa.Schema, splits: Sequence[Split]) -> DataFrame:
    """The rows of splits as a DataFrame, one task for each."""
    schema = spark_schema(arrow_schema)
    target = spark_arrow_schema(arrow_schema)
    splits = largest_first(splits)
    if not splits:
        return spark.createDataFrame([], schema)
    descriptors = [split.to_bytes() for split in splits]
    if _is_connect(spark):
        numbers = spark.range(0, len(descriptors), 1, numPartitions=len(descriptors))
        return numbers.mapInArrow(ReadNumbered(descriptors, target), schema)
    rows = spark.sparkContext.parallelize([(bytearray(descriptor),) for descriptor in descriptors], len(descriptors))
    frame = spark.createDataFrame(rows, f"{DESCRIPTOR} binary", verifySchema=False).mapInArrow(
        ReadDescriptors(target), schema
    )
    return frame.hint("broadcast") if _is_small(spark, splits) else frame


def largest_first(splits: Sequence[Split]) -> list[Split]:
    """The longest task begins first, so that it does not end alone."""
    return sorted(splits, key=lambda split: split.size, reverse=True)


def _is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _is_small(spark: SparkSession, splits: Sequence[Split]) -> bool:
    """Whether the rows surely fit what this session broadcasts in a join."""
    threshold = spark._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()  # noqa: SLF001
    return sum(split.size for split in splits) * _BYTES_IN_MEMORY <= int(threshold)
