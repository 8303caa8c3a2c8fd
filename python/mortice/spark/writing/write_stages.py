"""The steps of a write, as DataFrames with the function that tasks run.

Rows are sent as chunks: a row of these DataFrames is a part of a record batch in Arrow's own format, with the task that
it is for. So the JVM moves some bytes for thousands of rows. `RunStage` passes batches from Spark to the native stage
and back. `rust/client/src/distributed` describes stages and chunks.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice import _mortice
from mortice.spark.execution.data_frame import task_numbers
from mortice.spark.execution.private import session_key
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.execution.worker import WorkerOptions
from mortice.spark.settings.write_options import parallelism

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# As `rust/client/src/distributed/exchange/chunk.rs` has them.
NUMBERS = ("slot", "target", "kind", "source", "number")
CONTENTS = ("report", "data")
SCHEMA = pa.schema(
    [*(pa.field(name, pa.int32()) for name in NUMBERS), *(pa.field(name, pa.binary()) for name in CONTENTS)]
)
SPARK_SCHEMA = ", ".join([*(f"{name} int" for name in NUMBERS), *(f"{name} binary" for name in CONTENTS)])
ORDER = ("target", "kind", "source", "number")
"""Chunks of a slot come in this order."""
REPORT, WANTED = 5, 3
"""Kinds of chunks: what a task reports, and keys whose stored rows are to be read."""


BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
CHUNKS_IN_BATCH = 32
"""Chunks are about a mebibyte each. Spark's default, 10,000 rows, would be all of a task's input."""


class RunStage:
    """A function for `mapInArrow` that runs a native stage."""

    def __init__(self, stage: bytes) -> None:
        self.stage = stage

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        WorkerOptions().prepare()
        first = next(batches, None)
        schema = pa.schema([]) if first is None else first.schema
        rest = batches if first is None else itertools.chain([first], batches)
        reader = pa.RecordBatchReader.from_batches(schema, rest)
        for batch in _mortice.run_stage(self.stage, _attempt(), reader):
            yield pa.record_batch(batch)


def _attempt() -> tuple[int, int, int]:
    """Returns partition, stage and attempt of the task. No other attempt of the session has this number."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return (0, 0, 0) if context is None else (context.partitionId(), context.stageId(), context.taskAttemptId())


class Frames:
    """The DataFrames of one write. `unpersist` ends their use."""

    def __init__(self, spark: SparkSession, df: DataFrame) -> None:
        self._spark = spark
        self._df = df
        self._persisted: list[DataFrame] = []
        self._rows: DataFrame | None = None

    def prepare(self, stage: bytes) -> list[bytes]:
        """Computes the user's rows and persists them as prepared rows. Returns what the tasks report."""
        return self._kept(self._df.mapInArrow(RunStage(stage), SPARK_SCHEMA))

    def tag(self, partitions: int, stages: Mapping[str, bytes], key_tasks: int) -> list[bytes]:
        """Tags prepared rows and persists them. Returns what the tasks report.

        Args:
            partitions: Partitions of the shuffled DataFrame.
            stages: `split`, `tag` and, if keys of base files are needed, `read_keys`.
            key_tasks: The number of tasks that read keys.
        """
        with _small_batches(self._spark):
            chunks = self._source().mapInArrow(RunStage(stages["split"]), SPARK_SCHEMA)
            if "read_keys" in stages:
                numbers = task_numbers(self._spark, key_tasks)
                chunks = chunks.union(numbers.mapInArrow(RunStage(stages["read_keys"]), SPARK_SCHEMA))
            return self._kept(_shuffled(chunks, partitions).mapInArrow(RunStage(stages["tag"]), SPARK_SCHEMA))

    def move(self, partitions: int, stages: Mapping[str, bytes]) -> list[bytes]:
        """Merges tagged rows with the stored rows of their keys and persists them. Returns what the tasks report.

        Args:
            partitions: Partitions of the shuffled DataFrames.
            stages: `read_rows` and `merge`.
        """
        with _small_batches(self._spark):
            tagged = self._source()
            wanted = tagged.where(f"kind = {WANTED}")
            stored = _shuffled(wanted, partitions).mapInArrow(RunStage(stages["read_rows"]), SPARK_SCHEMA)
            chunks = tagged.where(f"kind not in ({WANTED}, {REPORT})").union(stored)
            return self._kept(_shuffled(chunks, partitions).mapInArrow(RunStage(stages["merge"]), SPARK_SCHEMA))

    def write(self, partitions: int, stages: Mapping[str, bytes]) -> list[bytes]:
        """Writes placed rows. Returns what the tasks report.

        Args:
            partitions: Partitions of the shuffled DataFrame.
            stages: `route` and `write`.
        """
        with _small_batches(self._spark):
            chunks = self._source().mapInArrow(RunStage(stages["route"]), SPARK_SCHEMA)
            return _reports(_shuffled(chunks, partitions).mapInArrow(RunStage(stages["write"]), SPARK_SCHEMA))

    def insert(self, stage: bytes) -> list[bytes]:
        """Lets tasks write the user's rows where they are. Returns what the tasks report."""
        return _reports(self._df.mapInArrow(RunStage(stage), SPARK_SCHEMA))

    def to_driver(self) -> pa.Table:
        """Fetches the chunks of the last step, and ends the use of the DataFrames."""
        columns = list(zip(*self._source().collect(), strict=True)) or [()] * len(SCHEMA)
        self.unpersist()
        contents = [[None if one is None else bytes(one) for one in column] for column in columns[len(NUMBERS) :]]
        arrays = zip([*columns[: len(NUMBERS)], *contents], SCHEMA, strict=True)
        return pa.Table.from_arrays([pa.array(column, field.type) for column, field in arrays], schema=SCHEMA)

    def _source(self) -> DataFrame:
        if self._rows is None:
            raise AssertionError("rows are used before they were prepared")
        return self._rows

    def _kept(self, frame: DataFrame) -> list[bytes]:
        """Persists the chunks of a step, in place of those of the step before. Returns the reports among them."""
        before, self._rows = self._persisted, frame.persist()
        self._persisted = [*before, self._rows]
        reports = _reports(self._rows)
        for done in before:
            done.unpersist()
        self._persisted = [self._rows]
        return reports

    def unpersist(self) -> None:
        """Unpersists what is persisted."""
        for frame in self._persisted:
            # The session may have ended.
            with contextlib.suppress(Exception):
                frame.unpersist()
        self._persisted = []


