"""Options of Hudi in the session's configuration count for `mortice.spark.read`, as they do for Hudi's own source."""

import pytest

import mortice
import mortice.spark
from support.cases import answer

NAME = "h11_event_time_deletes"
QUERY_TYPE = "hoodie.datasource.query.type"


@pytest.fixture
def configured(spark):
    put = []

    def put_in(name, value):
        spark.conf.set(name, value)
        put.append(name)

    yield put_in
    for name in put:
        spark.conf.unset(name)


@pytest.mark.parametrize("prefix", ["", "spark."])
def test_they_count(spark, table_of, configured, prefix):
    configured(f"{prefix}{QUERY_TYPE}", "read_optimized")
    assert mortice.spark.read(spark, table_of(NAME)).count() == answer(NAME, "read_optimized").num_rows
    assert answer(NAME, "read_optimized").num_rows != answer(NAME).num_rows


def test_what_the_read_says_wins(spark, table_of, configured):
    configured(QUERY_TYPE, "read_optimized")
    rows = answer(NAME).num_rows
    assert mortice.spark.read(spark, table_of(NAME), query_type="snapshot").count() == rows
    assert mortice.spark.read(spark, table_of(NAME), options={QUERY_TYPE: "snapshot"}).count() == rows


def test_what_would_change_the_rows_is_refused(spark, table_of, configured):
    configured("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING")
    with pytest.raises(mortice.UnsupportedError, match=r"hoodie\.record\.merge\.mode"):
        mortice.spark.read(spark, table_of(NAME))


def test_options_of_writers_are_not_spoken_of(spark, table_of, configured, recwarn):
    configured("hoodie.parquet.compression.codec", "zstd")
    configured("hoodie.datasource.write.operation", "upsert")
    assert mortice.spark.read(spark, table_of(NAME), columns=["trip_id"]).count() == answer(NAME).num_rows
    assert not [one for one in recwarn.list if "hoodie" in str(one.message)]
