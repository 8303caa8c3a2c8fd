"""Sail, a server for Spark Connect without a JVM: reads and writes as on Spark. `make test-sail` runs it."""

import pandas as pd
import pytest

import mortice
import mortice.spark
from mortice.errors import InvalidArgumentError
from support.cases import assert_same_result, queries
from support.frames import to_arrow

pysail = pytest.importorskip("pysail.spark", reason="Sail has an environment of its own: make test-sail")
pytestmark = pytest.mark.filterwarnings("ignore")
OPTIONS = {
    "hoodie.table.name": "rides",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
}
CASES = ("h11_event_time_deletes", "h10_bucket_log_only", "h12_partition_values")


@pytest.fixture(scope="module")
def sail():
    from pyspark.sql import SparkSession

    server = pysail.SparkConnectServer("127.0.0.1", 0)
    server.start()
    yield SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
    server.stop()


@pytest.mark.parametrize("query", [query for query in queries() if query.case in CASES], ids=str)
def test_rows_equal_hudis_result(sail, query, table_of):
    frame = mortice.spark.read(sail, query.table(table_of), options=query.options)
    assert_same_result(query.expected, to_arrow(frame), ordered=query.ordered)


def test_rows_are_written_and_read(sail, tmp_path):
    path = str(tmp_path / "rides")
    rows = sail.createDataFrame(pd.DataFrame({"id": ["a", "b"], "ts": [1, 2], "fare": [1.0, 2.0]}))
    mortice.spark.write(rows, path, options=OPTIONS)
    mortice.spark.register(sail)
    insert = {"hoodie.datasource.write.operation": "insert"}
    rows.limit(1).write.format("mortice").options(**insert).mode("append").save(path)
    found = sail.read.format("mortice").load(path).select("id", "fare").toPandas()
    assert sorted(zip(found["id"], found["fare"], strict=True)) == [("a", 1.0), ("a", 1.0), ("b", 2.0)]


def test_an_update_is_right_or_refused(sail, tmp_path):
    """Sail does not persist data frames, so that the tasks of one write may get different rows."""
    path = str(tmp_path / "rides")
    rows = sail.createDataFrame(pd.DataFrame({"id": ["a", "b"], "ts": [1, 2], "fare": [1.0, 2.0]}))
    mortice.spark.write(rows, path, options=OPTIONS)
    later = sail.createDataFrame(pd.DataFrame({"id": ["b"], "ts": [3], "fare": [5.0]}))
    refusal = None
    try:
        mortice.spark.write(later, path, options=OPTIONS)
    except InvalidArgumentError as error:
        refusal = str(error)
    assert refusal is None or "has other rows whenever they are computed" in refusal
    found = mortice.Table(path).snapshot(columns=["id", "fare"]).to_arrow().to_pylist()
    expected = 5.0 if refusal is None else 2.0
    assert sorted(found, key=lambda row: row["id"]) == [{"id": "a", "fare": 1.0}, {"id": "b", "fare": expected}]
