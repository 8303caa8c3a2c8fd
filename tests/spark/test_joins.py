"""Joins: a table is broadcast where it is small or where the user says so, never because Spark mistakes its size."""

import contextlib
import io

import pytest

import mortice.spark
from mortice.spark.data_frame import _bytes

NAME = "h11_event_time_deletes"
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
DOORS = ["arrow", pytest.param("source", marks=pytest.mark.spark4)]


@pytest.fixture(params=DOORS)
def load(spark, table_of, request):
    def frame():
        if request.param == "arrow":
            return mortice.spark.read(spark, table_of(NAME), columns=["trip_id", "fare"])
        return spark.read.format("mortice").option("columns", "trip_id,fare").load(str(table_of(NAME)))

    frame.door = request.param
    return frame


@pytest.fixture
def little_is_broadcast(spark):
    """The threshold is below the bytes of the bundled table, so that this one counts as large."""
    spark.conf.set(THRESHOLD, "1000b")
    yield
    spark.conf.unset(THRESHOLD)


def planned(frame):
    """What `explain` prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        frame.explain()
    return said.getvalue()


def large(spark):
    return spark.range(10**7).selectExpr("cast(id as string) as trip_id", "id as other")


def test_a_large_table_is_not_broadcast(spark, load, little_is_broadcast):
    joined = large(spark).join(load(), "trip_id")
    assert "SortMergeJoin" in planned(joined)
    assert "BroadcastHashJoin" not in planned(joined)


def test_not_even_after_projections_and_filters(spark, load, little_is_broadcast):
    narrow = load().filter("fare > 0").select("trip_id").distinct()
    assert "BroadcastHashJoin" not in planned(large(spark).join(narrow, "trip_id"))


def test_a_small_side_beside_a_large_table_is_broadcast(spark, load, little_is_broadcast):
    few = spark.range(2).selectExpr("cast(id as string) as trip_id")
    plan = planned(load().join(few, "trip_id"))
    assert "BroadcastHashJoin" in plan
    assert "BuildRight" in plan


def test_a_small_table_is_broadcast(spark, load):
    plan = planned(large(spark).join(load(), "trip_id"))
    assert ("BroadcastHashJoin" in plan) is (load.door == "arrow")


def test_the_user_may_say_so(spark, load, little_is_broadcast):
    from pyspark.sql import functions as F  # noqa: N812

    assert "BroadcastHashJoin" in planned(large(spark).join(F.broadcast(load()), "trip_id"))


def test_joined_rows_are_right_either_way(spark, load, little_is_broadcast):
    first, second = load(), load()
    once = first.count()
    assert first.join(second, "trip_id").count() == once
    assert first.join(first, "trip_id").count() == once


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("10485760b", 10485760), ("10MB", 10 << 20), ("1g", 1 << 30), ("2 kb", 2048), ("7", 7), ("-1", -1), ("odd", -1)],
)
def test_sizes_as_spark_writes_them(text, bytes_):
    assert _bytes(text) == bytes_
