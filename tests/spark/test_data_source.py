"""`spark.read.format("mortice")` on Spark 4."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import mortice
import mortice.spark
from support.cases import assert_same_result, hudi_result, logs_of, queries_on_spark
from support.frames import to_arrow

pytestmark = pytest.mark.spark4
NAME = "h11_event_time_deletes"
PARTITIONED = "h11_composite_keys_encoded_partitions"


def load(spark, path, **options):
    return spark.read.format("mortice").options(**options).load(str(path))


@pytest.mark.parametrize("query", queries_on_spark(1))
def test_rows_equal_hudis_result(spark, query, table_of):
    frame = load(spark, query.table(table_of), **query.options)
    assert_same_result(query.expected, to_arrow(frame), ordered=query.ordered)


def test_spark_finds_it_without_registration(table_of):
    """In a new session."""
    code = f"""
import os, sys
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
sys.path.append({str(Path(__file__).parents[1])!r})
from support.find_java import use_java
use_java()
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print(spark.read.format("mortice").load({str(table_of(NAME))!r}).count())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout.split() == [str(hudi_result(NAME).num_rows)], done.stderr[-2000:]


def test_it_can_be_registered(spark, table_of):
    mortice.spark.register(spark)
    assert load(spark, table_of(NAME)).count() == hudi_result(NAME).num_rows


def test_small_slices_share_a_task(spark, table_of):
    splits = mortice.Table(table_of(PARTITIONED)).snapshot().splits()
    assert load(spark, table_of(PARTITIONED)).rdd.getNumPartitions() == 2 < len(splits)
    apart = load(spark, table_of(PARTITIONED), **{"mortice.split.bytes": max(split.size for split in splits)})
    assert apart.rdd.getNumPartitions() == len(splits)


def test_columns_and_filters_are_options(spark, table_of):
    arguments = {"columns": "fare,trip_id", "filters": json.dumps([["city", "=", "oslo"]])}
    frame = load(spark, table_of(NAME), **arguments)
    assert frame.columns == ["fare", "trip_id"]
    expected = [(row["fare"], row["trip_id"]) for row in hudi_result(NAME).to_pylist() if row["city"] == "oslo"]
    assert sorted(tuple(row) for row in frame.collect()) == sorted(expected)


def test_a_user_defined_schema_is_a_projection(spark, table_of):
    frame = spark.read.format("mortice").schema("fare double, trip_id string not null").load(str(table_of(NAME)))
    assert_same_result(hudi_result(NAME).select(["fare", "trip_id"]), to_arrow(frame))


@pytest.mark.parametrize(
    ("schema", "message"), [("fare float", "double"), ("nope string", "nope"), ("note string not null", "NOT NULL")]
)
def test_an_incompatible_schema_is_refused(spark, table_of, schema, message):
    with pytest.raises(Exception, match="MORTICE-INVALID-ARGUMENT") as raised:
        spark.read.format("mortice").schema(schema).load(str(table_of(NAME))).collect()
    assert message in str(raised.value)


def test_columns_and_a_different_schema_are_refused(spark, table_of):
    reader = spark.read.format("mortice").option("columns", "fare").schema("trip_id string")
    with pytest.raises(Exception, match="give one of them"):
        reader.load(str(table_of(NAME))).collect()


def test_sql_over_a_temporary_view(spark, table_of):
    load(spark, table_of(NAME)).createOrReplaceTempView("loaded")
    spark.sql(f"create or replace temporary view used using mortice options (path '{table_of(NAME)}', columns 'city')")
    expected = hudi_result(NAME).num_rows
    assert spark.sql("select count(*) from loaded where seats >= 0 or seats is null").first()[0] == expected
    assert spark.sql("select count(city) from used").first()[0] == expected


def test_queries_over_one_dataframe_are_independent(spark, table_of):
    """Spark's own filter pushdown gets this wrong, which is why this source does not offer it."""
    frame = load(spark, table_of(NAME))
    oslo, lima = (frame.filter(frame.city == city).count() for city in ("oslo", "lima"))
    assert frame.count() == hudi_result(NAME).num_rows
    both = frame.filter(frame.city == "oslo").union(frame.filter(frame.city == "lima"))
    assert both.count() == oslo + lima
    assert {row.city for row in both.select("city").distinct().collect()} == {"oslo", "lima"}


def test_no_rows_and_no_splits(spark, table_of):
    assert load(spark, table_of(NAME), **{"as.of.instant": "20200101000000000"}).collect() == []
    assert load(spark, table_of(NAME), filters='[["trip_id", "=", "nobody"]]').collect() == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"columns": "nope"}, "MORTICE-INVALID-ARGUMENT"),
        ({"mortice.nope": "1"}, "MORTICE-INVALID-ARGUMENT"),
        ({"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}, "MORTICE-UNSUPPORTED"),
    ],
    ids=str,
)
def test_invalid_options_fail_during_planning(spark, table_of, options, code):
    with pytest.raises(Exception, match=code):
        load(spark, table_of(NAME), **options).schema  # noqa: B018


def test_an_incremental_query_without_a_begin_fails_when_it_is_read(spark, table_of):
    """A stream needs none, and Spark requests the schema before it is known whether the query is a stream."""
    frame = load(spark, table_of(NAME), **{"hoodie.datasource.query.type": "incremental"})
    with pytest.raises(Exception, match="MORTICE-INVALID-ARGUMENT"):
        frame.collect()


def test_emit_deletes_adds_the_operation_column_to_a_projection(spark, table_of):
    frame = load(spark, table_of(NAME), columns="fare", **{"mortice.emit_deletes": "true"})
    expected = mortice.Table(table_of(NAME)).snapshot(columns=["fare"], emit_deletes=True).to_arrow()
    assert_same_result(expected, to_arrow(frame))


def test_the_error_for_a_missing_table_names_it(spark, tmp_path):
    with pytest.raises(Exception, match="MORTICE-NOT-FOUND") as raised:
        load(spark, tmp_path / "missing").schema  # noqa: B018
    assert "missing" in str(raised.value)


def test_an_error_on_an_executor_keeps_its_code_and_location(spark, copy_of):
    path = copy_of(NAME)
    log = logs_of(path)[-1]
    log.write_bytes(log.read_bytes()[:-100])
    with pytest.raises(Exception, match="MORTICE-CORRUPT-LOG") as raised:
        load(spark, path, **{"mortice.on_corrupt": "raise"}).collect()
    assert log.name in str(raised.value)
