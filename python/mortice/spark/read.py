"""The quick door into Spark: the driver plans a query, and `mapInArrow` over its splits reads it, one task a split.

Spark estimates the size of a `mapInArrow` from the rows it is fed. Rows made from an RDD have no known size, so no join
will broadcast the whole table by mistake; where the files are in truth small, the hint to broadcast is put here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mortice.filters import Filters
from mortice.instants import InstantLike
from mortice.options import checked_uri
from mortice.scan import Scan, Split
from mortice.spark.arrow_udf import DESCRIPTOR, ReadDescriptors, ReadNumbered
from mortice.spark.options import AS_OF, BEGIN, END, QUERY_TYPE, SEMANTICS, lowered, read_query
from mortice.spark.schema import spark_arrow_schema, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["data_frame", "largest_first", "read"]

_BYTES_IN_MEMORY = 8
"""How much larger rows may be in memory than in compressed files; for the broadcast hint only."""


class _Default(str):
    """An argument that was left out, so that an option may take its place."""

    __slots__ = ()


def read(  # noqa: PLR0917
    spark: SparkSession,
    uri: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    filters: Filters = None,
    query_type: str = _Default("snapshot"),
    as_of: InstantLike = None,
    begin: InstantLike = None,
    end: InstantLike = None,
    semantics: str = _Default("1.x"),
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The rows of a Hudi table as a DataFrame, one Spark task for each file slice.

    `columns` and `filters` are as for `mortice.Table.snapshot`; naming the columns is the surest way to a quick query.
    `query_type` is `"snapshot"` or `"read_optimized"`; `begin` and `end` are for incremental queries, which are not in
    this release. `options` are those of `spark.read.format("mortice")` (see `mortice.spark.options`), Hudi's names
    included; the arguments win over them.

    The table is looked at once, here: the frame keeps to that state of it, and `read` again gives a later one.
    """
    given = {
        "columns": columns,
        "filters": filters,
        QUERY_TYPE: None if isinstance(query_type, _Default) else query_type,
        AS_OF: as_of,
        BEGIN: begin,
        END: end,
        SEMANTICS: None if isinstance(semantics, _Default) else semantics,
    }
    settings = lowered(options) | {name: value for name, value in given.items() if value is not None}
    query = read_query(settings, checked_uri(uri))
    return data_frame(spark, query.scan(query.table(), query.columns))


def data_frame(spark: SparkSession, scan: Scan) -> DataFrame:
    """The rows of a scan as a DataFrame."""
    schema = spark_schema(scan.schema)
    target = spark_arrow_schema(scan.schema)
    splits = largest_first(scan.splits())
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


def largest_first(splits: list[Split]) -> list[Split]:
    """The longest task begins first, so that it does not end alone."""
    return sorted(splits, key=lambda split: split.size, reverse=True)


def _is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _is_small(spark: SparkSession, splits: list[Split]) -> bool:
    """Whether the rows surely fit what this session broadcasts in a join."""
    threshold = spark._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()  # noqa: SLF001
    return sum(split.size for split in splits) * _BYTES_IN_MEMORY <= int(threshold)
