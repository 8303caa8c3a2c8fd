"""Assigns splits to Spark tasks: a large slice is several tasks, many small ones are one.

The work of a split is the bytes that it reads, estimated from the sizes of its files and the columns of the query; to
open a split counts like 4 MiB (as `spark.sql.files.openCostInBytes`). A task has

* at most `mortice.split.bytes` of work, as files of Spark's own (`FilePartition.maxSplitBytes`),
* less if cores would be idle otherwise,
* but not less than 24 MiB if there is more: that takes a core about a quarter of a second, of which the fixed cost of a
  Python task is a tenth. A lookup, or one column of small slices, thus takes fewer tasks than there are slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, overload

import pyarrow as pa

from mortice.reading.split import NumberedQueries, Split
from mortice.spark.execution.worker import WorkerOptions

DEFAULT_SPLIT_BYTES = 128 * 1024 * 1024
"""Maximum bytes that one task reads, as for Spark's own file sources."""
MANY_CORES = 200
"""The assumed number of cores if it is unknown: a data source is planned in a process that has no session."""
_LEAST_BYTES = 24 * 1024 * 1024
_OPENING = 4 * 1024 * 1024
_UNEVEN = 1.1
"""What a task may have of its share of the work: slices of nearly one size would otherwise not fill it by whole
numbers, and the rest would be a task more."""
_LOG_KEYS = 0.25
"""The share of the work of reading a log that no projection saves: finding records and their keys. Measured: see
`benches/measurements.md`, key pass."""


class PlannedScan(Protocol):
    """The methods of `mortice.Scan` that are used here. That module imports `mortice.spark` to create
    DataFrames."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def size(self) -> int: ...

    def base_share(self) -> float: ...

    def splits(self, max_split_bytes: int | None = None) -> list[Split]: ...

    def without_columns(self) -> PlannedScan: ...


@dataclass(frozen=True)
class TaskOptions:
    """Options of the tasks of a query."""

    split_bytes: int = DEFAULT_SPLIT_BYTES
    """`mortice.split.bytes`."""
    spark_parquet: bool = True
    """`mortice.spark.parquet`: whether Spark's own reader reads files whose rows need no merge."""
    worker: WorkerOptions = field(default_factory=WorkerOptions)


def tasks_of(
    scan: PlannedScan, split_bytes: int = DEFAULT_SPLIT_BYTES, cores: int = MANY_CORES
) -> list[tuple[Split, ...]]:
    """Returns the splits of each task, the task with the most work first, so that it does not end last.

    Args:
        scan: The planned query.
        split_bytes: Bytes that a task reads, at most; a slice that is larger is divided.
        cores: Cores to keep busy.
    """
    splits = scan.splits()
    if not splits:
        return []
    work = _Work(scan.base_share())
    read = sum(map(work.bytes, splits))
    share = (read + _OPENING * len(splits)) / cores
    most = min(split_bytes, max(_LEAST_BYTES, int(share * _UNEVEN)))
    # If a projection reads little of a slice, one task reads more bytes of files.
    files = sum(split.size for split in splits)
    largest = max(split_bytes, most * files // max(read, 1))
    if any(split.size > largest for split in splits):
        splits = scan.splits(max_split_bytes=largest)
    return sorted(_packed(splits, work, most), key=lambda task: sum(map(work.bytes, task)), reverse=True)


class SerializedTasks(Sequence[list[bytes]]):
    """The splits of each task, serialised without their queries.

    A task is serialised each time that it is read: a table has a million splits of some hundred bytes, and Spark sends
    one task after the other.
    """

    def __init__(self, tasks: Sequence[Sequence[Split]], queries: NumberedQueries) -> None:
        self._tasks = tasks
        self._queries = queries

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def split_count(self) -> int:
        """The number of splits of all tasks."""
        return sum(map(len, self._tasks))

    @overload
    def __getitem__(self, number: int) -> list[bytes]: ...

    @overload
    def __getitem__(self, number: slice) -> SerializedTasks: ...

    def __getitem__(self, number: int | slice) -> list[bytes] | SerializedTasks:
        """Returns the splits of a task; of a slice the tasks."""
        if isinstance(number, slice):
            return SerializedTasks(self._tasks[number], self._queries)
        return [self._queries.serialize(split) for split in self._tasks[number]]

    def within(self, most_bytes: int) -> list[list[bytes]] | None:
        """Returns the splits of all tasks, or None if they have more bytes."""
        tasks, size = [], 0
        for task in self:
            tasks.append(task)
            size += sum(map(len, task))
            if size > most_bytes:
                return None
        return tasks


def serialize_tasks(tasks: Sequence[Sequence[Split]]) -> tuple[list[bytes], SerializedTasks]:
    """Returns the queries of all splits, each once, and the splits of each task without them (see
    `serialize_splits`)."""
    queries = NumberedQueries(split for task in tasks for split in task)
    return queries.to_bytes(), SerializedTasks(tasks, queries)


@dataclass(frozen=True)
class _Work:
    """The estimated work of splits of one query."""

    base_share: float
    """The share of the bytes of base files that is read."""

    def bytes(self, split: Split) -> int:
        """Returns the bytes that are read. Keys of logs are always read."""
        logs = split.log_size
        log_share = _LOG_KEYS + (1 - _LOG_KEYS) * self.base_share
        return int((split.size - logs) * self.base_share + logs * log_share)

    def cost(self, split: Split) -> int:
        """Returns the bytes that are read and the cost of opening the split."""
        return self.bytes(split) + _OPENING


def _packed(splits: Iterable[Split], work: _Work, most: int) -> Iterable[tuple[Split, ...]]:
    task: list[Split] = []
    left = 0
    for split in sorted(splits, key=work.bytes, reverse=True):
        cost = work.cost(split)
        if task and cost > left:
            yield tuple(task)
            task = []
        if not task:
            left = most
        task.append(split)
        left -= cost
    if task:
        yield tuple(task)
