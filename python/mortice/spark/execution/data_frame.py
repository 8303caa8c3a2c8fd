"""Converts a planned query to a Spark DataFrame: `mapInArrow` over rows that contain the splits of one task each.

Spark estimates the size of a `mapInArrow` from its input. The size of rows from an RDD, or on Spark Connect from a
Python data source, is unknown, so no join broadcasts the whole table by mistake. A range of numbers is small: Spark
broadcasts rows that are made of it by its own threshold, so the tasks of a table with small files are numbered. A hint
would do it as well, but Spark warns of hints in plans without joins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice.reading.split import Split
from mortice.spark.execution.arrow_udf import (
    COUNTS,
    DESCRIPTORS,
    ROWS_ALONE,
    CountDescriptors,
    CountNumbered,
    ReadDescriptors,
    ReadNumbered,
)
from mortice.spark.execution.private import rows_of
from mortice.spark.execution.tasks import (
    MANY_CORES,
    PlannedScan,
    SerializedTasks,
    TaskOptions,
    serialize_tasks,
    tasks_of,
)
from mortice.spark.schema import spark_arrow_schema, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from mortice.spark.execution.metrics import Metrics

_MOST_FUNCTION_BYTES = 16 * 1024 * 1024
"""Splits that a function may contain. Spark keeps a function in memory as bytes, and sends all of it to each executor;
splits in rows are sent to their tasks alone. Tables that are broadcast, with 1.25 MB of files by default, have far
less."""
_BYTES_IN_MEMORY = 8
"""The assumed ratio of rows in memory to compressed files; for the broadcast hint only."""
_UNITS = {"": 0, "b": 0, "k": 1, "kb": 1, "m": 2, "mb": 2, "g": 3, "gb": 3, "t": 4, "tb": 4, "p": 5, "pb": 5}
_MOST_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"


def data_frame(
    spark: SparkSession, scan: PlannedScan, options: TaskOptions | None = None, metrics: Metrics | None = None
) -> DataFrame:
    """Returns the rows of a scan as a DataFrame. `mortice.spark.execution.tasks` decides how many tasks read them.

    Args:
        spark: The session.
        scan: The planned query.
        options: The options of the tasks.
        metrics: Accumulates what the tasks read.
    """
    options = options or TaskOptions()
    schema, target = spark_schema(scan.schema), spark_arrow_schema(scan.schema)
    tasks = _tasks(spark, scan, options)
    if not tasks:
        return spark.createDataFrame([], schema)
    if not scan.schema.names:
        schema, target = spark_schema(ROWS_ALONE), ROWS_ALONE
    tell = None if metrics is None else metrics.reporter(spark)
    queries, descriptors = serialize_tasks(tasks)
    is_small = _is_small(spark, scan)
    in_function = _in_function(spark, descriptors, is_small=is_small)
    if in_function is not None:
        read = ReadNumbered(queries, in_function, target, tell, worker=options.worker)
        frame = task_numbers(spark, len(descriptors)).mapInArrow(read, schema)
        # Spark Connect 3.5 has numbers alone; there the hint prevents the broadcast of a large table.
        frame = frame if is_small else frame.hint("merge")
    else:
        rows = _described(spark, descriptors, on_connect=is_connect(spark))
        frame = rows.mapInArrow(ReadDescriptors(queries, target, tell, worker=options.worker), schema)
    return frame if scan.schema.names else frame.drop(*ROWS_ALONE.names)


def count_rows(spark: SparkSession, scan: PlannedScan, options: TaskOptions | None = None) -> int:
    """Returns the number of rows of a scan. Tasks count them: no rows are sent to the JVM."""
    options = options or TaskOptions()
    scan = scan.without_columns()
    queries, descriptors = serialize_tasks(_tasks(spark, scan, options))
    if not descriptors:
        return 0
    schema = spark_schema(COUNTS)
    if _has_numbers_alone(spark):
        count = CountNumbered(queries, list(descriptors), COUNTS, worker=options.worker)
        frame = task_numbers(spark, len(descriptors)).mapInArrow(count, schema)
    else:
        rows = _described(spark, descriptors, on_connect=is_connect(spark))
        frame = rows.mapInArrow(CountDescriptors(queries, COUNTS, worker=options.worker), schema)
    return sum(row[0] for row in frame.collect())


def collected(
    spark: SparkSession,
    scan: PlannedScan,
    function: Callable[[list[bytes], list[list[bytes]]], ReadNumbered],
    schema: pa.Schema,
) -> list[Row]:
    """Returns what a function makes of the splits of each task, as rows.

    Args:
        spark: The session.
        scan: The planned query.
        function: Makes the function that tasks run of the queries and the splits of all tasks.
        schema: The columns that it returns.
    """
    queries, descriptors = serialize_tasks(_tasks(spark, scan, TaskOptions()))
    if not descriptors:
        return []
    frame = task_numbers(spark, len(descriptors)).mapInArrow(function(queries, list(descriptors)), spark_schema(schema))
    rows: list[Row] = frame.collect()
    return rows


def _tasks(spark: SparkSession, scan: PlannedScan, options: TaskOptions) -> list[tuple[Split, ...]]:
    cores = MANY_CORES if is_connect(spark) else spark.sparkContext.defaultParallelism
    return tasks_of(scan, options.split_bytes, cores)


def _in_function(spark: SparkSession, tasks: SerializedTasks, *, is_small: bool) -> list[list[bytes]] | None:
    """Returns the splits of all tasks if they are sent in the function that reads them; None if each task is sent its
    own in a row.

    On Spark Connect 3.5 the function contains all splits of any table.
    """
    if _has_numbers_alone(spark):
        return list(tasks)
    return tasks.within(_MOST_FUNCTION_BYTES) if is_small else None


def _has_numbers_alone(spark: SparkSession) -> bool:
    """Returns true if there are neither RDDs nor Python data sources: Spark Connect 3.5."""
    return is_connect(spark) and not hasattr(spark, "dataSource")


def task_numbers(spark: SparkSession, tasks: int) -> DataFrame:
    """Returns a DataFrame of the numbers of tasks, each in a partition of its own."""
    return spark.range(0, tasks, 1, numPartitions=tasks)


class DescriptorRows:
    """The rows of tasks. PySpark asks an object with `__len__` for its length and iterates over it while it writes its
    file for the JVM; it makes a list of any other."""

    def __init__(self, tasks: SerializedTasks) -> None:
        self._tasks = tasks

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[tuple[list[bytearray]]]:
        for task in self._tasks:
            yield ([bytearray(descriptor) for descriptor in task],)


def _described(spark: SparkSession, tasks: SerializedTasks, *, on_connect: bool) -> DataFrame:
    """Returns a DataFrame with one row and one partition for each task, whose size is unknown to Spark."""
    if on_connect:
        from mortice.spark.execution.partitions import described_tasks

        return described_tasks(spark, tasks)
    from pyspark.sql.types import ArrayType, BinaryType, StructType

    rows = spark.sparkContext.parallelize(DescriptorRows(tasks), len(tasks))
    schema = StructType().add(DESCRIPTORS, ArrayType(BinaryType()))
    frame = rows_of(spark, rows, schema)
    return spark.createDataFrame(rows, schema, verifySchema=False) if frame is None else frame


def is_connect(spark: SparkSession) -> bool:
    """Returns true for Spark Connect, which has neither RDDs nor accumulators."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _is_small(spark: SparkSession, scan: PlannedScan) -> bool:
    """Returns true if the rows are certainly below the session's broadcast threshold."""
    most = _bytes(str(spark.conf.get(_MOST_BROADCAST)))
    return scan.size * _BYTES_IN_MEMORY <= most


def _bytes(text: str) -> int:
    """Parses bytes as in Spark's configuration: `10485760b`, `10MB`, `-1`."""
    found = re.fullmatch(r"(-?\d+)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _UNITS:
        return -1
    return int(found[1]) << 10 * _UNITS[found[2]]
