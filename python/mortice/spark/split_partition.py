"""The splits of one task as Spark's partition, for batch queries and for streams."""

from __future__ import annotations

from pyspark.sql.datasource import InputPartition

from mortice.scan import Scan
from mortice.spark.tasks import tasks_of


class SplitPartition(InputPartition):
    """The splits of one task."""

    def __init__(self, descriptors: tuple[bytes, ...]) -> None:
        super().__init__(descriptors)


def partitions_of(scan: Scan, split_bytes: int) -> list[InputPartition]:
    """The tasks of a scan, the largest first, each of at most `split_bytes` bytes of files."""
    tasks = tasks_of(scan.splits(max_split_bytes=split_bytes), split_bytes)
    return [SplitPartition(tuple(split.to_bytes() for split in task)) for task in tasks]
