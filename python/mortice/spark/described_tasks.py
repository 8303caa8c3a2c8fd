"""Rows that hold the splits of a task each, for `mapInArrow` on Spark Connect, which has no RDD.

They come from a Python data source: every row is a partition, its splits travel with it alone, and Spark takes its size
to be unknown. Over `spark.range` or a local relation Spark would take the whole table to be as small as those, and
broadcast it in a join.
"""

from __future__ import annotations

import base64
import json
import weakref
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from mortice.spark.arrow_udf import DESCRIPTORS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["described_tasks"]

_TASKS = "tasks"
_registered: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def described_tasks(spark: SparkSession, tasks: Sequence[Sequence[bytes]]) -> DataFrame:
    """One row and one partition for each task: the splits of the task."""
    if spark not in _registered:
        spark.dataSource.register(DescribedTasks)
        _registered.add(spark)
    return spark.read.format(DescribedTasks.name()).option(_TASKS, _packed(tasks)).load()


def _packed(tasks: Sequence[Sequence[bytes]]) -> str:
    texts = [[descriptor.decode("latin-1") for descriptor in task] for task in tasks]
    return base64.b64encode(zlib.compress(json.dumps(texts).encode("ascii"))).decode("ascii")


def _unpacked(text: str) -> list[list[bytes]]:
    texts = json.loads(zlib.decompress(base64.b64decode(text)))
    return [[descriptor.encode("latin-1") for descriptor in task] for task in texts]


class DescribedTasks(DataSource):
    """The tasks of the one query that its option holds."""

    @classmethod
    def name(cls) -> str:
        """Not for users: `format("mortice")` is the source."""
        return "mortice_described_tasks"

    def schema(self) -> str:
        """As `mortice.spark.arrow_udf.ReadDescriptors` takes it."""
        return f"{DESCRIPTORS} array<binary>"

    def reader(self, schema: object) -> DataSourceReader:  # noqa: ARG002
        """Hands the tasks out."""
        return _Reader(_unpacked(self.options[_TASKS]))


class _Reader(DataSourceReader):
    def __init__(self, tasks: list[list[bytes]]) -> None:
        self._tasks = tasks

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(task) for task in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[tuple[list[bytes]]]:
        yield (partition.value,)

    def __getstate__(self) -> dict[str, object]:
        """It travels to every task; the tasks do not travel with it."""
        return {"_tasks": []}
