"""The accumulator of `mortice.spark.metrics`, in a separate file because defining one requires pyspark."""

from __future__ import annotations

from pyspark.accumulators import Accumulator, AccumulatorParam

from mortice.values.metrics import Counts, added

__all__ = ["Adding", "Tell"]


class Adding(AccumulatorParam[Counts]):
    """Adds counts by name."""

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
