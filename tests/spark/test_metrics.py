"""Metrics of a query: collected on the driver from tasks and local reads, and a log line for each split."""

import logging
import re

import pytest

import mortice
import mortice.spark
from mortice.spark.execution import arrow_udf
from mortice.values.metrics import Meter, added
from support.cases import hudi_result

NAME = "h11_event_time_deletes"
PARTITIONED = "h11_composite_keys_encoded_partitions"
PHASES = {"open_ms", "first_batch_ms", "read_ms", "convert_ms", "consumer_ms"}


def test_tasks_report_to_the_driver(spark, table_of):
    metrics = mortice.spark.Metrics()
    frame = mortice.spark.read(spark, table_of(PARTITIONED), metrics=metrics)
    assert metrics.counts() == {}
    assert frame.count() == hudi_result(PARTITIONED).num_rows
    counts = metrics.counts()
    table = mortice.Table(table_of(PARTITIONED))
    splits = table.snapshot().splits()
    assert (counts["splits"], counts["rows"]) == (len(splits), hudi_result(PARTITIONED).num_rows)
    assert counts["file_bytes"] == sum(split.size for split in splits)
    assert counts["batch_bytes"] > 0
    assert counts.keys() >= PHASES
    assert "10 splits read by Spark" in str(metrics)
    frame.count()
    assert metrics.counts()["rows"] == 2 * hudi_result(PARTITIONED).num_rows


def test_a_scan_counts_all_its_reads(spark, table_of):
    scan = mortice.Table(table_of(NAME)).snapshot(columns=["trip_id"])
    plan = scan.explain()
    rows = hudi_result(NAME).num_rows
    assert scan.metrics() == {}
    scan.to_arrow()
    local = scan.metrics()
    assert (local["splits"], local["rows"]) == (1, rows)
    assert local["records_read"] == scan.report()["records_read"] > 0
    scan.to_spark(spark).count()
    assert (scan.metrics()["splits"], scan.metrics()["rows"]) == (2, 2 * rows)
    assert scan.explain().startswith(plan)
    assert re.search(rf"read so far: 2 splits, {2 * rows} rows, \d+ bytes of Arrow", scan.explain())


def test_an_abandoned_read_counts_nothing(table_of):
    scan = mortice.Table(table_of(NAME), read_options=mortice.ReadOptions(batch_rows=5)).snapshot()
    assert scan.to_reader().read_next_batch().num_rows > 0
    assert scan.metrics() == {}


def test_one_line_for_a_split(table_of, caplog):
    (split,) = mortice.Table(table_of(NAME)).snapshot().splits()
    counts_of_splits = []
    with caplog.at_level(logging.INFO, "mortice.spark"):
        rows = sum(batch.num_rows for batch in arrow_udf.split_batches(split, split.schema, counts_of_splits.append))
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert re.search(rf"read Split\(.*\): {rows} rows, \d+ bytes of Arrow from {split.size} bytes", record.getMessage())
    assert re.search(r"ms: open \d+, first batch \d+, read \d+, convert \d+, consumer \d+$", record.getMessage())
    assert [one["rows"] for one in counts_of_splits] == [rows]


@pytest.mark.parametrize(
    ("environment", "level", "handlers"),
    [
        ({}, logging.NOTSET, 0),
        ({"MORTICE_LOG": "loud"}, logging.NOTSET, 0),
        ({"MORTICE_LOG": "info"}, logging.INFO, 1),
        ({"MORTICE_LOG": "INFO", "PYSPARK_SPARK_SESSION_UUID": "x"}, logging.INFO, 0),
    ],
)
def test_the_environment_sets_the_log_level_of_workers(monkeypatch, environment, level, handlers):
    monkeypatch.setattr(arrow_udf, "logger", logging.Logger("apart"))  # noqa: LOG001
    for _ in range(2):
        arrow_udf.set_log_level(environment)
    assert (arrow_udf.logger.level, len(arrow_udf.logger.handlers)) == (level, handlers)


def test_time_is_counted_in_its_phase(monkeypatch):
    now = iter(range(0, 10**9, 5_000_000))
    monkeypatch.setattr("time.perf_counter_ns", lambda: next(now))
    meter = Meter()
    meter.lap("open")
    meter.batch(3, 30)
    meter.lap("convert")
    meter.lap("consumer")
    meter.batch(4, 40)
    meter.lap("read")
    counts = meter.counts({"files": 2, "corrupt": [{}]}, splits=1, file_bytes=9)
    assert {name: counts[name] for name in PHASES} == dict.fromkeys(PHASES, 5) | {"read_ms": 10}
    assert (counts["rows"], counts["batch_bytes"], counts["files"], counts["corrupt"]) == (7, 70, 2, 1)
    assert added(counts, {"rows": 1, "more": 2}) == counts | {"rows": 8, "more": 2}


def test_metrics_are_refused_on_spark_connect():
    class Connect:
        """A session of Spark Connect, which has no JVM session."""

    with pytest.warns(RuntimeWarning, match="no accumulators"):
        assert mortice.spark.Metrics().reporter(Connect()) is None
