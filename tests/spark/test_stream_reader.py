"""The stream reader, called as Spark calls it but without Spark: killed at every point, on tables that grow."""

import random
import time
from collections import Counter
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.cases import rows
from support.exploring import explore
from support.tables.live_table import LiveTable
from support.tables.replay import Replay
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, new_table
from support.tables.written import rows as trips

pyspark = pytest.importorskip("pyspark", minversion="4.0")

from pyspark.sql.types import LongType, StringType, StructField, StructType  # noqa: E402

from mortice.spark.reading import stream_reader  # noqa: E402
from support.micro_batches import POINTS, Killed, MicroBatches  # noqa: E402

pytestmark = pytest.mark.spark4
COMMIT_TIME, OPERATION = "_hoodie_commit_time", "_hoodie_operation"
HAS_LIMITS = hasattr(pyspark.sql.datasource.DataSourceStreamReader, "getDefaultReadLimit")
PROTOCOLS = (False, True) if HAS_LIMITS else (True,)
"""Whether the reader is called as before Spark had limits."""
INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}
CHANGES = INCREMENTAL | {"hoodie.datasource.query.incremental.format": "cdc"}
CHANGELOG = INCREMENTAL | {"mortice.changelog": "true"}
GROWING = (
    "h009_upsert_delete",
    "h015_cdc_odd_op_key_only",
    "h11_v6_uncommitted",
    "h10_types",
    "h10_bucket_log_only",
    "h11_event_time_deletes",
    "h12_cdc_odd_data_before_after",
    "h12_log_compaction",
)
"""Of table versions 2, 6, 6, 8, 8, 9, 9 and 9; the odd ones have compaction, clustering and overwrites."""


@pytest.fixture(params=PROTOCOLS, ids=["old" if is_old else "new" for is_old in PROTOCOLS])
def is_old(request):
    return request.param


@pytest.fixture(params=[6, 9])
def live(request, tmp_path):
    return LiveTable(tmp_path / "table", request.param)


def incremental(path, begin, end, **arguments):
    # Rows of a log compaction are in the increments of other ranges already. Later commits do not change a range.
    arguments = {"fall_back_to_full_scan": False, **arguments}
    return mortice.Table(path).incremental(begin, end, skip_log_compact=True, **arguments).to_arrow()


def values(query):
    return [Counter(batch["value"].to_pylist()) for batch in query.batches]


def assert_batches_equal_ranges(query, path, read=incremental):
    """Asserts that the batches are the increments of adjacent ranges."""
    ranges = query.ranges
    assert [after for after, _ in ranges[1:]] == [until for _, until in ranges[:-1]]
    # The first offset of a query may be a position without a range.
    done = query.batches[len(query.batches) - len(ranges) :]
    for (after, until), batch in zip(ranges, done, strict=True):
        assert rows(batch) == rows(read(path, after, until))


@pytest.mark.parametrize("case", GROWING)
def test_kills_and_restarts_lose_and_repeat_nothing(case, table_of, tmp_path, is_old):
    replay = Replay(table_of(case), tmp_path / "table")
    dice = random.Random(f"{case} {is_old}")
    # The first commit has the columns.
    while not any(one.is_completed for one in mortice.Table(replay.folder).timeline):
        replay.step()
    limits = {"maxInstantsPerTrigger": 2} if dice.random() < 0.5 else {}
    query = MicroBatches(replay.folder, is_old, **limits).start()
    while replay.steps:
        for _ in range(dice.randint(1, 4)):
            replay.step()
        try:
            query.trigger(dice.choice(POINTS))
        except Killed:
            query.start()
    query.run()
    assert_batches_equal_ranges(query, replay.folder)
    newest = mortice.Table(replay.folder).follow("earliest", None)
    assert query.ranges[0][0] == "earliest"
    assert query.ranges[-1][1] == [instant for instant, _ in newest][-1]
    if not limits:
        return
    assert all(batch_instants(replay.folder, *span) <= 2 for span in query.ranges)


def batch_instants(path, after, until):
    follower = mortice.Table(path).follow(after, None)
    return sum(instant <= until for instant, _ in follower)


