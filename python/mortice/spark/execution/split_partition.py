"""The splits of one task as Spark's partition, for batch queries and for streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pyspark.sql.datasource import InputPartition

from mortice.reading.split import Split, serialize_splits
from mortice.spark.execution.tasks import serialize_tasks

__all__ = ["SplitPartition", "complete_partition", "partitions_of"]


class SplitPartition(InputPartition):
    """The splits of one task: their queries, if they are not sent otherwise, and the splits without them."""

    def __init__(self, queries: Sequence[bytes], rests: Sequence[bytes]) -> None:
        super().__init__((tuple(queries), tuple(rests)))


class _PlannedPartition(InputPartition):
    """A partition in the process that plans. It is serialised when Spark pickles it, one after the other.

    Args:
        serialize: Returns the queries and the splits.
    """

    def __init__(self, serialize: Callable[[], tuple[Sequence[bytes], Sequence[bytes]]]) -> None:
        self._serialize = serialize

    @property
    def value(self) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """The value of the `SplitPartition` of the task."""
        queries, rests = self._serialize()
        return tuple(queries), tuple(rests)

    def __reduce__(self) -> tuple[Callable[..., SplitPartition], tuple[Any, ...]]:
        return SplitPartition, self.value


def partitions_of(tasks: Sequence[Sequence[Split]]) -> tuple[list[bytes], list[InputPartition]]:
    """Returns the queries of all tasks, each once, and partitions that do not contain them."""
    queries, rests = serialize_tasks(tasks)

    def of_task(number: int) -> tuple[Sequence[bytes], Sequence[bytes]]:
        return (), rests[number]

    return queries, [_PlannedPartition(partial(of_task, number)) for number in range(len(rests))]


def complete_partition(task: Sequence[Split]) -> InputPartition:
    """Returns a partition that contains the queries of its splits, each once."""
    return _PlannedPartition(partial(serialize_splits, task))
