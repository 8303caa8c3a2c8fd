"""Converts a planned query to a Spark DataFrame: `mapInArrow` over rows that contain the splits of one task each.

Spark estimates the size of a `mapInArrow` from its input. The size of rows from an RDD, or on Spark Connect from a
Python data source, is unknown, so no join broadcasts the whole table by mistake. A range of numbers is small: Spark
broadcasts rows that are made of it by its own threshold, so the tasks of a table with small files are numbered. A hint
would do it as well, but Spark warns of hints in plans without joins.

Metrics count what the tasks of a query read, collected on the driver by an accumulator; no listener is needed.
Accumulators exist in classic Spark and only in functions of `mapInArrow`. Spark Connect has none, and neither have
Python data sources. There, each split writes the same counts to the log of its executor if the environment has
`MORTICE_LOG=INFO` (see `mortice.spark.execution.arrow_udf`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from mortice.reading.split import Split
from mortice.spark.execution.arrow_udf import (
    COUNTS,
    DESCRIPTORS,
    ROWS_ALONE,
    ReadDescriptors,
    counted,
    task_batches,
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
from mortice.values.metrics import Counts, added, format_counts

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator, AccumulatorParam
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.types import StructType

    from mortice.spark.execution.worker import WorkerOptions


class Adding:
    """Adds counts by name: pyspark's `AccumulatorParam`, which is imported only when there is a session."""

    def zero(self, value: Counts) -> Counts:  # noqa: ARG002
        return {}

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:  # noqa: N802
        return added(value1, value2)


class Tell:
    """The function that a task calls."""

    def __init__(self, accumulator: Accumulator[Counts]) -> None:
        self._accumulator = accumulator

    def __call__(self, counts: Counts) -> None:
        self._accumulator.add(counts)


class Metrics:
    """Counts of what Spark's tasks have read, for one DataFrame or several.

        metrics = mortice.spark.Metrics()
        frame = mortice.spark.read(spark, "/lake/trips", metrics=metrics)
        frame.count()
        print(metrics)                 # or metrics.counts()

    The names are those of `mortice.values.metrics`. A split is counted when it has been read to its end. A task that
    Spark runs again, or a second action on the same DataFrame, is counted again.
    """

    def __init__(self) -> None:
        self._accumulators: list[Accumulator[Counts]] = []

    def counts(self) -> Counts:
        """Returns the sums so far. Empty before the first split has been read to its end, and on Spark Connect."""
        sums: Counts = {}
        for accumulator in self._accumulators:
            sums = added(sums, accumulator.value)
        return sums

    def reporter(self, spark: SparkSession) -> Tell | None:
        """Returns a function that a task calls with the counts of a split; None on Spark Connect."""
        if not hasattr(spark, "_jsparkSession"):
            warnings.warn(
                "Spark Connect has no accumulators: metrics stay empty; executors log a line for each split instead",
                RuntimeWarning,
                stacklevel=2,
            )
            return None
        empty: Counts = {}
        accumulator = spark.sparkContext.accumulator(empty, cast("AccumulatorParam[Counts]", Adding()))
        self._accumulators.append(accumulator)
        return Tell(accumulator)

    def __str__(self) -> str:
        counts = self.counts()
        return f"{counts.get('splits', 0)} splits read by Spark: {format_counts(counts)}"


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
    is_small = _is_small(spark, scan)
    read = partial(task_batches, target=target, tell=tell)
    frame = _mapped(spark, serialize_tasks(tasks), read, schema, options.worker, is_small=is_small)
    # Spark Connect 3.5 has numbers alone; there the hint prevents the broadcast of a large table.
    frame = frame if is_small or not _has_numbers_alone(spark) else frame.hint("merge")
    return frame if scan.schema.names else frame.drop(*ROWS_ALONE.names)


def count_rows(spark: SparkSession, scan: PlannedScan, options: TaskOptions | None = None) -> int:
    """Returns the number of rows of a scan. Tasks count them: no rows are sent to the JVM."""
    options = options or TaskOptions()
    tasks = serialize_tasks(_tasks(spark, scan.without_columns(), options))
    if not tasks[1]:
        return 0
    frame = _mapped(spark, tasks, counted, spark_schema(COUNTS), options.worker, is_small=False)
    return sum(row[0] for row in frame.collect())


def collected(
    spark: SparkSession,
    scan: PlannedScan,
    read: Callable[[Iterable[Split]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
) -> list[Row]:
    """Returns what a function makes of the splits of each task, as rows.

    Args:
        spark: The session.
        scan: The planned query.
        read: The function that tasks run.
        schema: The columns that it returns.
    """
    queries, descriptors = serialize_tasks(_tasks(spark, scan, TaskOptions()))
    if not descriptors:
        return []
    function = ReadDescriptors(queries, read, list(descriptors))
    rows: list[Row] = task_numbers(spark, len(descriptors)).mapInArrow(function, spark_schema(schema)).collect()
    return rows


def _mapped(
    spark: SparkSession,
    tasks: tuple[list[bytes], SerializedTasks],
    read: Callable[[Iterable[Split]], Iterator[pa.RecordBatch]],
    schema: StructType,
    worker: WorkerOptions,
    *,
    is_small: bool,
) -> DataFrame:
    """Returns what a function makes of the splits of each task.

    Args:
        spark: The session.
        tasks: The queries of the splits, and the splits of each task.
        read: The function.
        schema: The columns that it returns.
        worker: What the worker prepares before a task.
        is_small: Whether Spark may broadcast the rows.
    """
    queries, descriptors = tasks
    in_function = _in_function(spark, descriptors, is_small=is_small)
    function = ReadDescriptors(queries, read, in_function, worker=worker, splits=descriptors.split_count)
    rows = (
        _described(spark, descriptors, on_connect=is_connect(spark))
        if in_function is None
        else task_numbers(spark, len(descriptors))
    )
    return rows.mapInArrow(function, schema)


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
