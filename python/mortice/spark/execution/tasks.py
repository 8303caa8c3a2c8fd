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
from itertools import islice
from typing import Protocol

import pyarrow as pa

from mortice.spark.execution.worker import WorkerOptions
from mortice.split import Split, serialize_splits

__all__ = ["DEFAULT_SPLIT_BYTES", "MANY_CORES", "PlannedScan", "TaskOptions", "serialize_tasks", "tasks_of"]

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
    """The methods of `mortice.scan.Scan` that are used here. That module imports `mortice.spark` to create
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


def serialize_tasks(tasks: Sequence[Sequence[Split]]) -> tuple[list[bytes], list[list[bytes]]]:
    """Returns the queries of all splits, each once, and the splits of each task without them (see
    `serialize_splits`)."""
    queries, rests = serialize_splits(split for task in tasks for split in task)
    rest = iter(rests)
    return queries, [list(islice(rest, len(task))) for task in tasks]


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
