"""`mortice.spark.stream_writer`: each batch of a stream is in the table once, whenever the query is stopped."""

import json
import os
import pickle
import random
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import mortice
import mortice.spark
from mortice.errors import InvalidArgumentError, StorageError, TableNotFoundError, UnsupportedError
from mortice.spark.writing import write_stream as module
from support.stream_copy import CHECKPOINT, OPTIONS, copy_files, write_rows

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
IDENTIFIER = "hoodie.datasource.write.streaming.checkpoint.identifier"


def rows_of(path, *columns):
    found = mortice.Table(path).snapshot(columns=list(columns or ("id", "city", "fare", "ts"))).to_arrow()
    return sorted(map(tuple, (row.values() for row in found.to_pylist())))


def batches_of(path, identifier="default_single_writer"):
    """The batches that the commits of a table record, in order."""
    timeline = mortice.Table(path).timeline
    written = [one for one in timeline if one.action == "deltacommit" and one.is_completed]
    found = [timeline.metadata(one)["extraMetadata"].get(CHECKPOINT) for one in written]
    return [json.loads(value).get(identifier) for value in found if value is not None]


def rows(numbers, fare=1.0):
    return [(f"k{n}", "oslo", fare, 1) for n in numbers]


def forget_last_batch(folder):
    """Removes what Spark records when `foreachBatch` has returned."""
    for name in ("2", ".2.crc"):
        (folder / "checkpoint/commits" / name).unlink(missing_ok=True)


@pytest.fixture
def streamed(spark, tmp_path):
    """A query over three files that was run to its end: inserts, so that a batch that is written twice is seen."""
    for n in range(3):
        write_rows(tmp_path, n, rows(range(10 * n, 10 * n + 10)))
    copy_files(spark, tmp_path, "insert")
    return tmp_path


def test_a_batch_is_a_commit_with_the_checkpoint_of_hudis_sink(spark, streamed):
    path = streamed / "table"
    assert rows_of(path) == sorted(rows(range(30)))
    assert batches_of(path) == ["0", "1", "2"]
    # A restart with new rows goes on.
    write_rows(streamed, 3, rows(range(30, 40)))
    copy_files(spark, streamed, "insert")
    assert rows_of(path) == sorted(rows(range(40)))
    assert batches_of(path) == ["0", "1", "2", "3"]


def test_a_query_goes_on_after_an_upgrade_of_its_table(spark, streamed):
    path = streamed / "table"
    mortice.Table(path).upgrade(10)
    write_rows(streamed, 3, rows(range(30, 40)))
    copy_files(spark, streamed, "insert")
    assert rows_of(path) == sorted(rows(range(40)))
    assert batches_of(path) == ["0", "1", "2", "3"]
    assert not mortice.Table(path).verify().findings


def test_a_batch_that_was_committed_is_skipped_when_it_comes_again(spark, streamed):
    path = streamed / "table"
    forget_last_batch(streamed)
    copy_files(spark, streamed, "insert")
    assert (streamed / "checkpoint/commits/2").exists()
    assert rows_of(path) == sorted(rows(range(30)))
    assert batches_of(path) == ["0", "1", "2"]


def run_and_kill(folder, batch, point, operation="insert"):
    """Runs the query in a process of its own. Returns whether it was killed; otherwise it has run to its end."""
    paths = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-W", "ignore", "-m", "support.stream_copy", str(folder), str(batch), point, operation]
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, env=environment)
    assert done.returncode in {-signal.SIGKILL, 0}, done.stderr[-3000:]
    return done.returncode != 0


@pytest.mark.parametrize("point", ["before commit", "after commit"])
def test_a_killed_driver_loses_and_repeats_nothing(spark, tmp_path, point):
    for n in range(3):
        write_rows(tmp_path, n, rows(range(10 * n, 10 * n + 10)))
    assert run_and_kill(tmp_path, 1, point)
    path = tmp_path / "table"
    committed = {"before commit": ["0"], "after commit": ["0", "1"]}[point]
    assert batches_of(path) == committed
    assert sorted(file.name for file in (tmp_path / "checkpoint/commits").glob("[0-9]*")) == ["0"]
    copy_files(spark, tmp_path, "insert")
    assert rows_of(path) == sorted(rows(range(30)))
    assert batches_of(path) == ["0", "1", "2"]


