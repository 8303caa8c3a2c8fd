"""Bulk inserts by `mortice.spark.write`: which rows share a file, with and without a user-defined partitioner."""

import pathlib

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import mortice
import mortice.spark
from mortice.errors import InvalidArgumentError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
DDL = "id bigint, city string, zone bigint"
OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
}


def by_zone(batch):
    assert batch.schema.names == ["id", "city", "zone"]
    return batch["zone"]


def frame(spark, count, partitions=3):
    rows = [(n, ("oslo", "rome")[n % 2], n * 7919 % 5) for n in range(count)]
    return spark.createDataFrame(rows, DDL).repartitionByRange(partitions, "id").sortWithinPartitions("id")


def files(path):
    return [pq.ParquetFile(file).read() for file in sorted(pathlib.Path(path).glob("*/*.parquet"))]


def completed(path):
    """The writes that are part of the table."""
    timeline = mortice.Table(path).timeline
    return [instant for instant in timeline if instant.is_completed and instant.action != "rollback"]


def test_a_bulk_insert_is_one_pass_over_the_frame(spark, tmp_path):
    path = str(tmp_path / "t")
    rows = frame(spark, 100).localCheckpoint()
    spark.sparkContext.setJobGroup("one pass", "a bulk insert")
    try:
        commit = mortice.spark.write(rows, path, "bulk_insert", options=OPTIONS)
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("one pass")]
    assert [len(job.stageIds) for job in jobs] == [1], "nothing is shuffled, persisted or counted"
    assert commit.inserts == 100
    # Each of the three tasks writes its own rows of two partitions, in their order.
    found = [file["id"].to_pylist() for file in files(path)]
    assert len(found) == 6
    assert found == [sorted(ids) for ids in found]
    assert sorted(row for ids in found for row in ids) == list(range(100))


def test_rows_of_one_output_share_files_in_the_order_of_the_frame(spark, tmp_path):
    path = str(tmp_path / "t")
    commit = mortice.spark.write(frame(spark, 1000), path, "bulk_insert", options=OPTIONS, partitioner=by_zone)
    assert commit.inserts == 1000
    assert sum(stats.path is not None for stats in commit.stats) == 10
    found = files(path)
    assert len(found) == 10
    for file in found:
        assert len(pc.unique(file["zone"])) == len(pc.unique(file["city"])) == 1
        assert file["id"].to_pylist() == sorted(file["id"].to_pylist())
        assert not {"_mortice_output", "_mortice_number"} & set(file.schema.names)
    read = mortice.Table(path).snapshot(columns=["id", "city", "zone"]).to_arrow().to_pylist()
    assert sorted(map(tuple, map(dict.values, read))) == sorted(map(tuple, frame(spark, 1000).collect()))
    # A further write of the table adds files, and leaves the first ones.
    other = mortice.spark.write(
        frame(spark, 10), path, "bulk_insert", options=OPTIONS, partitioner=lambda batch: pa.array([7] * len(batch))
    )
    assert other.inserts == 10
    assert len(files(path)) == 12


def test_the_same_files_as_in_one_process(spark, tmp_path):
    given = frame(spark, 300)
    mortice.spark.write(given, str(tmp_path / "s"), "bulk_insert", options=OPTIONS, partitioner=by_zone)
    schema = pa.schema([("id", pa.int64()), ("city", pa.string()), ("zone", pa.int64())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id", partition_by="city")
    rows = [row.asDict() for row in given.collect()]
    table.bulk_insert(pa.Table.from_pylist(rows, schema=schema), partitioner=by_zone)

    def contents(path):
        return sorted(file["id"].to_pylist() for file in files(path))

    assert contents(tmp_path / "s") == contents(tmp_path / "t")


def test_a_frame_without_rows(spark, tmp_path):
    path = str(tmp_path / "t")
    assert mortice.spark.write(frame(spark, 0), path, "bulk_insert", options=OPTIONS, partitioner=by_zone).inserts == 0
    assert mortice.Table(path).snapshot().count() == 0


class NoZoneError(Exception):
    """What a user raises."""


def raises(_batch):
    raise NoZoneError("no zone for these rows")


@pytest.mark.parametrize(
    ("partitioner", "message"),
    [
        (lambda batch: [1], "values and 0 nulls"),
        (lambda batch: [None] * len(batch), "nulls"),
        (lambda batch: ["a"] * len(batch), "must return integers"),
        (raises, "no zone for these rows"),
    ],
)
def test_a_function_that_fails_ends_the_write_and_leaves_nothing(spark, tmp_path, partitioner, message):
    path = str(tmp_path / "t")
    mortice.spark.write(frame(spark, 10), path, "bulk_insert", options=OPTIONS, partitioner=by_zone)
    before = sorted(pathlib.Path(path).glob("*/*.parquet"))
    with pytest.raises(Exception, match=message):
        mortice.spark.write(frame(spark, 50), path, "bulk_insert", options=OPTIONS, partitioner=partitioner)
    assert sorted(pathlib.Path(path).glob("*/*.parquet")) == before
    assert len(completed(path)) == 1
    assert mortice.Table(path).snapshot().count() == 10


def test_what_a_partitioner_cannot_do_is_refused_before_anything_is_written(spark, tmp_path):
    path = str(tmp_path / "t")

    def write(operation="bulk_insert", partitioner=by_zone, **options):
        named = {f"hoodie.{name.replace('__', '.')}": value for name, value in options.items()}
        mortice.spark.write(frame(spark, 10), path, operation, options=OPTIONS | named, partitioner=partitioner)

    with pytest.raises(InvalidArgumentError, match="must be a function"):
        write(partitioner="zone")
    with pytest.raises(UnsupportedError, match="operation upsert"):
        write("upsert")
    write()
    with pytest.raises(UnsupportedError, match=r"combine\.before\.insert"):
        write(combine__before__insert="true")
    with pytest.raises(UnsupportedError, match="sort mode"):
        write(bulkinsert__sort__mode="GLOBAL_SORT")
    assert len(completed(path)) == 1
