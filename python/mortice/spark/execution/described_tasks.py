"""Rows that contain the splits of one task each, for `mapInArrow` on Spark Connect, which has no RDDs.

They are rows of a Python data source. Every row is a partition, its splits are sent only with it, and its size is
unknown to Spark. With `spark.range` or a local relation, Spark would assume that the table is as small as these, and
broadcast it in a join.
"""

from __future__ import annotations

import base64
import json
import weakref
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import ArrayType, BinaryType, StructType

from mortice.spark.execution.arrow_udf import DESCRIPTORS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["described_tasks"]

_TASKS = "tasks"
_SPLITS = pa.list_(pa.field("element", pa.binary()))
_registered: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def described_tasks(spark: SparkSession, tasks: Sequence[Sequence[bytes]]) -> DataFrame:
    """Returns a DataFrame with one row and one partition for each task: the splits of the task."""
    if spark not in _registered:
        spark.dataSource.register(DescribedTasks)
        _registered.add(spark)
    return spark.read.format(DescribedTasks.name()).option(_TASKS, _encoded(tasks)).load()


def _encoded(tasks: Sequence[Sequence[bytes]]) -> str:
    """Returns the option: compressed, since a plan of Spark Connect contains the splits of all tasks."""
    compressor = zlib.compressobj()
    compressed = bytearray(compressor.compress(b"["))
    for number, task in enumerate(tasks):
        text = json.dumps([descriptor.decode("latin-1") for descriptor in task])
        compressed += compressor.compress(f"{',' if number else ''}{text}".encode("ascii"))
    compressed += compressor.compress(b"]") + compressor.flush()
    return base64.b64encode(compressed).decode("ascii")


def _decoded(text: str) -> list[list[bytes]]:
    strings = json.loads(zlib.decompress(base64.b64decode(text)))
    return [[descriptor.encode("latin-1") for descriptor in task] for task in strings]


class DescribedTasks(DataSource):
    """The data source of the tasks of one query, which its option contains."""

    @classmethod
    def name(cls) -> str:
        """Returns the name of the source, which is not for users: they use `format("mortice")`."""
        return "mortice_described_tasks"

    def schema(self) -> StructType:
        """Returns the schema that `mortice.spark.execution.arrow_udf.ReadDescriptors` expects."""
        return StructType().add(DESCRIPTORS, ArrayType(BinaryType()))

    def reader(self, schema: object) -> DataSourceReader:  # noqa: ARG002
        """Returns the reader of the tasks."""
        return _Reader(_decoded(self.options[_TASKS]))


class _Reader(DataSourceReader):
    def __init__(self, tasks: list[list[bytes]]) -> None:
        self._tasks = tasks

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(task) for task in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Sail reads lists of rows only as Arrow.
        yield pa.record_batch({DESCRIPTORS: pa.array([partition.value], _SPLITS)})

    def __getstate__(self) -> dict[str, object]:
        """Pickles the reader for a task, without the list of tasks."""
        return {"_tasks": []}
