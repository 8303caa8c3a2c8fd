"""The functions that run on executors: they convert splits to Arrow batches with exactly Spark's types.

Both entry points use them. One generator reads one split at a time and buffers nothing: writing to the JVM blocks,
which is sufficient back-pressure. No thread outlives a split, since Spark forks its workers.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.reading.split import Split, deserialize_splits, record_batches
from mortice.spark.execution.worker import WorkerOptions
from mortice.values.metrics import Counts, Meter, format_counts

if TYPE_CHECKING:
    from mortice._mortice import ReadReport

DESCRIPTORS = "splits"
"""The only column of the input of `mapInArrow`: each row contains the splits of one task, without their queries."""
COUNTS = pa.schema([pa.field("rows", pa.int64())])
"""The schema of the batches of `counted`."""
ROWS_ALONE = pa.schema([pa.field("_mortice_row", pa.bool_())])
"""A column of nulls for a query without columns: Spark 3.5 loses the number of rows without columns, and later releases
create a Python object for each."""
MOST_BATCH_BYTES = 16 * 1024 * 1024
"""Spark's JVM allocates every batch in one piece, outside its heap."""

LOG_LEVEL = "MORTICE_LOG"
"""The environment variable with the log level of workers; `INFO` logs one line for each split. By default, Python logs
warnings only."""

logger = logging.getLogger("mortice.spark")


def set_log_level(environment: Mapping[str, str] = os.environ) -> None:
    """Sets the level that the environment variable names."""
    level = environment.get(LOG_LEVEL, "").strip().upper()
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        return
    logger.setLevel(level)
    # If Spark collects the logs of workers, it has added its own handler.
    if "PYSPARK_SPARK_SESSION_UUID" not in environment and not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())


set_log_level()


Tell = Callable[[Counts], None]
"""Receives the counts of a split that was read to its end (see `mortice.values.metrics`)."""


def task_batches(splits: Iterable[Split], target: pa.Schema, tell: Tell | None = None) -> Iterator[pa.RecordBatch]:
    """Yields the rows of the splits of a task, one split after the other, in batches of the schema `target`."""
    for split in splits:
        yield from split_batches(split, target, tell)


def split_batches(split: Split, target: pa.Schema, tell: Tell | None = None) -> Iterator[pa.RecordBatch]:
    """Yields the rows of one split in batches of the schema `target`."""
    meter = Meter()
    stream = split.stream()
    meter.lap("open")
    for batch in record_batches(stream):
        meter.batch(batch.num_rows, batch.nbytes)
        for portion in portions(conformed(batch, target)):
            meter.lap("convert")
            yield portion
            meter.lap("consumer")
    meter.lap("read")
    report = stream.report()
    _tell_of_damage(split, report)
    counts = meter.counts(report, splits=1, file_bytes=split.size)
    logger.info("read %r: %s", split, format_counts(counts))
    if tell is not None:
        tell(counts)


def conformed(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """Returns the batch with the child names and nullability of `target`. The types are the same; no data is copied.

    A batch without columns gets the one of `ROWS_ALONE` if that is the target.
    """
    if batch.num_columns == 0 and target.equals(ROWS_ALONE):
        return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, pa.bool_())], schema=ROWS_ALONE)
    if batch.num_columns != len(target):
        raise AssertionError(f"a batch of {batch.num_columns} columns where {len(target)} were planned")
    columns = [_as_type(column, field) for column, field in zip(batch.columns, target, strict=True)]
    if not columns:
        return batch
    return pa.RecordBatch.from_arrays(columns, schema=target)


def _as_type(column: pa.Array, field: pa.Field) -> pa.Array:
    if not field.nullable and column.null_count:
        raise InvalidArgumentError(f"the column {field.name!r} holds nulls, but the schema given says NOT NULL")
    if str(column.type) == str(field.type):
        return column
    if pa.types.is_struct(field.type):
        # A cast refuses children that are not nullable, as those of Spark's variants.
        children = [_as_type(column.field(at), child.with_nullable(True)) for at, child in enumerate(field.type)]
        return pa.StructArray.from_arrays(children, fields=list(field.type), mask=column.is_null())
    # Only the names and the nullability of children differ.
    return column.cast(field.type, safe=True)


def portions(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yields the batch, in parts if it is too large for the JVM to allocate at once."""
    if batch.nbytes <= MOST_BATCH_BYTES or batch.num_rows <= 1:
        yield batch
        return
    rows = max(1, batch.num_rows * MOST_BATCH_BYTES // batch.nbytes)
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _tell_of_damage(split: Split, report: ReadReport) -> None:
    """Logs one warning for a split with corrupt blocks, unless they were damage, of which the read has warned."""
    corrupt = report.get("corrupt") or []
    if corrupt and not report.get("damaged"):
        places = "; ".join(f"{block['file']} at offset {block['offset']}: {block['reason']}" for block in corrupt)
        logger.warning(
            "[MORTICE-CORRUPT-LOG] %d corrupt log blocks were left out of %r: %s", len(corrupt), split, places
        )


def counted(splits: Iterable[Split]) -> Iterator[pa.RecordBatch]:
    """Yields one batch of one row: the number of rows of the splits of a task."""
    rows = sum(batch.num_rows for split in splits for batch in record_batches(split.stream()))
    yield pa.RecordBatch.from_arrays([pa.array([rows], pa.int64())], schema=COUNTS)


class ReadDescriptors:
    """A function for `mapInArrow` over rows of which each is a task.

    A row contains the splits of its task, or their number; the function then contains the splits of all tasks. That is
    for tables with small files and few splits, and for Spark Connect 3.5, where the splits of a large table are all in
    memory as bytes. The queries of the splits are in the function, which Spark sends to an executor once.

    Args:
        queries: The serialised queries.
        read: Makes batches of the splits of a task, such as `task_batches`.
        tasks: The splits of each task, without their queries; None if rows contain them.
        worker: What the worker prepares before a task.
        splits: The number of splits, which `explain()` shows.
    """

    def __init__(
        self,
        queries: Sequence[bytes],
        read: Callable[[Iterable[Split]], Iterator[pa.RecordBatch]],
        tasks: Sequence[list[bytes]] | None = None,
        *,
        worker: WorkerOptions = WorkerOptions(),  # noqa: B008 (frozen)
        splits: int | None = None,
    ) -> None:
        # Spark's name of a function in a plan.
        self.__name__ = "mortice" if splits is None else f"mortice_reads_{splits}_split{'s' * (splits != 1)}"
        self.queries = queries
        self.read = read
        self.tasks = tasks
        self.worker = worker

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self.worker.prepare()
        for batch in batches:
            for value in batch.column(0).to_pylist():
                task: list[bytes] = value if self.tasks is None else self.tasks[value]
                yield from self.read(deserialize_splits(self.queries, task))
