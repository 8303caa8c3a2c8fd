"""Other libraries read scans, splits and readers through the Arrow interfaces."""

import pandas
import polars
import pyarrow as pa
import pytest

import mortice
from support.cases import assert_same_result, hudi_result, rows

NAME = "h11_event_time_deletes"


@pytest.fixture
def scan(table_of):
    return mortice.Table(table_of(NAME)).snapshot()


def test_arrow(scan):
    assert_same_result(hudi_result(NAME), pa.table(scan))
    assert_same_result(hudi_result(NAME), pa.RecordBatchReader.from_stream(scan).read_all())
    assert_same_result(hudi_result(NAME), pa.concat_tables(pa.table(split) for split in scan.splits()))


def test_pandas(scan):
    frame = scan.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["fare"].sort_values()) == sorted(hudi_result(NAME)["fare"].to_pylist())


def test_polars(scan):
    for frame in (scan.to_polars(), polars.DataFrame(scan)):
        assert sorted(frame["trip_id"]) == sorted(hudi_result(NAME)["trip_id"].to_pylist())


def test_duckdb(scan):
    duckdb = pytest.importorskip("duckdb")
    trips = scan.to_reader()
    assert duckdb.sql("select count(*), sum(seats) from trips").fetchall() == [
        (hudi_result(NAME).num_rows, sum(hudi_result(NAME)["seats"].to_pylist()))
    ]
    assert trips is not None


def test_a_scan_can_be_read_twice(scan):
    assert rows(scan.to_arrow()) == rows(scan.to_arrow())


def test_a_reader_can_be_dropped_unread(scan):
    reader = scan.to_reader()
    assert reader.read_next_batch().num_rows > 0
    del reader
    assert scan.to_arrow().num_rows == hudi_result(NAME).num_rows
