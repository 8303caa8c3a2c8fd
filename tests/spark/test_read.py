"""`mortice.spark.read` and `Scan.to_spark`: Hudi's results through mapInArrow, on Spark 3.5 and 4."""

import datetime as dt

import pytest

import mortice
import mortice.spark
from mortice.spark.execution.tasks import tasks_of
from support.cases import assert_same_result, hudi_result, queries_on_spark
from support.frames import to_arrow

NAME = "h11_event_time_deletes"
PARTITIONED = "h11_composite_keys_encoded_partitions"


@pytest.mark.parametrize("query", queries_on_spark(0))
def test_rows_equal_hudis_result(spark, query, table_of):
    frame = mortice.spark.read(spark, query.table(table_of), options=query.options)
    assert_same_result(query.expected, to_arrow(frame), ordered=query.ordered)


@pytest.mark.parametrize(
    ("options", "tasks"), [({}, 2), ({"mortice.split.bytes": 10_000_000}, 5), ({"mortice.split.bytes": 200_000}, 30)]
)
def test_small_slices_share_a_task_and_large_ones_have_several(spark, table_of, options, tasks):
    assert len(mortice.Table(table_of(PARTITIONED)).snapshot().splits()) == 10
    frame = mortice.spark.read(spark, table_of(PARTITIONED), options=options)
    counts = frame.rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    assert len(counts) == tasks
    assert sum(counts) == hudi_result(PARTITIONED).num_rows


def test_the_largest_task_comes_first(table_of):
    tasks = tasks_of(mortice.Table(table_of(PARTITIONED)).snapshot(), split_bytes=9_000_000)
    sizes = [sum(split.size for split in task) for task in tasks]
    assert sizes == sorted(sizes, reverse=True)
    assert len(tasks) > 1


def test_columns_and_filters(spark, table_of):
    frame = mortice.spark.read(spark, table_of(NAME), columns=["fare", "trip_id"], filters=[("city", "=", "oslo")])
    assert frame.columns == ["fare", "trip_id"]
    expected = [(row["fare"], row["trip_id"]) for row in hudi_result(NAME).to_pylist() if row["city"] == "oslo"]
    assert sorted(tuple(row) for row in frame.collect()) == sorted(expected)


def test_arguments_take_precedence_over_options(spark, table_of):
    options = {
        "as.of.instant": "20261121024610515",
        "columns": "fare",
        "hoodie.datasource.query.type": "read_optimized",
    }
    frame = mortice.spark.read(
        spark, table_of(NAME), columns=["trip_id"], query_type="snapshot", as_of="20261121024615652", options=options
    )
    assert frame.columns == ["trip_id"]
    assert frame.count() == hudi_result(NAME, "as_of_03").num_rows
    by_options = mortice.spark.read(spark, table_of(NAME), options={"Hoodie.Datasource.Query.Type": "read_optimized"})
    assert by_options.count() == hudi_result(NAME, "read_optimized").num_rows


def test_as_of_a_datetime(spark, table_of):
    moment = dt.datetime(2026, 11, 21, 2, 46, 15, 652000)
    assert mortice.spark.read(spark, table_of(NAME), as_of=moment).count() == hudi_result(NAME, "as_of_03").num_rows


def test_spark_queries_the_dataframe(spark, table_of):
    trips = mortice.spark.read(spark, table_of(NAME), columns=["city", "seats", "fare"])
    trips.createOrReplaceTempView("trips")
    found = spark.sql("select city, sum(seats) as seats from trips where fare > 20 group by city").collect()
    expected = {}
    for row in hudi_result(NAME).to_pylist():
        if row["fare"] > 20:
            expected[row["city"]] = expected.get(row["city"], 0) + row["seats"]
    assert {row.city: row.seats for row in found} == expected


def test_a_table_without_splits_is_an_empty_dataframe_with_its_schema(spark, table_of):
    before_all = "20200101000000000"
    with pytest.warns(mortice.TimeTravelWarning, match="first commit"):
        frame = mortice.spark.read(spark, table_of(NAME), as_of=before_all)
    with pytest.warns(mortice.TimeTravelWarning, match="first commit"):
        scan = mortice.Table(table_of(NAME)).snapshot(as_of=before_all)
    assert frame.columns == scan.schema.names
    assert (frame.count(), frame.rdd.getNumPartitions() <= 2) == (0, True)


def test_no_matching_rows_are_an_empty_dataframe(spark, table_of):
    frame = mortice.spark.read(spark, table_of(NAME), filters=[("trip_id", "=", "nobody")])
    assert frame.collect() == []


def test_a_scan_is_converted_to_a_dataframe(spark, table_of):
    scan = mortice.Table(table_of(NAME)).snapshot(columns=["trip_id", "fare"])
    assert_same_result(hudi_result(NAME).select(["trip_id", "fare"]), to_arrow(scan.to_spark(spark)))