@pytest.mark.parametrize("case", GROWING)
def test_one_batch_equals_one_incremental_query(case, table_of, is_old):
    query = MicroBatches(table_of(case), is_old).start(available_now=True).run()
    assert len(query.batches) == 1
    assert rows(query.rows) == rows(incremental(table_of(case), "earliest", None))
    assert query.rows.schema.names == mortice.Table(table_of(case)).schema.names


@pytest.mark.parametrize("case", ["h12_cdc_odd_data_before_after", "h015_cdc_odd_op_key_only"])
def test_changes(case, table_of, is_old):
    query = MicroBatches(table_of(case), is_old, maxInstantsPerTrigger=1, **CHANGES).start().run()
    assert_batches_equal_ranges(
        query, table_of(case), lambda path, *span: mortice.Table(path).changes(*span).to_arrow()
    )
    assert len(query.batches) > 5
    assert query.rows.schema.names == ["op", "ts_ms", "before", "after"]
    assert {"i", "u", "d"} == set(query.rows["op"].to_pylist())


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"mortice.emit_deletes": "true"}, {"emit_deletes": True}),
        (CHANGELOG, {"changelog": True}),
        (
            {"columns": "trip_id,fare", "filters": '[["city", "=", "oslo"]]'},
            {"columns": ["trip_id", "fare"], "filters": [("city", "=", "oslo")]},
        ),
        (CHANGELOG | {"columns": "fare"}, {"changelog": True, "columns": ["fare"]}),
    ],
    ids=["emit_deletes", "changelog", "columns", "columns of a changelog"],
)
def test_options_of_incremental_queries_apply(table_of, options, arguments):
    path = table_of("h11_event_time_deletes")
    query = MicroBatches(path, maxInstantsPerTrigger=2, is_old=not HAS_LIMITS, **options).start().run()
    assert_batches_equal_ranges(query, path, lambda *span: incremental(*span, **arguments))
    assert len(query.batches) == 4
    if "filters" not in options:
        assert "D" in query.rows[OPERATION].to_pylist()


@pytest.mark.parametrize("limit", [1, 2, 3, 9])
def test_log_compaction_repeats_nothing(table_of, is_old, limit):
    table = mortice.Table(table_of("h12_log_compaction"))
    operations = {one.requested_time: table.timeline.metadata(one)["operationType"] for one in table.timeline.completed}
    assert "LOG_COMPACT" in operations.values()
    query = MicroBatches(table.uri, is_old, maxInstantsPerTrigger=limit).start().run()
    found = Counter((row[COMMIT_TIME], row["_hoodie_record_key"]) for row in query.rows.to_pylist())
    assert set(found.values()) == {1}
    assert "LOG_COMPACT" not in {operations[instant] for instant, _ in found}


def test_log_compaction_would_repeat_rows_of_other_commits(table_of):
    """Why a stream omits it: a range with a part of the compacted commits would return rows of earlier commits
    again."""
    table = mortice.Table(table_of("h12_log_compaction"))
    operations = {one.requested_time: table.timeline.metadata(one)["operationType"] for one in table.timeline.completed}
    (at,) = [instant for instant, operation in operations.items() if operation == "LOG_COMPACT"]
    completed = {one.requested_time: one.completion_time for one in table.timeline.completed}
    before_it = sorted(time for instant, time in completed.items() if instant < at)
    arguments = {"begin": before_it[-2], "end": completed[at], "columns": [COMMIT_TIME, "_hoodie_record_key"]}
    with_it = table.incremental(**arguments).to_arrow()
    without = table.incremental(**arguments, skip_log_compact=True).to_arrow()
    assert at in with_it[COMMIT_TIME].to_pylist()
    assert at not in without[COMMIT_TIME].to_pylist()
    assert set(without["_hoodie_record_key"].to_pylist()) < set(with_it["_hoodie_record_key"].to_pylist())


