"""The garbage collection after a task of mortice visits only objects of the task, and loses no other garbage."""

import gc
import weakref
import zipimport

import pyarrow as pa
import pytest

import mortice.spark
from mortice.spark.execution import worker
from mortice.spark.execution.arrow_udf import ReadDescriptors
from mortice.spark.execution.worker import COMPLETE_EVERY, WorkerOptions, freeze_until_collected
from mortice.spark.settings.options import read_query
from support.cases import hudi_result

NAME = "h11_event_time_deletes"


class Cycle:
    """An object that only a collection can free."""

    def __init__(self):
        self.itself = self


@pytest.fixture
def frozen(monkeypatch):
    """Returns the number of frozen objects, without those that Python froze. The process is restored afterwards."""
    monkeypatch.setattr(worker, "_tasks", 0)
    # A test of another file may have frozen objects until the next collection.
    gc.collect()
    before = gc.get_freeze_count()
    yield lambda: gc.get_freeze_count() - before
    gc.collect()
    assert worker._unfreeze not in gc.callbacks


@pytest.fixture
def run_in_task(frozen, monkeypatch):
    from pyspark import TaskContext

    monkeypatch.setattr(TaskContext, "get", lambda: "a task")
    # The other option replaces it.
    monkeypatch.setattr(zipimport.zipimporter, "invalidate_caches", zipimport.zipimporter.invalidate_caches)
    return frozen


def test_objects_that_exist_are_exempt_from_one_collection(frozen):
    older = weakref.ref(Cycle())
    assert freeze_until_collected()
    assert frozen() > 0
    younger = weakref.ref(Cycle())
    gc.collect()
    assert older() is not None
    assert younger() is None
    assert frozen() <= 0
    gc.collect()
    assert older() is None


def test_collections_of_younger_generations_change_nothing(frozen):
    assert freeze_until_collected()
    gc.collect(0)
    gc.collect(1)
    assert frozen() > 0


def test_a_complete_collection_follows_some_tasks(frozen):
    older = weakref.ref(Cycle())
    for task in range(1, COMPLETE_EVERY + 1):
        assert freeze_until_collected() == (task < COMPLETE_EVERY)
        gc.collect()
        assert (older() is None) == (task == COMPLETE_EVERY)


def test_objects_frozen_by_others_stay_frozen(frozen):
    older = [None]
    gc.freeze()
    try:
        assert not freeze_until_collected()
        gc.collect()
        # The collector lists all objects except frozen ones.
        assert not any(one is older for one in gc.get_objects())
    finally:
        gc.unfreeze()


def test_nothing_is_frozen_while_collection_is_disabled(frozen):
    gc.disable()
    try:
        assert not freeze_until_collected()
    finally:
        gc.enable()
    assert frozen() <= 0


def test_nothing_is_frozen_outside_of_a_task(frozen):
    WorkerOptions().prepare()
    assert frozen() <= 0


@pytest.mark.parametrize("is_on", [True, False])
def test_an_option_disables_it(run_in_task, table_of, is_on):
    options = {"path": str(table_of(NAME)), "mortice.gc.freeze": str(is_on).lower()}
    worker = read_query(options).tasks.worker
    assert worker.gc_freeze == is_on
    list(ReadDescriptors([], iter, worker=worker)(iter([])))
    assert (run_in_task() > 0) == is_on


@pytest.mark.spark4
@pytest.mark.parametrize("is_on", [True, False])
def test_an_option_disables_it_for_the_data_source(run_in_task, table_of, is_on):
    from mortice.spark.data_source import MorticeDataSource

    source = MorticeDataSource({"path": str(table_of(NAME)), "mortice.gc.freeze": str(is_on).lower()})
    schema = source.schema()
    assert (run_in_task() > 0) == is_on
    gc.collect()
    reader = source.reader(schema)
    assert (run_in_task() > 0) == is_on
    gc.collect()
    rows = [batch.num_rows for task in reader.partitions() for batch in reader.read(task)]
    assert (run_in_task() > 0) == is_on
    assert sum(rows) == hudi_result(NAME).num_rows


def test_merges_freeze_nothing(run_in_task):
    """Spark calls them for each group of a task."""
    schema = pa.schema([("k", pa.string()), ("v", pa.int64())])
    merge = mortice.spark.merge_udf(schema, record_key="k", ordering="v", is_newer="n")
    assert list(merge(iter([]))) == []
    assert run_in_task() <= 0


def garbage_function():
    """A function for `mapInArrow` that leaves a reference cycle, and reports whether that of the previous such task was
    collected."""

    def run(batches):
        import gc
        import sys
        import weakref

        import pyarrow as pa

        class LeftObject:
            pass

        before = getattr(sys, "left_behind", None)
        for _ in batches:
            is_collected = None if before is None else before() is None
            yield pa.record_batch(
                {"frozen": [gc.get_freeze_count()], "collected": pa.array([is_collected], pa.bool_())}
            )
        left = LeftObject()
        left.itself = left
        sys.left_behind = weakref.ref(left)

    return run


def test_workers_collect_all_garbage_of_other_tasks(spark, table_of):
    """Between tasks of mortice, in the same workers."""
    found = []
    for _ in range(3):
        mortice.spark.read(spark, table_of(NAME)).count()
        frame = spark.range(0, 4, 1, numPartitions=4).mapInArrow(garbage_function(), "frozen long, collected boolean")
        found += frame.collect()
    assert {row.collected for row in found} == {None, True}
    # Python 3.12 freezes some objects itself.
    assert all(row.frozen < 1_000 for row in found)


def test_workers_freeze_objects(spark, table_of, tmp_path, monkeypatch):
    """Until the task has ended. Nothing is frozen in the task of a worker that is followed by a complete collection."""
    from mortice.spark.execution import data_frame

    monkeypatch.setattr(data_frame, "ReadDescriptors", recording(tmp_path / "frozen"))
    for _ in range(3):
        mortice.spark.read(spark, table_of(NAME)).count()
    monkeypatch.undo()
    counts = [int(count) for count in (tmp_path / "frozen").read_text().split()]
    assert sum(count > 10_000 for count in counts) >= 2, counts


def recording(path):
    """Returns a `ReadDescriptors` that records the number of frozen objects while it reads."""

    class Recording(ReadDescriptors):
        def __call__(self, batches):
            import gc

            for number, batch in enumerate(super().__call__(batches)):
                if number == 0:
                    with path.open("a", encoding="ascii") as file:
                        file.write(f"{gc.get_freeze_count()}\n")
                yield batch

    return Recording
