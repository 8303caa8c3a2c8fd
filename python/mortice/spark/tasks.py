"""Splits dealt out to Spark tasks: a large slice is several tasks, many small ones are one.

As Spark does it with files of its own (`FilePartition.maxSplitBytes`): a task reads up to `mortice.split.bytes`, less
where that would leave cores without work, and to open a split counts like 4 MiB of reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from mortice.split import Split, serialize_splits

__all__ = ["DEFAULT_SPLIT_BYTES", "MANY_CORES", "serialize_tasks", "tasks_of"]

DEFAULT_SPLIT_BYTES = 128 * 1024 * 1024
"""Bytes of files that one task reads, as for files of Spark's own."""
MANY_CORES = 200
"""The cores there are to be kept busy, where nobody says how many there are."""
_OPENING = 4 * 1024 * 1024


def tasks_of(splits: Sequence[Split], split_bytes: int, cores: int = MANY_CORES) -> list[tuple[Split, ...]]:
    """The splits of each task, of at most `split_bytes` bytes. The largest is first, so that it does not end alone."""
    most = min(split_bytes, max(_OPENING, sum(map(_cost, splits)) // cores))
    return sorted(_packed(splits, most), key=_size, reverse=True)


def serialize_tasks(tasks: Sequence[Sequence[Split]]) -> tuple[list[bytes], list[list[bytes]]]:
    """The queries of all splits, each once, and the splits of each task without them (see `serialize_splits`)."""
    queries, rests = serialize_splits(split for task in tasks for split in task)
    rest = iter(rests)
    return queries, [list(islice(rest, len(task))) for task in tasks]


def _packed(splits: Iterable[Split], most: int) -> Iterable[tuple[Split, ...]]:
    task: list[Split] = []
    room = 0
    for split in sorted(splits, key=lambda split: split.size, reverse=True):
        if task and _cost(split) > room:
            yield tuple(task)
            task = []
        if not task:
            room = most
        task.append(split)
        room -= _cost(split)
    if task:
        yield tuple(task)


def _cost(split: Split) -> int:
    return split.size + _OPENING


def _size(task: Sequence[Split]) -> int:
    return sum(split.size for split in task)