def test_every_commit_as_a_separate_batch(live, is_old):
    positions = [live.commit() for _ in range(5)]
    query = MicroBatches(live.folder, is_old, maxInstantsPerTrigger=1).start().run()
    assert [until for _, until in query.ranges] == positions
    assert values(query) == [{n: n} for n in range(1, 6)]
    assert query.trigger() is False


def test_limits_of_bytes(table_of, is_old):
    path = table_of("h11_event_time_deletes")
    ranges, sizes = mortice.Table(path).ranges("earliest"), []
    while (step := ranges._native.peek()) is not None:
        sizes.append(step[1])
        ranges._native.advance()
    assert all(sizes)
    assert len(sizes) == 7
    small = MicroBatches(path, is_old, maxBytesPerTrigger=1).start().run()
    assert [batch_instants(path, *span) for span in small.ranges] == [1] * 7
    most = sum(sizes[1:4])
    some = MicroBatches(path, is_old, maxBytesPerTrigger=most).start().run()
    expected, room = [], 0
    for size in sizes:
        if not expected or size > room:
            expected, room = [*expected, 0], most
        expected[-1], room = expected[-1] + 1, room - size
    assert [batch_instants(path, *span) for span in some.ranges] == expected
    assert max(expected) > 1
    both = MicroBatches(path, is_old, maxBytesPerTrigger=most, maxInstantsPerTrigger=2).start().run()
    assert [batch_instants(path, *span) for span in both.ranges] != expected
    assert max(batch_instants(path, *span) for span in both.ranges) == 2


@pytest.mark.skipif(not HAS_LIMITS, reason="this Spark has no limits")
def test_limits_that_spark_passes(live):
    from pyspark.sql.streaming import datasource as limits

    positions = [live.commit() for _ in range(4)]
    reader = MicroBatches(live.folder, maxInstantsPerTrigger=2).start().reader
    start = reader.initialOffset()
    assert reader.getDefaultReadLimit() == limits.ReadMaxFiles(2)
    assert reader.latestOffset(start, limits.ReadMaxFiles(2))["instant"] == positions[1]
    assert reader.latestOffset(start, limits.ReadAllAvailable())["instant"] == positions[3]
    assert reader.reportLatestOffset()["instant"] == positions[3]
    with pytest.raises(mortice.UnsupportedError, match="ReadMaxRows"):
        reader.latestOffset(start, limits.ReadMaxRows(5))
    plain = MicroBatches(live.folder).start().reader
    assert plain.getDefaultReadLimit() == limits.ReadAllAvailable()
    heavy = MicroBatches(live.folder, maxBytesPerTrigger="7").start().reader
    assert heavy.getDefaultReadLimit() == limits.ReadMaxBytes(7)


@pytest.mark.skipif(not HAS_LIMITS, reason="this Spark asks for all that there is in one batch")
def test_available_now_ends_with_the_commits_at_its_start(live):
    positions = [live.commit() for _ in range(5)]
    query = MicroBatches(live.folder, maxInstantsPerTrigger=2).start(available_now=True)
    later = []
    while query.trigger():
        later.append(live.commit())
    assert [until for _, until in query.ranges] == [positions[1], positions[3], positions[4]]
    # The next run continues from there.
    query.start(available_now=True).run()
    assert [until for _, until in query.ranges][3:] == [later[1], later[2]]
    assert_batches_equal_ranges(query, live.folder)


def test_an_empty_table_needs_a_user_defined_schema(live, is_old):
    with pytest.raises(mortice.InvalidArgumentError, match="no columns"):
        MicroBatches(live.folder, is_old).start()
    given = StructType([StructField("value", LongType()), StructField("id", StringType())])
    query = MicroBatches(live.folder, is_old, given).start(available_now=True)
    if not is_old:
        live.commit()
    query.run()
    assert sum(batch.num_rows for batch in query.batches) == 0
    position = live.commit()
    query.start().run()
    assert query.ranges[-1] == ("earliest", position)
    assert query.batches[-1].schema.names == ["value", "id"]
    wrong = StructType([StructField("value", StringType())])
    other = LiveTable(live.folder.parent / "other", live.version)
    query = MicroBatches(other.folder, is_old, wrong).start()
    other.commit()
    with pytest.raises(mortice.UnsupportedError, match="bigint in the table"):
        query.trigger()


