"""Executors: errors keep their code and location, each warning is logged once, batches fit the JVM."""

import logging
import re
import shutil

import pyarrow as pa
import pyspark
import pytest

import mortice
import mortice.spark
from mortice.reading.split import deserialize_splits, serialize_splits
from mortice.spark.execution import arrow_udf
from support.cases import assert_same_result, hudi_result, logs_of

NAME = "h11_event_time_deletes"
PLANS_AGAIN = pyspark.__version__.startswith("4.0.")


@pytest.fixture
def damaged(copy_of):
    path = copy_of(NAME)
    last = logs_of(path)[-1]
    content = last.read_bytes()
    last.write_bytes(content[: len(content) - 100])
    return path, last


def test_an_error_keeps_its_code_and_location(spark, damaged):
    path, log = damaged
    frame = mortice.spark.read(spark, path, options={"mortice.on_corrupt": "raise"})
    with pytest.raises(Exception, match="MORTICE-CORRUPT-LOG") as raised:
        frame.collect()
    assert log.name in str(raised.value)
    assert re.search(r"offset \d+", str(raised.value))


@pytest.mark.parametrize("entry_point", ["arrow", pytest.param("source", marks=pytest.mark.spark4)])
def test_the_error_for_a_cleaned_file_names_it_and_the_instant(spark, copy_of, entry_point):
    path = copy_of(NAME)
    frame = mortice.spark.read(spark, path) if entry_point == "arrow" else spark.read.format("mortice").load(str(path))
    if entry_point == "source" and PLANS_AGAIN:
        pytest.skip("Spark 4.0 plans a source at each action, and so notices the missing file")
    # Spark plans a source at the first action, and reuses the plan.
    assert frame.count() == hudi_result(NAME).num_rows
    base = next(path.glob("*.parquet"))
    base.unlink()
    with pytest.raises(Exception, match="MORTICE-FILE-CLEANED") as raised:
        frame.collect()
    assert base.name in str(raised.value)
    assert f"instant {base.stem.split('_')[-1]}" in str(raised.value)


def test_a_task_needs_only_its_splits(copy_of):
    """A task reads no metadata of the table, so there is nothing to cache in a process between tasks."""
    path = copy_of(NAME)
    queries, rests = serialize_splits(mortice.Table(path).snapshot().splits())
    schema = mortice.Table(path).snapshot().schema
    shutil.rmtree(path / ".hoodie")
    batches = list(arrow_udf.task_batches(deserialize_splits(queries, rests), schema))
    assert_same_result(hudi_result(NAME), pa.Table.from_batches(batches))


def test_one_warning_for_a_split(damaged, caplog):
    path, log = damaged
    (split,) = mortice.Table(path).snapshot().splits()
    with caplog.at_level(logging.WARNING), pytest.warns(mortice.DamagedFileWarning, match=log.name) as warned:
        batches = list(arrow_udf.split_batches(split, split.schema))
    assert sum(batch.num_rows for batch in batches) > 0
    assert len(warned) == 1
    (record,) = caplog.records
    assert record.name == "mortice"
    assert record.getMessage() == str(warned[0].message)


def test_valid_files_cause_no_warning(table_of, caplog):
    (split,) = mortice.Table(table_of(NAME)).snapshot().splits()
    assert list(arrow_udf.split_batches(split, split.schema))
    assert caplog.records == []


def test_batches_are_limited_to_the_size_that_the_jvm_accepts(monkeypatch):
    monkeypatch.setattr(arrow_udf, "MOST_BATCH_BYTES", 1000)
    batch = pa.record_batch({"c": pa.array(["x" * 100] * 55)})
    parts = list(arrow_udf.portions(batch))
    assert len(parts) > 1
    assert pa.Table.from_batches(parts).to_pylist() == batch.to_pylist()
    one = pa.record_batch({"c": ["x" * 5000]})
    assert list(arrow_udf.portions(one)) == [one]


def test_nothing_is_read_before_it_is_requested(table_of):
    (split,) = mortice.Table(table_of(NAME), read_options=mortice.ReadOptions(batch_rows=5)).snapshot().splits()
    batches = arrow_udf.split_batches(split, split.schema)
    assert 1 <= next(batches).num_rows <= 5
    batches.close()
