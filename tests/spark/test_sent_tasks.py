"""Splits are serialised as Spark sends them: those of a large table are never in memory as bytes all at once."""

import pickle
import tracemalloc

import pytest

import mortice
from mortice.reading.split import deserialize_splits
from mortice.spark.execution.data_frame import DescriptorRows
from mortice.spark.execution.tasks import serialize_tasks, tasks_of
from support.frames import to_arrow

NAME = "h11_composite_keys_encoded_partitions"
TASKS = 1000


@pytest.fixture
def tasks(table_of):
    """Many tasks of the same splits."""
    splits = mortice.Table(table_of(NAME)).snapshot().splits()
    assert len(splits) == 10
    return [tuple(splits)] * TASKS


def peak_of(run):
    """Returns what a function returns, and the most bytes of Python objects that it held beyond those at its start."""
    tracemalloc.start()
    try:
        found = run()
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.spark4
def test_partitions_are_serialised_when_they_are_pickled(tasks):
    from mortice.spark.execution.partitions import complete_partition, partitions_of

    def sent(partitions):
        return sum(len(pickle.dumps(partition)) for partition in partitions)

    for planned in (lambda: partitions_of(tasks)[1], lambda: [complete_partition(task) for task in tasks]):
        size, peak = peak_of(lambda planned=planned: sent(planned()))
        assert size > TASKS * 2_000
        assert peak < size / 2


def test_rows_are_serialised_when_spark_writes_them(spark, tasks):
    _, serialized = serialize_tasks(tasks)
    size = sum(map(len, serialized[0])) * TASKS
    rows, peak = peak_of(lambda: spark.sparkContext.parallelize(DescriptorRows(serialized), TASKS))
    assert size > TASKS * 2_000
    assert peak < size / 2
    assert rows.getNumPartitions() == TASKS


def test_tasks_are_read_as_often_as_needed(tasks):
    queries, serialized = serialize_tasks(tasks[:3])
    assert (len(serialized), len(serialized[1:]), len(queries)) == (3, 2, 1)
    assert list(serialized) == list(serialized) == [serialized[number] for number in range(3)]
    splits = [split for task in serialized for split in deserialize_splits(queries, task)]
    assert [split.file_id for split in splits] == [split.file_id for split in tasks[0]] * 3


def test_a_function_contains_few_bytes(tasks):
    _, serialized = serialize_tasks(tasks[:3])
    size = sum(len(split) for task in serialized for split in task)
    assert serialized.within(size) == list(serialized)
    assert serialized.within(size - 1) is None


def test_a_small_table_of_many_bytes_of_splits_is_read_by_rows(spark, table_of, monkeypatch):
    expected = mortice.Table(table_of(NAME)).snapshot().to_arrow().num_rows
    monkeypatch.setattr("mortice.spark.execution.data_frame._MOST_FUNCTION_BYTES", 100)
    scan = mortice.Table(table_of(NAME)).snapshot()
    assert tasks_of(scan)
    frame = scan.to_spark(spark)
    assert "Range" not in frame._jdf.queryExecution().toString()
    assert to_arrow(frame).num_rows == expected