def test_table_services_start_no_batch_and_repeat_nothing(live, is_old):
    live.commit()
    planned = live.plan_compaction()
    live.commit()
    query = MicroBatches(live.folder, is_old).start().run()
    live.compact(planned)
    live.clean()
    assert query.trigger() is False
    live.commit()
    live.compact(live.plan_compaction())
    query.run()
    assert values(query) == [{2: 2}, {3: 3}]
    assert_batches_equal_ranges(query, live.folder)


def test_before_version_8_a_pending_commit_holds_back_later_ones(tmp_path, is_old):
    live = LiveTable(tmp_path / "table", 6)
    live.commit()
    query = MicroBatches(live.folder, is_old).start().run()
    started = live.begin()
    live.commit()
    assert query.trigger() is False
    assert MicroBatches(live.folder, is_old).start(available_now=True).run().batches[-1].num_rows == 1
    live.end(started)
    query.run()
    assert values(query)[1:] == [{3: 3}]
    assert_batches_equal_ranges(query, live.folder)


def test_from_version_8_a_commit_that_completes_late_is_returned(tmp_path, is_old):
    live = LiveTable(tmp_path / "table", 9)
    live.commit()
    started = live.begin()
    live.commit()
    query = MicroBatches(live.folder, is_old).start().run()
    late = live.end(started)
    query.run()
    assert query.ranges[-1][1] == late
    assert values(query) == [{3: 3}, {2: 2}]


@pytest.mark.parametrize("case", ["h11_event_time_deletes", "h10_types"])
def test_a_real_commit_that_completes_late(case, table_of, tmp_path):
    """Its completed file is created after those of commits that were requested later; its name is unchanged."""
    replay = Replay(table_of(case), tmp_path / "table", overtaken={1: 1})

    query = MicroBatches(replay.folder, is_old=not HAS_LIMITS)
    replay.all()
    assert rows(query.start().run().rows) == rows(mortice.Table(table_of(case)).incremental("earliest").to_arrow())


def test_archived_commits_are_returned(live, is_old):
    positions = [live.commit() for _ in range(4)]
    query = MicroBatches(live.folder, is_old, maxInstantsPerTrigger=3).start()
    query.trigger()
    positions += [live.commit() for _ in range(6)]
    live.archive(keep=2)
    query.start().run()
    assert [until for _, until in query.ranges] == [positions[2], positions[5], positions[8], positions[9]]
    assert_batches_equal_ranges(query, live.folder)


def test_a_batch_whose_commits_were_archived_is_run_again(live, is_old):
    for _ in range(3):
        live.commit()
    query = MicroBatches(live.folder, is_old).start()
    with pytest.raises(Killed):
        query.trigger("before commit")
    for _ in range(6):
        live.commit()
    live.archive(keep=2)
    query.start().trigger()
    assert values(query) == [{3: 3}]
    assert values(query.run()) == [{3: 3}, {9: 9}]


class Reader:
    """A writer runs operations in sequence. A query polls between them, is killed and continues."""

    def __init__(self, live, is_old, limit):
        self.live, self.pending, self.planned = live, [], []
        self.committed = []
        live.commit()
        self.query = MicroBatches(live.folder, is_old, **({"maxInstantsPerTrigger": limit} if limit else {})).start()

    def commit(self, _):
        self.live.commit()

    def begin(self, _):
        if len(self.pending) < 2:
            self.pending.append(self.live.begin())

    def end(self, number):
        if self.pending:
            self.live.end(self.pending.pop(number % len(self.pending)))

    def plan(self, _):
        if not self.planned and not self.pending:
            self.planned.append(self.live.plan_compaction())

    def compact(self, _):
        if self.planned:
            self.live.compact(self.planned.pop())

    def archive(self, _):
        self.live.archive(keep=2)

    def trigger(self, number):
        try:
            self.query.trigger(POINTS[number])
        except Killed:
            self.query.start()


STEPS = ["commit", "begin", "end", "plan", "compact", "archive", "trigger", "trigger"]


