"""`mortice.spark.compact`: the same base files' rows as of a compaction in one process; failures leave the plan."""

import pathlib

import pyarrow as pa
import pytest

import mortice
import mortice.spark
from mortice.errors import InvalidArgumentError, MorticeError

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("fare", pa.float64())])
TWO = {"hoodie.log.compaction.blocks.threshold": "2"}
SCHEDULE = {"hoodie.compact.schedule.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


def rows(*given):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in given], schema=SCHEMA)


def updated_table(path, version, options=None):
    """A table of three partitions, of which two have logs."""
    table = mortice.create_table(
        path, SCHEMA, name="trips", record_key="id", partition_by="city", ordering="ts", version=version
    )
    table.upsert(rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0), ("d", "z", 1, 4.0)))
    table.upsert(rows(("a", "x", 2, 10.0), ("c", "y", 2, 30.0)))
    table.delete(rows(("b", "x", 3, 0.0)), options)
    return table


def content(table):
    found = table.snapshot().to_arrow()
    return found.drop_columns(["_hoodie_file_name"]).sort_by("id").to_pylist()


def leftovers(path):
    folders = [pathlib.Path(path, ".hoodie", name) for name in (".temp", ".aux/open_writes", ".heartbeat")]
    return [str(file) for folder in folders for file in folder.rglob("*") if file.is_file()]


@pytest.mark.parametrize("version", [6, 9])
def test_tasks_of_spark_compact_a_table(spark, tmp_path, version):
    path = str(tmp_path / "trips")
    before = content(updated_table(path, version))
    commit = mortice.spark.compact(spark, path).commit
    assert commit.operation == "COMPACT"
    assert sorted((stats.partition, stats.updates, stats.deletes) for stats in commit.stats) == [
        ("x", 1, 1),
        ("y", 1, 0),
    ]
    table = mortice.Table(path)
    assert content(table) == before
    base = table.read_optimized().to_arrow().drop_columns(["_hoodie_file_name"]).sort_by("id")
    assert base.to_pylist() == before
    assert not leftovers(path)
    assert mortice.spark.compact(spark, path).commit is None


@pytest.mark.parametrize("version", [6, 9])
def test_tasks_of_spark_compact_logs_into_logs(spark, tmp_path, version):
    path = str(tmp_path / "trips")
    table = updated_table(path, version)
    table.upsert(rows(("a", "x", 4, 11.0), ("c", "y", 4, 31.0)))
    table.refresh()
    before = content(table)
    bases = {path.name for path in pathlib.Path(path).rglob("*.parquet")}
    assert mortice.spark.log_compact(spark, path).commit is None, "five delta commits are needed"
    commit = mortice.spark.log_compact(spark, path, options=TWO).commit
    assert commit.operation == "LOG_COMPACT"
    assert sorted(stats.partition for stats in commit.stats) == ["x", "y"]
    table = mortice.Table(path)
    assert content(table) == before
    assert content(mortice.Table(path, read_options=mortice.ReadOptions(use_metadata=False))) == before
    assert {path.name for path in pathlib.Path(path).rglob("*.parquet")} == bases
    assert not leftovers(path)
    assert table.verify().findings == []
    assert mortice.spark.log_compact(spark, path, options=TWO).commit is None
    assert mortice.spark.compact(spark, path).commit is not None
    assert content(mortice.Table(path)) == before


def test_planned_log_compactions_are_executed_or_given_up(spark, tmp_path):
    path = str(tmp_path / "trips")
    table = updated_table(path, 9)
    table.upsert(rows(("a", "x", 4, 11.0)))
    scheduled = mortice.Table(path).log_compact(TWO, run=False).scheduled
    table.upsert(rows(("a", "x", 5, 12.0)))
    table.refresh()
    before = content(table)
    assert mortice.spark.log_compact(spark, path, schedule=False).commit.instant == scheduled
    assert content(mortice.Table(path)) == before
    table.upsert(rows(("a", "x", 6, 13.0)))
    table.upsert(rows(("a", "x", 7, 14.0)))
    scheduled = mortice.Table(path).log_compact(TWO, run=False).scheduled
    assert scheduled is not None
    table.compact()
    before = content(mortice.Table(path))
    assert mortice.spark.log_compact(spark, path, schedule=False).commit is None
    table.refresh()
    assert scheduled not in [instant.requested_time for instant in table.timeline]
    assert content(table) == before


def test_what_is_planned_is_executed_after_a_failure(spark, tmp_path):
    path = str(tmp_path / "trips")
    table = updated_table(path, 9, SCHEDULE)
    before = content(table)
    [planned] = [instant.requested_time for instant in table.timeline if instant.action == "compaction"]
    [base] = pathlib.Path(path, "y").glob("*.parquet")
    kept = base.read_bytes()
    base.write_bytes(kept[: len(kept) // 2])
    with pytest.raises(MorticeError):
        mortice.spark.compact(spark, path, schedule=False)
    base.write_bytes(kept)
    table = mortice.Table(path)
    assert [instant.state for instant in table.timeline if instant.requested_time == planned] == ["REQUESTED"]
    assert not leftovers(path)
    assert mortice.spark.compact(spark, path, schedule=False).commit.instant == planned
    assert content(mortice.Table(path)) == before


def test_arguments_are_checked(spark, tmp_path):
    updated_table(str(tmp_path / "trips"), 9)
    with pytest.raises(InvalidArgumentError, match="schedule"):
        mortice.spark.compact(spark, str(tmp_path / "trips"), schedule=1)
    with pytest.raises(InvalidArgumentError, match=r"hoodie\.compacton\.strategy"):
        mortice.spark.compact(spark, str(tmp_path / "trips"), options={"hoodie.compacton.strategy": "x"})


@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM"])
def test_a_key_that_came_back_beside_a_compaction_is_found(spark, tmp_path, index):
    path, options = str(tmp_path / "trips"), {"hoodie.index.type": index}
    table = updated_table(path, 9, {**options, **SCHEDULE})
    assert table.upsert(rows(("b", "x", 4, 20.0)), options).updates == 1
    mortice.spark.compact(spark, path, schedule=False)
    columns = "id string, city string, ts long, fare double"
    changed = spark.createDataFrame([("b", "x", 5, 50.0), ("a", "x", 5, 51.0)], columns)
    assert mortice.spark.write(changed, path, options=options).updates == 2
    x = [row for row in content(mortice.Table(path)) if row["city"] == "x"]
    assert [(row["id"], row["fare"]) for row in x] == [("a", 51.0), ("b", 50.0)]
    mortice.spark.write(changed.where("id = 'b'"), path, operation="delete", options=options)
    assert [row["id"] for row in content(mortice.Table(path))] == ["a", "c", "d"]
