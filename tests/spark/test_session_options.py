"""Options of Hudi in the session configuration apply to `mortice.spark.read`, as they do to Hudi's own source."""

import pytest

import mortice
import mortice.spark
from support.cases import hudi_result

NAME = "h11_event_time_deletes"
QUERY_TYPE = "hoodie.datasource.query.type"


@pytest.fixture
def configured(spark):
    put = []

    def set_option(name, value):
        spark.conf.set(name, value)
        put.append(name)

    yield set_option
    for name in put:
        spark.conf.unset(name)


@pytest.mark.parametrize("prefix", ["", "spark."])
def test_options_of_the_session_apply(spark, table_of, configured, prefix):
    configured(f"{prefix}{QUERY_TYPE}", "read_optimized")
    assert mortice.spark.read(spark, table_of(NAME)).count() == hudi_result(NAME, "read_optimized").num_rows
    assert hudi_result(NAME, "read_optimized").num_rows != hudi_result(NAME).num_rows


def test_options_of_the_read_take_precedence(spark, table_of, configured):
    configured(QUERY_TYPE, "read_optimized")
    rows = hudi_result(NAME).num_rows
    assert mortice.spark.read(spark, table_of(NAME), query_type="snapshot").count() == rows
    assert mortice.spark.read(spark, table_of(NAME), options={QUERY_TYPE: "snapshot"}).count() == rows


def test_options_that_would_change_the_rows_are_refused(spark, table_of, configured):
    configured("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING")
    with pytest.raises(mortice.UnsupportedError, match=r"hoodie\.record\.merge\.mode"):
        mortice.spark.read(spark, table_of(NAME))


def test_options_of_writers_cause_no_warning(spark, table_of, configured, recwarn):
    configured("hoodie.parquet.compression.codec", "zstd")
    configured("hoodie.datasource.write.operation", "upsert")
    assert mortice.spark.read(spark, table_of(NAME), columns=["trip_id"]).count() == hudi_result(NAME).num_rows
    assert not [one for one in recwarn.list if "hoodie" in str(one.message)]
