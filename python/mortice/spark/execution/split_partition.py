"""The splits of one task as Spark's partition, for batch queries and for streams."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.datasource import InputPartition

from mortice.spark.execution.tasks import serialize_tasks
from mortice.split import Split, serialize_splits

__all__ = ["SplitPartition", "complete_partition", "partitions_of"]


class SplitPartition(InputPartition):
    """The splits of one task: their queries, if they are not sent otherwise, and the splits without them."""

    def __init__(self, queries: Sequence[bytes], rests: Sequence[bytes]) -> None:
        super().__init__((tuple(queries), tuple(rests)))


def partitions_of(tasks: Sequence[Sequence[Split]]) -> tuple[list[bytes], list[InputPartition]]:
    """Returns the queries of all tasks, each once, and partitions that do not contain them."""
    queries, rests = serialize_tasks(tasks)
    return queries, [SplitPartition((), rest) for rest in rests]


def complete_partition(task: Sequence[Split]) -> SplitPartition:
    """Returns a partition that contains the queries of its splits, each once."""
    return SplitPartition(*serialize_splits(task))
