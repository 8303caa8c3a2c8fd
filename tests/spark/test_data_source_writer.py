"""`df.write.format("mortice")`: modes, operations, failed tasks, aborted jobs."""

import pathlib

import pyarrow as pa
import pytest

import mortice
import mortice.spark

pytestmark = [pytest.mark.spark4, pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")]
DDL = "id string, city string, fare double, ts bigint"
OPERATION = "hoodie.datasource.write.operation"
OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
}
LOCK = "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"


@pytest.fixture(autouse=True)
def registered(spark):
    mortice.spark.register(spark)


def rows(numbers, fare=1.0):
    return [(f"k{n:03}", ("oslo", "rome")[n % 2], fare, n) for n in numbers]


def save(frame, path, mode="append", operation="bulk_insert", **options):
    given = OPTIONS | options | ({OPERATION: operation} if operation else {})
    frame.write.format("mortice").options(**given).mode(mode).save(str(path))


def frame_of(spark, given, partitions=3):
    return spark.createDataFrame(given, DDL).repartition(partitions)


def rows_of(path):
    found = mortice.Table(path).snapshot(columns=["id", "city", "fare", "ts"]).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def data_files(path):
    return sorted(file.name for file in pathlib.Path(path).rglob("*.parquet") if ".hoodie" not in str(file))


def leftovers(path):
    """Markers and open marks, and instants that are not completed."""
    folders = [pathlib.Path(path, ".hoodie", name) for name in (".temp", ".aux/open_writes")]
    files = [str(file) for folder in folders for file in folder.rglob("*") if file.is_file()]
    return files + [repr(instant) for instant in mortice.Table(path).timeline.pending]


@pytest.mark.parametrize(
    ("table_type", "version"), [("COPY_ON_WRITE", "9"), ("MERGE_ON_READ", "9"), ("COPY_ON_WRITE", "6")]
)
def test_rows_are_inserted_and_upserted_later(spark, tmp_path, table_type, version):
    path = str(tmp_path / "trips")
    kind = {"hoodie.datasource.write.table.type": table_type, "hoodie.write.table.version": version}
    save(frame_of(spark, rows(range(100))), path, **kind)
    save(frame_of(spark, rows(range(100, 120))), path, operation="insert", **kind)
    assert rows_of(path) == rows(range(120))
    table = mortice.Table(path)
    operations = [table.timeline.metadata(one)["operationType"] for one in table.timeline if one.is_completed]
    assert operations == ["BULK_INSERT", "INSERT"]
    assert leftovers(path) == []
    # The rows are where the index finds them.
    commit = table.upsert(pa.table({"id": ["k005"], "city": ["rome"], "fare": [9.0], "ts": [500]}))
    assert (commit.updates, commit.inserts) == (1, 0)
    assert rows_of(path)[5] == ("k005", "rome", 9.0, 500)


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_inline_services_follow_the_commit(spark, tmp_path, enabled):
    path = str(tmp_path / "trips")
    services = {
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.inline.max.commits": "2",
        "hoodie.table.services.enabled": enabled,
    }
    for start in (0, 10):
        save(frame_of(spark, rows(range(start, start + 10))), path, **services)
    clustered = [one for one in mortice.Table(path).timeline.completed if one.action == "replacecommit"]
    assert len(clustered) == (enabled == "true")
    assert rows_of(path) == rows(range(20))
    assert leftovers(path) == []


