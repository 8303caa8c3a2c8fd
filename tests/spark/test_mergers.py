"""Registered mergers on the executors of Spark."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
import mortice.spark
from mortice.spark.options import read_query
from support.oracle import DataBlock, Field, Merging
from support.oracle.model import CUSTOM
from support.tables.table_writer import PACKAGE, Slice, with_meta, write_table

CLASS = "com.example.AddedFaresPayload"


def adding():
    """A merger that is pickled with all it needs: executors cannot import what only the tests define."""

    def merged(older, newer):
        fares = pc.add(older["fare"], newer["fare"])
        columns = [fares if name == "fare" else newer[name] for name in newer.schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=newer.schema), pa.array([True] * newer.num_rows)

    return merged


added = adding()


def row(key, commit, fare):
    return with_meta({"id": key, "fare": fare, "ts": commit}, key, commit, f"{key}{fare}")


@pytest.fixture
def path(tmp_path):
    fields = (Field("id", "string"), Field("fare", "long"), Field("ts", "long"))
    merging = Merging(fields, CUSTOM, ("ts",), "AWSDmsAvroPayload")
    log = (DataBlock((row("a", 1, 2), row("a", 1, 3), row("n", 1, 4))),)
    place = write_table(tmp_path, merging, 6, Slice((row("a", 0, 1), row("b", 0, 5)), (log,)))
    properties = Path(place, ".hoodie", "hoodie.properties")
    lines = properties.read_text(encoding="utf-8").replace(f"{PACKAGE}AWSDmsAvroPayload", CLASS).splitlines()
    properties.write_text("\n".join(line for line in lines if "checksum" not in line), encoding="utf-8")
    return place


@pytest.fixture(autouse=True)
def nothing_stays_registered():
    yield
    mortice.register_merger(CLASS, None)


def fares(frame):
    return {row["id"]: row["fare"] for row in frame.collect()}


def test_it_travels_to_the_executors(spark, path):
    mortice.register_merger(CLASS, adding())
    assert fares(mortice.spark.read(spark, path)) == {"a": 6, "b": 5, "n": 4}


def test_it_may_be_an_option(spark, path):
    frame = mortice.spark.read(spark, path, options={"mortice.merger": added})
    assert fares(frame) == {"a": 6, "b": 5, "n": 4}


def test_an_option_of_one_query_is_not_another_querys(path):
    with_option = read_query({"path": path, "mortice.merger": added})
    assert with_option.prepare(with_option.table(), None).scan().count() == 3
    with pytest.raises(mortice.UnsupportedError, match=CLASS):
        mortice.Table(path).snapshot().to_arrow()
    with pytest.raises(mortice.UnsupportedError, match=CLASS):
        without = read_query({"path": path})
        without.prepare(without.table(), None).scan().to_arrow()


def test_an_option_comes_before_what_is_registered(path):
    mortice.register_merger(CLASS, lambda older, newer: (newer, pa.array([False] * newer.num_rows)))
    query = read_query({"path": path, "mortice.merger": added})
    assert query.prepare(query.table(), None).scan().count() == 3
    assert mortice.Table(path).snapshot(columns=["id"]).to_arrow()["id"].to_pylist() == ["b", "n"]


def test_the_source_is_told_by_name(path):
    query = read_query({"path": path, "mortice.merger": f"{__name__}:added"})
    rows = query.prepare(query.table(), ["id", "fare"]).scan().to_arrow().to_pylist()
    assert {row["id"]: row["fare"] for row in rows} == {"a": 6, "b": 5, "n": 4}


@pytest.mark.parametrize("named", ["", "nowhere:added", "json", "json:nothing"])
def test_a_name_of_nothing(named):
    with pytest.raises(mortice.InvalidArgumentError, match=r"package\.module:function"):
        read_query({"path": "t", "mortice.merger": named})
