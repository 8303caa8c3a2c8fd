"""The splits of one task as a partition of a Python data source (Spark 4): of queries and streams, and of rows.

The latter, with the splits of a task each, are for `mapInArrow` on Spark Connect, which has no RDDs. Every row is a
partition, its splits are sent only with it, and its size is unknown to Spark. With `spark.range` or a local relation,
Spark would assume that the table is as small as these, and broadcast it in a join.
"""

from __future__ import annotations

import base64
import json
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import ArrayType, BinaryType, StructType

from mortice.reading.split import Split, serialize_splits
from mortice.spark.execution.arrow_udf import DESCRIPTORS
from mortice.spark.execution.tasks import serialize_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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

    def __reduce__(self) -> tuple[Callable[..., SplitPartition], tuple[object, ...]]:
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