def test_modes(spark, tmp_path):
    path = str(tmp_path / "trips")
    save(frame_of(spark, rows(range(10))), path, mode="overwrite", operation=None)
    assert rows_of(path) == rows(range(10))
    save(frame_of(spark, rows(range(5, 8), 2.0)), path, mode="overwrite")
    assert rows_of(path) == rows(range(5, 8), 2.0)
    save(frame_of(spark, rows([21, 23], 3.0)), path, mode="overwrite", operation="insert_overwrite")
    assert rows_of(path) == sorted([*rows([6], 2.0), *rows([21, 23], 3.0)])
    # Nothing but the partitions that have rows is replaced in mode append as well.
    save(frame_of(spark, rows([30], 4.0)), path, operation="insert_overwrite")
    assert rows_of(path) == sorted([*rows([30], 4.0), *rows([21, 23], 3.0)])
    table = mortice.Table(path)
    assert [one.action for one in table.timeline.completed] == ["replacecommit"] * 4
    # What was replaced is there for time travel.
    first = table.timeline.completed[0].requested_time
    assert table.snapshot(as_of=first).to_arrow().num_rows == 10
    # Spark itself refuses the other two for such sources.
    for mode in ("errorifexists", "ignore"):
        with pytest.raises(Exception, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
            save(frame_of(spark, rows([1])), path, mode=mode)
    assert leftovers(path) == []


def test_what_needs_a_shuffle_is_refused_before_there_is_an_instant(spark, tmp_path):
    path = str(tmp_path / "trips")
    save(frame_of(spark, rows(range(3))), path)
    one = frame_of(spark, rows([1]))
    with pytest.raises(Exception, match=r"InvalidArgumentError.*upsert by mortice\.spark\.write"):
        save(one, path, operation=None)
    for operation in ("upsert", "delete"):
        with pytest.raises(Exception, match=r"UnsupportedError.*use mortice\.spark\.write"):
            save(one, path, operation=operation)
    several = {"hoodie.write.concurrency.mode": "optimistic_concurrency_control", "hoodie.write.lock.provider": LOCK}
    for options in (
        several,
        {"hoodie.combine.before.insert": "true"},
        {"hoodie.datasource.insert.dup.policy": "drop"},
    ):
        with pytest.raises(Exception, match="UnsupportedError"):
            save(one, path, operation="insert", **options)
    with pytest.raises(Exception, match=r"InvalidArgumentError.*did you mean hoodie\.index\.type"):
        save(one, path, **{"hoodie.idnex.type": "SIMPLE"})
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    with pytest.raises(Exception, match=r"UnsupportedError.*use mortice\.spark\.write"):
        save(one, tmp_path / "buckets", **buckets)
    assert [instant.state for instant in mortice.Table(path).timeline] == ["COMPLETED"]
    assert rows_of(path) == rows(range(3))


def test_a_row_that_cannot_be_written_rolls_the_job_back(spark, tmp_path):
    path = str(tmp_path / "trips")
    save(frame_of(spark, rows(range(50))), path)
    before = data_files(path)
    with pytest.raises(Exception, match=r"InvalidArgumentError.*record key is null"):
        save(frame_of(spark, [*rows(range(50, 90)), (None, "oslo", 1.0, 1)]), path)
    assert rows_of(path) == rows(range(50))
    assert data_files(path) == before
    assert leftovers(path) == []


def test_a_first_job_that_fails_leaves_the_columns_to_the_next_one(spark, tmp_path):
    path = str(tmp_path / "trips")
    with pytest.raises(Exception, match=r"InvalidArgumentError.*record key is null"):
        save(frame_of(spark, [(None, "oslo", 1.0, 1)]), path)
    assert "hoodie.table.create.schema" not in mortice.Table(path).properties
    save(frame_of(spark, rows(range(50))).selectExpr("id", "city", "cast(fare as string) fare", "ts"), path)
    assert mortice.Table(path).schema.field("fare").type == pa.string()


@pytest.mark.parametrize("columns", ["2 a, 3 a", "parse_json('1') a"])
def test_columns_that_cannot_be_written_create_no_table(spark, tmp_path, columns):
    with pytest.raises(Exception, match=r"(InvalidArgument|Unsupported)Error|COLUMN_ALREADY_EXISTS"):
        save(spark.sql(f"select 'x' id, 'oslo' city, 1L ts, {columns}"), tmp_path / "trips")
    assert not (tmp_path / "trips").exists()


def test_an_aborted_job_leaves_nothing(spark, tmp_path):
    path = str(tmp_path / "trips")
    save(frame_of(spark, rows(range(50))), path)
    before = data_files(path)

    @pytest.importorskip("pyspark.sql.functions").udf("double")
    def failing(ts):
        if ts == 77:
            raise RuntimeError("no fare")
        return 1.0

    given = frame_of(spark, rows(range(50, 90))).withColumn("fare", failing("ts"))
    with pytest.raises(Exception, match="no fare"):
        save(given, path)
    assert data_files(path) == before
    assert leftovers(path) == []
    save(frame_of(spark, rows(range(50, 60))), path)
    assert rows_of(path) == rows(range(60))


def test_files_of_attempts_that_failed_are_not_in_the_table(tmp_path):
    """The steps of a job as Spark takes them. Two attempts of a task; without a metadata table files are listed."""
    from pyspark.sql.types import _parse_datatype_string

    from mortice.spark.writing.data_source_writer import task_insert_writer

    path = str(tmp_path / "trips")
    options = OPTIONS | {OPERATION: "bulk_insert", "path": path, "hoodie.metadata.enable": "false"}
    schema = _parse_datatype_string(DDL)

    def batches(numbers):
        columns = list(zip(*rows(numbers), strict=True))
        yield pa.record_batch([pa.array(column) for column in columns], names=["id", "city", "fare", "ts"])

    writer = task_insert_writer(options, schema, overwrite=False)
    writer.write(batches(range(10)))
    second = writer.write(batches(range(10)))
    assert len(data_files(path)) > 2
    assert rows_of_pending(path) == 0
    writer.commit([second])
    assert rows_of(path) == rows(range(10))
    assert len(data_files(path)) == 2
    # After the commit Spark may call abort, and an attempt may run on.
    writer.abort([second])
    with pytest.raises(mortice.WriteConflictError):
        writer.write(batches(range(10)))
    assert rows_of(path) == rows(range(10))
    assert len(data_files(path)) == 2
    assert leftovers(path) == []


def rows_of_pending(path):
    """The rows of a table without a completed commit."""
    return mortice.Table(path).snapshot().to_arrow().num_rows