@explore(25)
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, len(POINTS) - 1)), min_size=4, max_size=16),
    version=st.sampled_from([6, 9]),
    is_old=st.sampled_from(PROTOCOLS),
    limit=st.sampled_from([None, 1, 2]),
)
def test_no_commit_is_lost_or_repeated(tmp_path_factory, steps, version, is_old, limit):
    live = LiveTable(tmp_path_factory.mktemp("live") / "table", version)
    reader = Reader(live, is_old, limit)
    for step, number in steps:
        getattr(reader, step)(number)
    while reader.pending:
        reader.end(0)
    query = reader.query.run()
    assert_batches_equal_ranges(query, live.folder)
    positions = [instant for instant, _ in mortice.Table(live.folder).follow("earliest", None)]
    assert query.ranges[0][0] == "earliest"
    assert query.ranges[-1][1] == positions[-1]
    if limit == 1:
        assert [until for _, until in query.ranges] == positions


def test_starts(live, is_old):
    positions = [live.commit() for _ in range(4)]

    def first(**options):
        query = MicroBatches(live.folder, is_old, maxInstantsPerTrigger=1, **options).start().run()
        return [until for _, until in query.ranges]

    assert first() == first(start="Earliest") == positions
    assert first(start=positions[1]) == positions[2:]
    assert first(start=positions[1], start_inclusive="true") == positions[1:]
    assert first(start=positions[1], start_inclusive="false") == positions[2:]
    assert first(**{"hoodie.datasource.streaming.startOffset": positions[2]}) == positions[3:]
    assert first(start="2026-01-01", start_inclusive="true") == positions
    assert first(start="latest") == []
    assert first(start="20990101000000000") == []


def test_latest_starts_with_the_next_commit(live, is_old):
    live.commit()
    query = MicroBatches(live.folder, is_old, start="latest").start().run()
    position = live.commit()
    query.run()
    assert [until for _, until in query.ranges] == [position]
    assert query.rows["value"].to_pylist() == [2, 2]


@pytest.mark.parametrize("point", POINTS[1:4])
def test_latest_is_kept_when_the_first_batch_is_killed(live, is_old, point):
    live.commit()
    query = MicroBatches(live.folder, is_old, start="latest").start()
    query.reader.initialOffset()
    position = live.commit()
    with pytest.raises(Killed):
        query.trigger(point)
    live.commit()
    query.start().run()
    assert query.ranges[0][1] == position
    assert query.batches[0]["value"].to_pylist() == [2, 2]
    assert values(query)[-1] == {3: 3}


def test_latest_is_kept_by_a_query_that_had_nothing_to_do(live, is_old):
    live.commit()
    query = MicroBatches(live.folder, is_old, start="latest").start().run()
    missed = live.commit()
    assert [until for _, until in query.start().run().ranges] == [missed]


GOOD = {"version": 1, "layout": 2, "after": "20260101000000001", "instant": "20260101000000002"}


@pytest.mark.parametrize(
    ("offset", "kind", "message"),
    [
        ({"commit": "20240101"}, mortice.InvalidArgumentError, "was not written"),
        (GOOD | {"version": "1"}, mortice.InvalidArgumentError, "was not written"),
        (GOOD | {"version": 2}, mortice.UnsupportedError, "version 2"),
        (GOOD | {"layout": 3}, mortice.InvalidArgumentError, "layout"),
        (GOOD | {"instant": "yesterday"}, mortice.InvalidArgumentError, "instant"),
        (GOOD | {"instant": None}, mortice.InvalidArgumentError, "instant"),
        (GOOD | {"after": 7}, mortice.InvalidArgumentError, "after"),
        ({"version": 1, "layout": 2}, mortice.InvalidArgumentError, "instant"),
    ],
    ids=str,
)
def test_an_invalid_offset_is_refused(live, offset, kind, message):
    live.commit()
    reader = MicroBatches(live.folder, is_old=not HAS_LIMITS).start().reader
    with pytest.raises(kind, match=message):
        reader.latestOffset(offset, None)
    for start, end in ((GOOD, offset), (offset, GOOD)):
        with pytest.raises(kind, match=message):
            reader.partitions(start, end)


