"""Counts of what the tasks of a query read, collected on the driver by an accumulator; no listener is needed.

Accumulators exist in classic Spark and only in functions of `mapInArrow`. Spark Connect has none, and neither have
Python data sources. There, each split writes the same counts to the log of its executor if the environment has
`MORTICE_LOG=INFO` (see `mortice.spark.execution.arrow_udf`).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, cast

from mortice.values.metrics import Counts, added, format_counts

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator, AccumulatorParam
    from pyspark.sql import SparkSession


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
