"""Stages of tasks, run by threads of this process: an engine that repeats tasks, and that loses or doubles chunks."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from mortice import _mortice
from mortice.spark.writing.write_stages import ORDER, REPORT, SCHEMA


def without_first(chunks):
    return chunks.slice(1)


def with_first_twice(chunks):
    return chunks.take([0, *range(len(chunks))])


class StageTasks:
    """An engine for `Table.by_tasks`.

    Args:
        parallelism: Tasks that run at once.
        attempts: How often each task is run; the chunks are those of the first attempt or, if `is_last`, of the last.
        is_last: As above.
        change: Called with the chunks that are exchanged; returns those that arrive.
    """

    def __init__(self, parallelism=3, *, attempts=1, is_last=False, change=lambda chunks: chunks):
        self.parallelism = parallelism
        self.ran = []
        self._attempts = attempts
        self._is_last = is_last
        self._change = change
        self._numbers = itertools.count()

    def run(self, stage, tasks):
        numbers = [pa.table({"id": pa.array([task], pa.int64())}) for task in range(tasks)]
        return _reports(self._chunks(stage, numbers))

    def exchange(self, read, tasks, then, partitions):
        numbers = [pa.table({"id": pa.array([task], pa.int64())}) for task in range(tasks)]
        chunks = self._change(self._chunks(read, numbers))
        ordered = chunks.sort_by([(name, "ascending") for name in ("slot", *ORDER)])
        slots = sorted(set(ordered["slot"].to_pylist()))
        assert len(slots) <= partitions
        return _reports(self._chunks(then, [ordered.filter(pc.field("slot") == slot) for slot in slots]))

    def _chunks(self, stage, inputs):
        self.ran.append(len(inputs))
        number = next(self._numbers)

        def run_task(task):
            attempts = []
            for attempt in range(self._attempts):
                reader = pa.RecordBatchReader.from_batches(inputs[task].schema, inputs[task].to_batches())
                made = _mortice.run_stage(stage, (task, number, 100 * task + attempt), reader)
                attempts.append([pa.record_batch(batch) for batch in made])
            return attempts[-1 if self._is_last else 0]

        with ThreadPoolExecutor(max_workers=self.parallelism) as pool:
            batches = [batch for done in pool.map(run_task, range(len(inputs))) for batch in done]
        return pa.Table.from_batches(batches, SCHEMA)


def _reports(chunks):
    return chunks.filter(pc.field("kind") == REPORT)["report"].to_pylist()