def test_a_checkpoint_of_another_table_is_refused(live, tmp_path):
    for _ in range(3):
        live.commit()
    query = MicroBatches(live.folder, is_old=not HAS_LIMITS).start().run()
    other = LiveTable(tmp_path / "other", live.version)
    other.commit()
    query.options["path"] = str(other.folder)
    with pytest.raises(mortice.InvalidArgumentError, match="put back to an earlier state"):
        query.start().run()
    start, end = query.ends[-1], query.ends[-1] | {"instant": query.ends[0]["instant"][:-3] + "001"}
    with pytest.raises(mortice.InvalidArgumentError, match="which is earlier"):
        MicroBatches(live.folder, is_old=not HAS_LIMITS).start().reader.partitions(start, end)


def test_a_checkpoint_from_before_an_upgrade_is_continued(tmp_path):
    """Positions of the older layout are requested times: they are followed by the completion times of later commits."""
    live = LiveTable(tmp_path / "table", 9)
    for _ in range(4):
        live.commit()
    requested = [one[0] for one in live.history]
    query = MicroBatches(live.folder, is_old=not HAS_LIMITS)
    query.ends = [{"version": 1, "layout": 1, "after": "earliest", "instant": time} for time in requested[:2]]
    query.ends[1]["after"] = requested[0]
    query.batches = [None]
    # The second batch was not complete when the table was upgraded.
    query.start().run()
    assert [Counter(batch["value"].to_pylist()) for batch in query.batches[1:]] == [{2: 2}, {4: 4}]
    completed = [one[1] for one in live.history]
    assert query.ends[-1] == {"version": 1, "layout": 2, "after": completed[1], "instant": completed[3]}


@pytest.mark.parametrize(("version", "to"), [(6, 9), (8, 9), (9, 10)])
def test_an_open_query_goes_on_beside_an_upgrade(version, to, tmp_path, is_old):
    """The first write of Hudi 1.3 upgrades a table. The query is restarted neither before nor after the next batch."""
    table = new_table(tmp_path / "trips", version)
    table.upsert(FIRST, NO_SMALL_FILES)
    query = MicroBatches(table.uri, is_old).start().run()
    other = mortice.Table(table.uri)
    other.upgrade(to)
    for batch in (CHANGED, trips(("d", "y", 3, 4.0))):
        other.upsert(batch, NO_SMALL_FILES)
        query.run()
    assert [sorted(batch["id"].to_pylist()) for batch in query.batches] == [["a", "b", "c"], ["a", "c"], ["d"]]


def test_a_checkpoint_from_before_a_downgrade_is_refused(tmp_path):
    live = LiveTable(tmp_path / "table", 6)
    live.commit()
    query = MicroBatches(live.folder, is_old=not HAS_LIMITS).start().run()
    live.commit()
    query.ends[0] |= {"layout": 2}
    with pytest.raises(mortice.UnsupportedError, match="layout 2"):
        query.start().run()


def test_cleaned_files_are_an_error(live, is_old):
    live.commit()
    live.compact(live.plan_compaction())
    live.commit()
    live.compact(live.plan_compaction())
    live.clean()
    query = MicroBatches(live.folder, is_old).start()
    with pytest.raises(mortice.FileCleanedError, match="MORTICE-FILE-CLEANED"):
        query.trigger()
    # The query continues from its recorded offset when a full scan is permitted.
    query.options["hoodie.datasource.read.incr.fallback.fulltablescan.enable"] = "true"
    assert query.start().trigger() is True
    assert Counter(query.rows["value"].to_pylist()) == {2: 2}


class Evolving(LiveTable):
    """A table whose commits have other columns than the first."""

    changed = staticmethod(lambda fields: fields)

    def metadata(self, paths, operation):
        import json

        from support.tables import live_table
        from support.tables.table_writer import avro_schema

        original = live_table.avro_schema
        live_table.avro_schema = lambda *arguments: (
            json.loads(json.dumps(avro_schema(*arguments)))
            | {"fields": self.changed(json.loads(json.dumps(avro_schema(*arguments)))["fields"])}
        )
        try:
            return super().metadata(paths, operation)
        finally:
            live_table.avro_schema = original


