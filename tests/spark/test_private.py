"""Shortcuts through private APIs of Spark: without them rows and options are the same."""

from pyspark.sql.types import StructType

import mortice.spark
from mortice.spark.execution import data_frame, private
from mortice.spark.settings import session
from support.cases import hudi_result

NAME = "h11_event_time_deletes"


def test_rows_and_options_do_not_depend_on_private_apis(spark, table_of, monkeypatch):
    monkeypatch.setattr(data_frame, "rows_of", lambda *_: None)
    monkeypatch.setattr(session, "configured", lambda _: None)
    spark.conf.set("hoodie.datasource.query.type", "read_optimized")
    try:
        assert mortice.spark.read(spark, table_of(NAME)).count() == hudi_result(NAME, "read_optimized").num_rows
    finally:
        spark.conf.unset("hoodie.datasource.query.type")
    assert mortice.spark.read(spark, table_of(NAME)).count() == hudi_result(NAME).num_rows


def test_this_release_has_them(spark):
    rows = private.rows_of(spark, spark.sparkContext.parallelize([(1,), (2,)], 2), StructType().add("a", "integer"))
    assert [row.a for row in rows.collect()] == [1, 2]
    spark.conf.set("hoodie.some", "a -> b,c")
    try:
        assert private.configured(spark)["hoodie.some"] == "a -> b,c"
    finally:
        spark.conf.unset("hoodie.some")


def test_missing_private_apis_are_none():
    assert private.rows_of(object(), object(), None) is None
    assert private.configured(object()) is None
