"""The stages after the first, run by threads of the driver: for few rows, which a job of Spark would take longer to
plan than to write.

Stages and chunks are those of `write_stages`. What Spark shuffles is sorted here.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mortice import _mortice
from mortice.spark.writing.chunks import ORDER, REPORT, SCHEMA, WANTED

__all__ = ["DriverStages"]


class DriverStages:
    """The steps of `Frames`, after the first one.

    Args:
        rows: What the first step has handed on: rows of the columns of chunks.
    """

    def __init__(self, rows: Iterable[Sequence[Any]]) -> None:
        columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
        numbers = [pa.array(column, pa.int32()) for column in columns[:5]]
        contents = [
            pa.array([None if one is None else bytes(one) for one in column], pa.binary()) for column in columns[5:]
        ]
        self._chunks = pa.Table.from_arrays([*numbers, *contents], schema=SCHEMA)
        self._stages = itertools.count(1)

    def tag(self, partitions: int, stages: Mapping[str, bytes], key_tasks: int) -> list[bytes]:  # noqa: ARG002
        """As `Frames.tag`."""
        chunks = self._run(stages["split"], self._parts())
        if "read_keys" in stages:
            numbers = [pa.table({"id": pa.array([task], pa.int64())}) for task in range(key_tasks)]
            chunks = pa.concat_tables([chunks, self._run(stages["read_keys"], numbers)])
        return self._kept(self._run(stages["tag"], _shuffled(chunks)))

    def move(self, partitions: int, stages: Mapping[str, bytes]) -> list[bytes]:  # noqa: ARG002
        """As `Frames.move`."""
        kind = pc.field("kind")
        stored = self._run(stages["read_rows"], _shuffled(self._chunks.filter(kind == WANTED)))
        others = self._chunks.filter(~kind.isin([WANTED, REPORT]))
        return self._kept(self._run(stages["merge"], _shuffled(pa.concat_tables([others, stored]))))

    def write(self, partitions: int, stages: Mapping[str, bytes]) -> list[bytes]:  # noqa: ARG002
        """As `Frames.write`."""
        routed = self._run(stages["route"], self._parts())
        return _reports(self._run(stages["write"], _shuffled(routed)))

    def _kept(self, chunks: pa.Table) -> list[bytes]:
        self._chunks = chunks
        return _reports(chunks)

    def _parts(self) -> list[pa.Table]:
        """Returns the chunks in as many parts as there are threads, in order."""
        size = -(-self._chunks.num_rows // _threads()) or 1
        return [self._chunks.slice(at, size) for at in range(0, self._chunks.num_rows, size)]

    def _run(self, stage: bytes, inputs: Sequence[pa.Table]) -> pa.Table:
        """Runs one task of a stage for each input, and returns what they hand on, in the order of the inputs."""
        number = next(self._stages)

        def run_task(task: int) -> list[pa.RecordBatch]:
            reader = pa.RecordBatchReader.from_batches(inputs[task].schema, inputs[task].to_batches())
            return [pa.record_batch(batch) for batch in _mortice.run_stage(stage, (task, number, 0), reader)]

        with ThreadPoolExecutor(max_workers=_threads()) as pool:
            batches = [batch for done in pool.map(run_task, range(len(inputs))) for batch in done]
        return pa.Table.from_batches(batches, SCHEMA)


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shuffled(chunks: pa.Table) -> list[pa.Table]:
    """Returns the chunks of each slot, in order."""
    ordered = chunks.sort_by([(name, "ascending") for name in ("slot", *ORDER)])
    slots = ordered["slot"].to_pylist()
    starts = [at for at, slot in enumerate(slots) if at == 0 or slot != slots[at - 1]]
    return [ordered.slice(at, end - at) for at, end in itertools.pairwise([*starts, len(slots)])]


def _reports(chunks: pa.Table) -> list[bytes]:
    reports: list[bytes] = chunks.filter(pc.field("kind") == REPORT)["report"].to_pylist()
    return reports
