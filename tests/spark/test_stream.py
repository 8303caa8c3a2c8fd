"""`spark.readStream.format("mortice")` in Spark: stopped and restarted at random while a table is written.

Batches, and that the reader loses nothing, are tested without Spark in test_stream_reader.
"""

import json
import random
import threading
import time
from collections import Counter

import pyspark
import pytest

import mortice
from support.cases import rows
from support.frames import to_arrow
from support.tables.live_table import LiveTable
from support.tables.replay import Replay

pytestmark = pytest.mark.spark4
HAS_LIMITS = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 2)
NAME = "h11_event_time_deletes"
CHANGES = {
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.query.incremental.format": "cdc",
}


class Copy:
    """A query that copies a table into Parquet files, and its checkpoint."""

    def __init__(self, spark, path, folder, **options):
        self.spark, self.path, self.options = spark, path, options
        self.rows_in, self.checkpoint = folder / "copied", folder / "checkpoint"

    def start(self, **trigger):
        stream = self.spark.readStream.format("mortice").options(**self.options).load(str(self.path))
        writer = stream.writeStream.format("parquet").option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(**trigger).start(str(self.rows_in)) if trigger else writer.start(str(self.rows_in))

    def all(self):
        """Copies all commits, then ends."""
        query = self.start(availableNow=True)
        assert query.awaitTermination(120)
        assert query.exception() is None
        return self

    @property
    def rows(self):
        return to_arrow(self.spark.read.parquet(str(self.rows_in)))

    @property
    def ranges(self):
        """Returns (after, until] of every batch that was recorded."""
        files = sorted((self.checkpoint / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
        offsets = [json.loads(file.read_text(encoding="utf-8").splitlines()[2]) for file in files]
        return [(offset["after"], offset["instant"]) for offset in offsets if "after" in offset]

    def undo_last_batch(self):
        """Removes the commit and the rows of the last batch, so that it is not complete."""
        last = max((self.checkpoint / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
        for file in (last, self.rows_in / "_spark_metadata" / last.name):
            file.unlink()
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def expected(path, ranges, **arguments):
    table, found = mortice.Table(path), Counter()
    for span in ranges:
        found += rows(table.incremental(*span, **arguments).to_arrow())
    return found


def are_adjacent(ranges):
    return [after for after, _ in ranges[1:]] == [until for _, until in ranges[:-1]]


def wait(query, until):
    """Waits until something is true of a query that runs."""
    while not until():
        assert query.isActive, query.exception()
        time.sleep(0.1)


def test_available_now_is_one_incremental_query(spark, table_of, tmp_path):
    path = table_of("h10_types")
    copy = Copy(spark, path, tmp_path).all()
    assert len(copy.ranges) == 1
    assert rows(copy.rows) == rows(mortice.Table(path).incremental("earliest").to_arrow())
    # No new commits, no new rows.
    assert rows(copy.all().rows) == expected(path, copy.ranges)


@pytest.mark.parametrize("case", ["h11_v6_uncommitted", pytest.param("h10_types", marks=pytest.mark.slow), NAME])
def test_restarts_during_writes_lose_nothing(spark, table_of, tmp_path, case):
    dice = random.Random(case)
    replay = Replay(table_of(case), tmp_path / "table")
    while not any(one.is_completed for one in mortice.Table(replay.folder).timeline):
        replay.step()

    def write():
        while replay.step():
            time.sleep(0.1)

    copy = Copy(spark, replay.folder, tmp_path, maxInstantsPerTrigger=2)
    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(2):
        query = copy.start()
        query.awaitTermination(1 + dice.random() * 3)
        query.stop()
        assert query.exception() is None
    writer.join()
    newest = [instant for instant, _ in mortice.Table(replay.folder).follow("earliest", None)][-1]
    for _ in range(6):
        if copy.all().ranges[-1][1] == newest:
            break
    assert copy.ranges[0][0] == "earliest"
    assert copy.ranges[-1][1] == newest
    assert are_adjacent(copy.ranges)
    assert rows(copy.rows) == expected(replay.folder, copy.ranges)
    # The last batch, run again by a query that was killed before it was complete.
    copy.undo_last_batch()
    assert rows(copy.rows) == expected(replay.folder, copy.ranges[:-1])
    assert rows(copy.all().rows) == expected(replay.folder, copy.ranges)


def test_commits_are_returned_as_they_complete(spark, tmp_path):
    live = LiveTable(tmp_path / "table", 9)
    live.commit()
    copy = Copy(spark, live.folder, tmp_path, start="latest")
    query = copy.start()
    try:
        wait(query, lambda: list((copy.checkpoint / "commits").glob("0")))
        started = live.begin()
        first = live.commit()
        wait(query, lambda: copy.ranges)
        second = live.end(started)
        wait(query, lambda: len(copy.ranges) > 1)
        query.processAllAvailable()
        assert query.exception() is None
    finally:
        query.stop()
    # The first batch ends while the other write is pending.
    assert [until for _, until in copy.ranges] == [f"{first}~{started[1]}", second]
    assert sorted(copy.rows["value"].to_pylist()) == [2, 2, 3, 3, 3]


@pytest.mark.skipif(not HAS_LIMITS, reason="AvailableNow takes one batch, limits or not")
def test_available_now_keeps_to_limits(spark, tmp_path):
    live = LiveTable(tmp_path / "table", 6)
    positions = [live.commit() for _ in range(5)]
    copy = Copy(spark, live.folder, tmp_path, maxInstantsPerTrigger=2).all()
    assert [until for _, until in copy.ranges] == [positions[1], positions[3], positions[4]]
    heavy = Copy(spark, live.folder, tmp_path / "heavy", maxBytesPerTrigger=1)
    assert heavy.all().ranges
    assert rows(heavy.rows) == expected(live.folder, heavy.ranges)


@pytest.mark.skipif(HAS_LIMITS, reason="AvailableNow ends with what there was, limits or not")
def test_without_limits_in_spark_available_now_runs_one_batch(spark, tmp_path):
    live = LiveTable(tmp_path / "table", 6)
    positions = [live.commit() for _ in range(5)]
    copy = Copy(spark, live.folder, tmp_path, maxInstantsPerTrigger=2)
    for number in range(1, 4):
        assert len(copy.all().ranges) == number
    assert [until for _, until in copy.ranges] == [positions[1], positions[3], positions[4]]


def test_changes_columns_and_filters(spark, table_of, tmp_path):
    path = table_of("h12_cdc_odd_data_before_after")
    copy = Copy(spark, path, tmp_path / "changes", **CHANGES).all()
    assert rows(copy.rows) == rows(mortice.Table(path).changes("earliest").to_arrow())
    arguments = {"columns": "fare,trip_id", "filters": '[["city", "=", "oslo"]]', "mortice.emit_deletes": "true"}
    some = Copy(spark, table_of(NAME), tmp_path / "some", **arguments).all()
    assert rows(some.rows) == expected(
        table_of(NAME), some.ranges, columns=["fare", "trip_id"], filters=[("city", "=", "oslo")], emit_deletes=True
    )


def test_a_user_defined_schema_is_a_projection(spark, table_of):
    stream = spark.readStream.format("mortice").schema("fare double, trip_id string").load(str(table_of(NAME)))
    assert stream.isStreaming
    assert stream.columns == ["fare", "trip_id"]
    query = stream.writeStream.format("memory").queryName("projected").trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    fares = mortice.Table(table_of(NAME)).incremental("earliest", columns=["fare", "trip_id"]).to_arrow()
    assert rows(to_arrow(spark.table("projected"))) == rows(fares)


def test_errors_end_the_query_and_keep_their_code(spark, tmp_path):
    live = LiveTable(tmp_path / "table", 9)
    live.commit()
    live.compact(live.plan_compaction())
    live.commit()
    live.compact(live.plan_compaction())
    live.clean()
    for options, code in (
        ({"maxInstantsPerTrigger": 1}, "MORTICE-FILE-CLEANED"),
        ({"start": "yesterday"}, "MORTICE-INVALID-ARGUMENT"),
    ):
        query = Copy(spark, live.folder, tmp_path / code, **options).start(availableNow=True)
        with pytest.raises(Exception, match=code):
            query.awaitTermination(120)


@pytest.mark.parametrize(
    "options",
    [{"start": "latest"}, {"maxInstantsPerTrigger": "3"}, {"hoodie.datasource.streaming.startOffset": "earliest"}],
    ids=str,
)
def test_options_of_streams_are_refused_in_batch_queries(spark, table_of, options):
    with pytest.raises(Exception, match=r"MORTICE-INVALID-ARGUMENT.*streams"):
        spark.read.format("mortice").options(**options).load(str(table_of(NAME))).collect()
