"""A query of Spark is planned once, in whichever processes Spark runs it: directories of the table are listed once."""

import os
import pickle

import pyspark
import pytest

import mortice
import mortice.spark
from support.cases import hudi_result
from support.folder_reads import AVAILABLE, FolderReads

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="inotify is Linux's")
NAME = "h11_composite_keys_encoded_partitions"
PLANS_AGAIN = pyspark.__version__.startswith("4.0.")
FROM_STORAGE = {"hoodie.metadata.enable": "false"}


@pytest.fixture
def table(copy_of):
    """A table whose partition directories are watched."""
    path = copy_of(NAME)
    folders = sorted({file.parent for file in path.rglob("*.parquet") if ".hoodie" not in file.parts})
    assert len(folders) > 2
    with FolderReads(folders) as reads:
        yield path, folders, reads


def test_listings_are_counted_in_every_process(table):
    _, folders, reads = table
    list(folders[0].iterdir())
    assert os.spawnlp(os.P_WAIT, "ls", "ls", str(folders[0])) == 0
    assert reads.take() == {folders[0]: 2}
    assert reads.take() == {}


@pytest.mark.spark4
@pytest.mark.parametrize(
    ("options", "schema"),
    [
        ({}, None),
        ({"columns": "_hoodie_record_key,_hoodie_commit_time"}, None),
        ({"mortice.emit_deletes": "true", "columns": "_hoodie_record_key"}, None),
        ({}, "_hoodie_record_key string"),
        ({"columns": "_hoodie_record_key"}, "_hoodie_record_key string"),
    ],
    ids=str,
)
def test_a_source_is_planned_by_its_first_action(spark, table, options, schema):
    path, folders, reads = table
    reader = spark.read.format("mortice").options(**FROM_STORAGE, **options)
    frame = (reader.schema(schema) if schema else reader).load(str(path))
    frame.printSchema()
    assert reads.take() == {}
    assert frame.count() >= hudi_result(NAME).num_rows
    assert reads.take() == dict.fromkeys(folders, 1)
    frame.collect()
    assert reads.take() == (dict.fromkeys(folders, 1) if PLANS_AGAIN else {})


def test_the_other_entry_point_plans_once(spark, table):
    path, folders, reads = table
    frame = mortice.spark.read(spark, path, options=FROM_STORAGE)
    assert reads.take() == dict.fromkeys(folders, 1)
    assert frame.count() == hudi_result(NAME).num_rows
    frame.collect()
    assert reads.take() == {}


@pytest.mark.spark4
def test_a_stream_lists_no_directory_for_its_schema(spark, table):
    path, _, reads = table
    frame = spark.readStream.format("mortice").options(**FROM_STORAGE).option("start", "earliest").load(str(path))
    assert "_hoodie_record_key" in frame.columns
    assert reads.take() == {}


@pytest.mark.spark4
def test_partitions_of_a_source_contain_no_query(table):
    from pyspark.sql.types import StringType, StructType

    from mortice.spark.data_source import MorticeDataSource

    path, folders, reads = table
    source = MorticeDataSource({"path": str(path), "mortice.split.bytes": "1", **FROM_STORAGE})
    reader = source.reader(StructType().add("_hoodie_record_key", StringType()))
    assert reads.take() == {}
    # In the order of Spark's planner.
    sent, partitions = pickle.dumps(reader), reader.partitions()
    assert reads.take() == dict.fromkeys(folders, 1)
    assert len(partitions) > 2 * len(folders)
    assert max(len(pickle.dumps(partition)) for partition in partitions) < 800 < len(sent)
    received = pickle.loads(sent)
    rows = [row for partition in partitions for batch in received.read(partition) for row in batch.to_pylist()]
    assert sorted(row["_hoodie_record_key"] for row in rows) == sorted(
        hudi_result(NAME)["_hoodie_record_key"].to_pylist()
    )


@pytest.mark.spark4
def test_errors_of_planning_keep_their_class(copy_of):
    from mortice.spark.data_source import MorticeDataSource

    path = copy_of(NAME)
    source = MorticeDataSource({"path": str(path), **FROM_STORAGE})
    reader = source.reader(source.schema())
    (path / ".hoodie" / "timeline").rename(path / ".hoodie" / "moved")
    pickle.dumps(reader)
    with pytest.raises(mortice.MorticeError):
        reader.partitions()
