"""Counts read no rows, and limits do not read the rest of a slice."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
import mortice.spark
from mortice.spark.execution import data_frame
from mortice.spark.execution.arrow_udf import ReadDescriptors, counted
from support.cases import hudi_result

NAME = "h11_event_time_deletes"
PARTITIONED = "h11_composite_keys_encoded_partitions"
ROWS = 300_000
BASE_FILES_ALONE = {"hoodie.datasource.query.type": "read_optimized", "hoodie.metadata.enable": "false"}


@pytest.mark.parametrize("name", [NAME, PARTITIONED])
def test_rows_are_counted(spark, table_of, name):
    assert mortice.spark.count(spark, table_of(name)) == hudi_result(name).num_rows


def test_a_count_takes_the_arguments_and_options_of_read(spark, table_of):
    path = table_of(NAME)
    oslo = [row for row in hudi_result(NAME).to_pylist() if row["city"] == "oslo"]
    assert mortice.spark.count(spark, path, filters=[("city", "=", "oslo")]) == len(oslo)
    assert mortice.spark.count(spark, path, filters=[("city", "=", "nowhere")]) == 0
    assert mortice.spark.count(spark, path, query_type="read_optimized") == hudi_result(NAME, "read_optimized").num_rows
    assert (
        mortice.spark.count(spark, path, options={"columns": "fare", "mortice.split.bytes": 100_000})
        == hudi_result(NAME).num_rows
    )
    with pytest.raises(mortice.InvalidArgumentError, match="no such option"):
        mortice.spark.count(spark, path, options={"mortice.nope": 1})


@pytest.mark.parametrize("name", [NAME, PARTITIONED])
def test_rows_without_columns_are_counted(spark, table_of, name):
    metrics = mortice.spark.Metrics()
    frame = mortice.spark.read(spark, table_of(name), columns=[], metrics=metrics)
    assert frame.schema.names == []
    assert frame.count() == hudi_result(name).num_rows
    assert (metrics.counts()["rows"], metrics.counts()["batch_bytes"]) == (hudi_result(name).num_rows, 0)
    assert frame.collect() == [()] * hudi_result(name).num_rows


@pytest.mark.spark4
def test_the_data_source_refuses_a_schema_without_columns(table_of):
    """Spark 4.0 would count no rows."""
    from pyspark.sql.types import StructType

    from mortice.spark.data_source import MorticeDataSource

    with pytest.raises(mortice.InvalidArgumentError, match=r"no columns; give it one, or count rows by mortice\.spark"):
        MorticeDataSource({"path": str(table_of(NAME))}).reader(StructType())


def test_a_count_sends_no_rows(spark, table_of):
    """One number for each task."""
    scan = mortice.Table(table_of(PARTITIONED)).snapshot().without_columns()
    assert scan.schema.names == []
    ((batch,), *_) = [list(counted(scan.splits()))]
    assert batch.to_pylist() == [{"rows": hudi_result(PARTITIONED).num_rows}]


@pytest.fixture(scope="module")
def large_table(table_of, tmp_path_factory):
    """A table with a base file of many rows, in row groups."""
    import shutil

    path = shutil.copytree(table_of(NAME), tmp_path_factory.mktemp("large") / "table")
    (base,) = path.glob("*.parquet")
    rows = pq.read_table(base)
    pq.write_table(pa.concat_tables([rows] * (ROWS // rows.num_rows)), base, row_group_size=20_000)
    return path


def recording_rows(path):
    """Returns a `ReadDescriptors` that records the number of rows of each requested batch."""

    class Recording(ReadDescriptors):
        def __call__(self, batches):
            for batch in super().__call__(batches):
                with path.open("a", encoding="ascii") as file:
                    file.write(f"{batch.num_rows}\n")
                yield batch

    return Recording


@pytest.mark.parametrize("action", ["collect", "write"])
def test_a_limit_stops_reading_early(spark, large_table, tmp_path, monkeypatch, action):
    counts = tmp_path / "counts"
    monkeypatch.setattr(data_frame, "ReadDescriptors", recording_rows(counts))
    # The worker is ahead of Spark by the size of socket buffers and a batch or two: a small part of all rows.
    options = BASE_FILES_ALONE | {"mortice.batch.rows": 8_192, "mortice.spark.parquet": "false"}
    frame = mortice.spark.read(spark, large_table, options=options)

    def rows_read(rows):
        counts.unlink(missing_ok=True)
        if action == "collect":
            rows.collect()
        else:
            rows.write.format("noop").mode("overwrite").save()
        return sum(map(int, counts.read_text().split()))

    assert rows_read(frame) > ROWS * 0.9
    assert rows_read(frame.limit(10)) < ROWS / 2