def _shuffled(chunks: DataFrame, partitions: int) -> DataFrame:
    """Returns the chunks with those of a target in one partition, in order."""
    return chunks.repartition(partitions, "slot").sortWithinPartitions(*ORDER)


class SparkTasks:
    """Runs stages for services that the native module does in one call, and for those after a write.

    Args:
        spark: The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.parallelism = parallelism(spark)

    def run(self, stage: bytes, tasks: int) -> list[bytes]:
        """Runs a stage whose tasks read files. Returns what they report."""
        if tasks == 0:
            return []
        with typed_errors():
            return _reports(task_numbers(self._spark, tasks).mapInArrow(RunStage(stage), SPARK_SCHEMA))

    def exchange(self, read: bytes, tasks: int, then: bytes, partitions: int) -> list[bytes]:
        """Runs a stage whose tasks read files, and one that gets what they send. Returns what the latter reports.

        Args:
            read: The stage that reads.
            tasks: The number of its tasks.
            then: The stage that gets the chunks.
            partitions: Partitions of the shuffled DataFrame.
        """
        with typed_errors(), _small_batches(self._spark):
            chunks = task_numbers(self._spark, tasks).mapInArrow(RunStage(read), SPARK_SCHEMA)
            return _reports(_shuffled(chunks, partitions).mapInArrow(RunStage(then), SPARK_SCHEMA))


def _reports(frame: DataFrame) -> list[bytes]:
    rows = frame.where(f"kind = {REPORT}").select("report").collect()
    return [bytes(row[0]) for row in rows]


_lock = threading.Lock()
_small: dict[str, tuple[int, str | None]] = {}
"""Writes under way by session, and what the session's setting was before the first of them."""


@contextlib.contextmanager
def _small_batches(spark: SparkSession) -> Iterator[None]:
    """Has Spark hand few chunks at a time to Python. Other queries of the session are slower meanwhile, and right."""
    key = session_key(spark)
    with _lock:
        writes, before = _small.get(key, (0, None))
        if writes == 0:
            before = spark.conf.get(BATCH_ROWS, None)
            spark.conf.set(BATCH_ROWS, str(CHUNKS_IN_BATCH))
        _small[key] = (writes + 1, before)
    try:
        yield
    finally:
        with _lock:
            writes, before = _small.pop(key)
            if writes > 1:
                _small[key] = (writes - 1, before)
            elif before is None:
                spark.conf.unset(BATCH_ROWS)
            else:
                spark.conf.set(BATCH_ROWS, before)
