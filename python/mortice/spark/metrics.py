"""What the tasks of a query read, told on the driver: by an accumulator, so that no listener need be installed.

An accumulator is classic Spark's, and reaches the function of `mapInArrow` alone. Spark Connect has none, and Spark
gives none to a Python data source: there, the log line that each split writes on its executor tells the same (see
`mortice.spark.arrow_udf`), where `MORTICE_LOG=INFO` is in its environment.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mortice.metrics import Counts, added, told

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

__all__ = ["Metrics"]


class Metrics:
    """Counts of what Spark's tasks have read, of one frame or of several.

        metrics = mortice.spark.Metrics()
        frame = mortice.spark.read(spark, "/lake/trips", metrics=metrics)
        frame.count()
        print(metrics)                 # or metrics.counts()

    The names are those of `mortice.metrics`. A split counts once it was read to its end; a task that Spark runs again,
    or a second action on the same frame, counts again.
    """

    def __init__(self) -> None:
        self._accumulators: list[Accumulator[Counts]] = []

    def counts(self) -> Counts:
        """The sums so far; empty before the first split was read to its end, and on Spark Connect."""
        sums: Counts = {}
        for accumulator in self._accumulators:
            sums = added(sums, accumulator.value)
        return sums

    def of(self, spark: SparkSession) -> Any:
        """Something that a task calls with the counts of a split; None on Spark Connect, which has no accumulators."""
        if not hasattr(spark, "_jsparkSession"):
            warnings.warn(
                "Spark Connect has no accumulators: metrics stay empty; executors log a line for each split instead",
                RuntimeWarning,
                stacklevel=2,
            )
            return None
        from mortice.spark.accumulated import Adding, Tell

        accumulator = spark.sparkContext.accumulator({}, Adding())
        self._accumulators.append(accumulator)
        return Tell(accumulator)

    def __str__(self) -> str:
        counts = self.counts()
        return f"{counts.get('splits', 0)} splits read by Spark: {told(counts)}"