def retyped(fields):
    return [field | {"type": ["null", "string"]} if field["name"] == "value" else field for field in fields]


def dropped(fields):
    return [field for field in fields if field["name"] != "value"]


def added(fields):
    return [*fields, {"name": "more", "type": ["null", "string"], "default": None}]


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize(("change", "message"), [(dropped, "no longer has"), (retyped, "is string in the table")])
def test_a_dropped_or_changed_column_stops_the_stream(tmp_path, version, change, message, is_old):
    live = Evolving(tmp_path / "table", version)
    live.commit()
    query = MicroBatches(live.folder, is_old).start().run()
    live.changed = change
    live.commit()
    with pytest.raises(mortice.UnsupportedError, match=message):
        query.trigger()
    assert len(query.batches) == 1
    # After a restart it has the new columns, and no row is missing.
    query.start().run()
    assert query.batches[1].num_rows == 2


@pytest.mark.parametrize("version", [6, 9])
def test_an_added_column_is_omitted_until_the_stream_is_restarted(tmp_path, version, is_old):
    live = Evolving(tmp_path / "table", version)
    live.commit()
    query = MicroBatches(live.folder, is_old).start().run()
    live.changed = added
    live.commit()
    query.run()
    assert query.batches[1].schema == query.batches[0].schema
    assert values(query) == [{1: 1}, {2: 2}]
    live.commit()
    query.start().run()
    assert query.batches[2].schema.names == [*query.batches[0].schema.names, "more"]


def test_added_columns_of_a_real_table(table_of, tmp_path, is_old):
    replay = Replay(table_of("h11_schema_on_write"), tmp_path / "table")
    while not any(one.is_completed for one in mortice.Table(replay.folder).timeline):
        replay.step()
    query = MicroBatches(replay.folder, is_old, maxInstantsPerTrigger=1).start()
    columns = query.schema.names
    try:
        while replay.step():
            query.run()
    except mortice.UnsupportedError as error:
        # A type was widened: the query is restarted with the batch that it could not read.
        assert "is " in str(error)  # noqa: PT017
        replay.all()
        query.start().run()
    assert [until for _, until in query.ranges] == [
        instant for instant, _ in mortice.Table(replay.folder).follow("earliest", None)
    ]
    assert query.batches[0].column_names == columns
    for (after, until), batch in zip(query.ranges, query.batches, strict=True):
        expected = incremental(replay.folder, after, until, columns=batch.column_names)
        assert batch.num_rows == expected.num_rows
        if batch.schema.types == expected.schema.types:
            assert rows(batch) == rows(expected)


def test_an_incomplete_timeline_file_is_read_later(live, is_old, monkeypatch):
    live.commit()
    query = MicroBatches(live.folder, is_old).start().run()
    started = live.begin()
    live.end(started)
    (completed,) = [
        path for path in live.timeline.iterdir() if path.name.endswith(".deltacommit") and started[1] in path.name
    ]
    whole = completed.read_bytes()
    completed.write_bytes(whole[:40])
    assert query.trigger() is False

    def sleep(_):
        completed.write_bytes(whole)

    # Planning reads the newest commit for the table's columns, too.
    again = MicroBatches(live.folder, is_old)
    again.ends = [query.ends[0]]
    completed.write_bytes(whole)
    again.start()
    completed.write_bytes(whole[:40])
    # Not for all threads of the process: others would write the file while it is read.
    monkeypatch.setattr(stream_reader, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    assert again.trigger() is True
    assert values(again) == [{1: 1}]
    query.run()
    assert values(query) == [{1: 1}, {2: 2}]


def test_a_user_defined_schema_is_a_projection_of_the_stream(live):
    live.commit()
    query = MicroBatches(live.folder, is_old=not HAS_LIMITS, columns="value,id").start().run()
    assert query.rows.schema.names == ["value", "id"]
    assert query.rows.schema.field("value").type == pa.int64()
