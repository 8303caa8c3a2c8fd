"""Joins: a table is broadcast if it is small or the user requests it, never because Spark misjudges its size."""

import contextlib
import io

import pytest

import mortice.spark
from mortice.spark.execution.data_frame import _bytes

NAME = "h11_event_time_deletes"
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
ENTRY_POINTS = ["arrow", pytest.param("source", marks=pytest.mark.spark4)]


@pytest.fixture(params=ENTRY_POINTS)
def load(spark, table_of, request):
    def frame():
        if request.param == "arrow":
            return mortice.spark.read(spark, table_of(NAME), columns=["trip_id", "fare"])
        return spark.read.format("mortice").option("columns", "trip_id,fare").load(str(table_of(NAME)))

    frame.entry_point = request.param
    return frame


@pytest.fixture
def low_broadcast_threshold(spark):
    """The threshold is below the size of the bundled table, so that this table counts as large."""
    spark.conf.set(THRESHOLD, "1000b")
    yield
    spark.conf.unset(THRESHOLD)


def planned(frame):
    """Returns the output of `explain`."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        frame.explain()
    return output.getvalue()


def large(spark):
    return spark.range(10**7).selectExpr("cast(id as string) as trip_id", "id as other")


def test_a_large_table_is_not_broadcast(spark, load, low_broadcast_threshold):
    joined = large(spark).join(load(), "trip_id")
    assert "SortMergeJoin" in planned(joined)
    assert "BroadcastHashJoin" not in planned(joined)


def test_a_large_table_is_not_broadcast_after_projections_and_filters(spark, load, low_broadcast_threshold):
    narrow = load().filter("fare > 0").select("trip_id").distinct()
    assert "BroadcastHashJoin" not in planned(large(spark).join(narrow, "trip_id"))


def test_a_small_side_of_a_join_with_a_large_table_is_broadcast(spark, load, low_broadcast_threshold):
    few = spark.range(2).selectExpr("cast(id as string) as trip_id")
    plan = planned(load().join(few, "trip_id"))
    assert "BroadcastHashJoin" in plan
    assert "BuildRight" in plan


def test_a_small_table_is_broadcast(spark, load):
    plan = planned(large(spark).join(load(), "trip_id"))
    assert ("BroadcastHashJoin" in plan) is (load.entry_point == "arrow")


def test_the_user_can_request_a_broadcast(spark, load, low_broadcast_threshold):
    from pyspark.sql import functions as F  # noqa: N812

    assert "BroadcastHashJoin" in planned(large(spark).join(F.broadcast(load()), "trip_id"))


def test_joined_rows_are_correct_with_and_without_broadcast(spark, load, low_broadcast_threshold):
    first, second = load(), load()
    once = first.count()
    assert first.join(second, "trip_id").count() == once
    assert first.join(first, "trip_id").count() == once


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("10485760b", 10485760), ("10MB", 10 << 20), ("1g", 1 << 30), ("2 kb", 2048), ("7", 7), ("-1", -1), ("odd", -1)],
)
def test_sizes_in_sparks_format(text, bytes_):
    assert _bytes(text) == bytes_


def test_a_plan_without_a_join_has_no_hint(spark, table_of):
    frame = mortice.spark.read(spark, table_of(NAME), columns=["trip_id"])
    # Spark warns of a hint that is not part of a join.
    assert "Hint" not in frame._jdf.queryExecution().logical().toString()