def files_read(folder, batches):
    """How many files the first batches have read: a file each, or two if a process was killed after Spark had recorded
    the file as seen, and before it had recorded where the batch ends."""
    if not batches:
        return 0
    offset = (folder / "checkpoint/offsets" / str(batches - 1)).read_text(encoding="utf-8").splitlines()[-1]
    return json.loads(offset)["logOffset"] + 1


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("operation", ["insert", "upsert"])
def test_drivers_killed_at_random_points_lose_and_repeat_nothing(spark, tmp_path, operation):
    """Each process is killed while it writes, commits, rolls back what the one before left, or records its batch."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    dice, path = random.Random(seed), tmp_path / "table"
    # Each batch updates half of the rows of the one before, if it is an upsert: a batch written late would be seen.
    batches = [range(10 * n, 10 * n + 20) if operation == "upsert" else range(10 * n, 10 * n + 10) for n in range(6)]
    for n, numbers in enumerate(batches):
        write_rows(tmp_path, n, rows(numbers, fare=float(n)))

    def expected(count):
        found = [row for n, numbers in enumerate(batches[:count]) for row in rows(numbers, fare=float(n))]
        return sorted({row[0]: row for row in found}.values() if operation == "upsert" else found)

    for run in range(int(os.environ.get("STREAM_KILLS", "2"))):
        # Six batches take longer than the first process lives.
        seconds = dice.uniform(0.0, 3.0 if run else 0.5)
        was_killed = run_and_kill(tmp_path, dice.randrange(2), f"{seconds:.3f}", operation)
        assert was_killed or run
        if not path.exists():
            continue
        try:
            recorded = batches_of(path)
        except TableNotFoundError:
            # It was killed before the first batch had made the table.
            continue
        assert recorded == [str(n) for n in range(len(recorded))]
        assert rows_of(path) == expected(files_read(tmp_path, len(recorded)))
    copy_files(spark, tmp_path, operation)
    assert rows_of(path) == expected(len(batches))
    recorded = batches_of(path)
    assert recorded == [str(n) for n in range(len(recorded))]
    assert files_read(tmp_path, len(recorded)) == len(batches)
    timeline = mortice.Table(path).timeline
    assert all(instant.is_completed for instant in timeline)
    assert not mortice.Table(path).verify(keys=operation == "upsert").findings


def test_a_query_with_another_checkpoint_folder_is_refused_and_loses_no_batch(spark, streamed):
    path = streamed / "table"
    with pytest.raises(Exception, match=r"last used by the query .*checkpoint\.identifier"):
        copy_files(spark, streamed, "insert", checkpoint="other")
    assert batches_of(path) == ["0", "1", "2"]
    copy_files(spark, streamed, "upsert", checkpoint="third", **{IDENTIFIER: "second"})
    assert batches_of(path, "second") == [None, None, None, "0", "1", "2"]
    # Each stream finds its own batches behind those of the other.
    forget_last_batch(streamed)
    copy_files(spark, streamed, "insert")
    assert rows_of(path) == sorted(rows(range(30)))


def test_a_batch_of_hudis_sink_counts(spark, tmp_path):
    """Hudi records no query."""
    path = str(tmp_path / "table")
    frame = spark.createDataFrame(rows(range(3)), "id string, city string, fare double, ts bigint").coalesce(1)
    recorded = {**OPTIONS, CHECKPOINT: '{"default_single_writer":"7"}'}
    mortice.spark.write(frame, path, "insert", options=recorded)
    writer = mortice.spark.stream_writer(path, "insert", OPTIONS)
    writer(frame, 7)
    assert batches_of(path) == ["7"]
    with pytest.raises(InvalidArgumentError, match="batch 7, and this is batch 0"):
        writer(frame, 0)
    # Writes that are not the stream's, and an own prefix of metadata, hide nothing.
    mortice.Table(path).upsert(pa.table({"id": ["x"], "city": ["rome"], "fare": [1.0], "ts": [1]}))
    prefix = {"hoodie.datasource.write.commitmeta.key.prefix": "mine.", "mine.note": "n"}
    other = pickle.loads(cloudpickle.dumps(mortice.spark.stream_writer(path, "insert", OPTIONS | prefix)))
    other(frame, 7)
    other(frame, 8)
    other(frame, 8)
    assert batches_of(path) == ["7", "8"]
    assert len(rows_of(path)) == 7


def run_writers(spark, folder, *writers):
    """Runs a query in whose batches each writer writes the rows of its city, and one deletes those of another."""
    files = spark.readStream.schema("id string, city string, fare double, ts bigint").json(str(folder / "files"))

    def write(frame, batch):
        for city, writer in zip(("oslo", "rome"), writers, strict=True):
            writer(frame.where(f"city = '{city}'").coalesce(1), batch)

    query = files.coalesce(1).writeStream.foreachBatch(write)
    query = query.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    assert query.awaitTermination(120)


@pytest.mark.parametrize("second", ["upsert", "delete"])
def test_two_writers_of_a_batch_need_an_identifier_each(spark, tmp_path, second):
    path = str(tmp_path / "table")
    write_rows(tmp_path, 0, [("a", "oslo", 1.0, 1), ("b", "rome", 1.0, 1)])

    def writer(operation, **options):
        return mortice.spark.stream_writer(path, operation, OPTIONS | options)

    message = r"batch 0 of the stream 'default_single_writer' .* would be lost.*checkpoint\.identifier"
    # The second run finds the batch of the first writer in the table, as a restarted driver does.
    for _ in range(2):
        with pytest.raises(Exception, match=message):
            run_writers(spark, tmp_path, writer("upsert"), writer(second))
    assert batches_of(path) == ["0"]
    run_writers(spark, tmp_path, writer("upsert"), writer(second, **{IDENTIFIER: "second"}))
    assert batches_of(path, "second") == [None, "0"]
    found = [("a", "oslo", 1.0, 1), ("b", "rome", 1.0, 1)]
    assert rows_of(path) == (found if second == "upsert" else found[:1])


def test_a_batch_of_another_operation_is_refused(spark, tmp_path):
    """A driver that was restarted does not know the writers of the one before."""
    path = str(tmp_path / "table")
    frame = spark.createDataFrame(rows(range(3)), "id string, city string, fare double, ts bigint").coalesce(1)
    recorded = {**OPTIONS, CHECKPOINT: '{"default_single_writer":"7"}'}
    mortice.spark.write(frame, path, "upsert", options=recorded)
    mortice.spark.stream_writer(path, "upsert", OPTIONS)(frame, 7)
    with pytest.raises(InvalidArgumentError, match=r"batch 7 .* commit is one of upsert, and this is delete"):
        mortice.spark.stream_writer(path, "delete", OPTIONS)(frame, 7)
    assert rows_of(path) == sorted(rows(range(3)))


def test_failures_of_the_storage_are_tried_again(spark, tmp_path, monkeypatch):
    path, failures = str(tmp_path / "table"), []
    frame = spark.createDataFrame(rows(range(3)), "id string, city string, fare double, ts bigint").coalesce(1)
    real = module.write_frame

    def fails(*arguments):
        """The first attempt commits, and its answer is lost; the next ones are left out."""
        commit = real(*arguments)
        if not failures:
            failures.append(commit)
            raise StorageError("no answer")

    monkeypatch.setattr(module, "write_frame", fails)
    options = {**OPTIONS, "hoodie.datasource.write.streaming.retry.interval.ms": "1"}
    mortice.spark.stream_writer(path, "insert", options)(frame, 0)
    assert batches_of(path) == ["0"]
    failures.clear()
    once = options | {"hoodie.datasource.write.streaming.retry.count": "1"}
    with pytest.raises(StorageError):
        mortice.spark.stream_writer(path, "insert", once)(frame, 1)


@pytest.mark.spark4
def test_a_table_is_copied_to_a_table(spark, tmp_path):
    """Upserts and deletes of a table arrive in its copy, over a restart of the query."""
    schema = pa.schema([("id", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())])
    source = mortice.create_table(
        tmp_path / "source", schema, name="trips", record_key="id", partition_by="city", ordering="ts"
    )
    mortice.spark.register(spark)

    def table(values):
        return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in values], schema=schema)

    def copy():
        stream = spark.readStream.format("mortice").option("mortice.emit.deletes", "true")
        stream = stream.option("hoodie.datasource.query.type", "incremental").load(str(tmp_path / "source"))
        stream = stream.selectExpr(*schema.names, "coalesce(_hoodie_operation = 'D', false) as _hoodie_is_deleted")
        options = {name: value for name, value in OPTIONS.items() if "precombine" not in name}
        writer = mortice.spark.stream_writer(tmp_path / "copy", options=options)
        query = stream.writeStream.foreachBatch(writer).option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = query.trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        return rows_of(tmp_path / "copy")

    source.upsert(table([("a", "oslo", 1.0, 1), ("b", "oslo", 2.0, 1), ("c", "rome", 3.0, 1)]))
    source.upsert(table([("a", "oslo", 1.5, 2), ("d", "rome", 4.0, 1)]))
    assert copy() == rows_of(tmp_path / "source")
    source.delete(pa.table({"id": ["b"], "city": ["oslo"]}))
    source.upsert(table([("e", "oslo", 5.0, 1), ("c", "rome", 3.5, 3)]))
    expected = [("a", "oslo", 1.5, 2), ("c", "rome", 3.5, 3), ("d", "rome", 4.0, 1), ("e", "oslo", 5.0, 1)]
    assert copy() == rows_of(tmp_path / "source") == expected


def test_arguments_are_checked_before_the_query_starts():
    with pytest.raises(UnsupportedError, match=r"ignore\.failed\.batch"):
        mortice.spark.stream_writer("t", options={"hoodie.datasource.write.streaming.ignore.failed.batch": "true"})
    for name in ("retry.count", "retry.interval.ms"):
        with pytest.raises(InvalidArgumentError, match=name):
            mortice.spark.stream_writer("t", options={f"hoodie.datasource.write.streaming.{name}": "-1"})
    with pytest.raises(InvalidArgumentError, match="identifier"):
        mortice.spark.stream_writer("t", options={IDENTIFIER: ""})
    with pytest.raises(InvalidArgumentError, match="operation"):
        mortice.spark.stream_writer("t", operation=1)
