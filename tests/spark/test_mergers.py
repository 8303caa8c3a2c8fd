"""Registered mergers on Spark executors."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
import mortice.spark
from mortice.spark.settings.options import read_query
from support.oracle import DataBlock, Field, Merging
from support.oracle.model import CUSTOM
from support.tables.table_writer import PACKAGE, Slice, with_meta, write_table

CLASS = "com.example.AddedFaresPayload"


def adding():
    """Returns a merger that is pickled by value: executors cannot import what the tests define."""

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
def unregister_mergers():
    yield
    mortice.register_merger(CLASS, None)


def fares(frame):
    return {row["id"]: row["fare"] for row in frame.collect()}


def test_it_is_sent_to_the_executors(spark, path):
    mortice.register_merger(CLASS, adding())
    assert fares(mortice.spark.read(spark, path)) == {"a": 6, "b": 5, "n": 4}


def test_it_can_be_an_option(spark, path):
    frame = mortice.spark.read(spark, path, options={"mortice.merger": added})
    assert fares(frame) == {"a": 6, "b": 5, "n": 4}


def test_an_option_applies_to_one_query(path):
    with_option = read_query({"path": path, "mortice.merger": added})
    assert with_option.prepare(with_option.table(), None).scan().count() == 3
    with pytest.raises(mortice.UnsupportedError, match=CLASS):
        mortice.Table(path).snapshot().to_arrow()
    with pytest.raises(mortice.UnsupportedError, match=CLASS):
        without = read_query({"path": path})
        without.prepare(without.table(), None).scan().to_arrow()


def test_an_option_takes_precedence_over_a_registered_merger(path):
    mortice.register_merger(CLASS, lambda older, newer: (newer, pa.array([False] * newer.num_rows)))
    query = read_query({"path": path, "mortice.merger": added})
    assert query.prepare(query.table(), None).scan().count() == 3
    assert mortice.Table(path).snapshot(columns=["id"]).to_arrow()["id"].to_pylist() == ["b", "n"]


def test_the_data_source_takes_a_function_by_name(path):
    query = read_query({"path": path, "mortice.merger": f"{__name__}:added"})
    rows = query.prepare(query.table(), ["id", "fare"]).scan().to_arrow().to_pylist()
    assert {row["id"]: row["fare"] for row in rows} == {"a": 6, "b": 5, "n": 4}


@pytest.mark.parametrize("named", ["", "nowhere:added", "json", "json:nothing"])
def test_a_name_without_a_function(named):
    with pytest.raises(mortice.InvalidArgumentError, match=r"package\.module:function"):
        read_query({"path": "t", "mortice.merger": named})
