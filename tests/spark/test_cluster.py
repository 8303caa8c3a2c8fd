"""`mortice.spark.cluster`: the same plans and files as of `Table.cluster`; failures leave the plan."""

import pathlib
import shutil
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
import mortice.spark
from mortice import _mortice
from mortice.errors import InvalidArgumentError, MorticeError, WriteConflictError
from support.tables.written import KINDS, NO_METADATA, SCHEMA, new_table, rows

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
NEW_GROUPS = {"hoodie.parquet.small.file.limit": "0"}
BY_FARE = {"hoodie.clustering.plan.strategy.sort.columns": "fare"}
CURVE = {
    "hoodie.clustering.plan.strategy.sort.columns": "ts,fare",
    "hoodie.layout.optimize.strategy": "hilbert",
    "hoodie.layout.optimize.curve.build.method": "sample",
}
ALL_INDEXES = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}


def fill(table, options=None):
    """Three file groups in x, two in y; updates and a delete of them."""
    options = NEW_GROUPS | (options or {})
    table.insert(rows(("a", "x", 1, 5.0), ("b", "y", 1, 2.0)), options)
    table.insert(rows(("c", "x", 1, 3.0), ("d", "y", 1, 4.0)), options)
    table.insert(rows(("e", "x", 1, 1.0), ("f", "x", 1, 9.0)), options)
    table.upsert(rows(("a", "x", 2, 7.0), ("d", "y", 2, 8.0)), options)
    table.delete(rows(("f", "x", 3, 0.0)), options)
    return table


def all_rows(path, **arguments):
    found = mortice.Table(str(path), read_options=mortice.ReadOptions(**arguments)).snapshot().to_arrow()
    return found.drop_columns(["_hoodie_file_name"]).sort_by("id").to_pylist()


def written(path, commit):
    """The rows of each file of a commit, in their order."""
    files = [pq.read_table(f"{path}/{stats.path}", partitioning=None) for stats in commit.stats]
    return sorted((file.drop_columns(["_hoodie_file_name"]).to_pylist() for file in files), key=str)


def counts(commit):
    return sorted((stats.partition, stats.inserts, stats.updates, stats.deletes) for stats in commit.stats)


def files(path):
    return {str(file.relative_to(path)) for file in pathlib.Path(path).rglob("*.parquet")}


def leftovers(path):
    folders = [pathlib.Path(path, ".hoodie", name) for name in (".temp", ".aux/open_writes", ".heartbeat")]
    return [str(file) for folder in folders for file in folder.rglob("*") if file.is_file()]


def both_entry_points(spark, path, options):
    """Clusters a table by tasks and a copy of it in one process. Returns the commits."""
    copy = f"{path}-copy"
    shutil.copytree(path, copy)
    table = mortice.Table(copy)
    planned = mortice.Table(str(path)).plan_cluster(options)
    assert planned == table.plan_cluster(options)
    assert planned
    commits = mortice.spark.cluster(spark, str(path), options).commit, table.cluster(options).commit
    assert written(path, commits[0]) == written(copy, commits[1])
    assert counts(commits[0]) == counts(commits[1])
    return commits


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
@pytest.mark.parametrize("options", [NO_METADATA, BY_FARE | ALL_INDEXES], ids=["listed", "sorted-and-indexed"])
def test_tasks_write_what_one_process_writes(spark, tmp_path, kind, options):
    path = tmp_path / "trips"
    fill(new_table(path, *kind), options)
    before = all_rows(path)
    by_tasks, _ = both_entry_points(spark, path, options)
    assert by_tasks.operation == "CLUSTER"
    assert counts(by_tasks) == [("x", 3, 0, 0), ("y", 2, 0, 0)]
    assert all_rows(path) == all_rows(path, use_metadata=False) == before
    table = mortice.Table(str(path))
    assert sorted(one.partition for one in table.file_slices()) == ["x", "y"]
    assert table.verify(keys=True).findings == []
    assert not leftovers(path)
    table.upsert(rows(("a", "x", 9, 70.0), ("b", "y", 9, 20.0)), NEW_GROUPS | options)
    assert [row["fare"] for row in all_rows(path)] == [70.0, 20.0, 3.0, 8.0, 1.0]


@pytest.mark.parametrize("options", [BY_FARE, CURVE], ids=["linear", "curve"])
def test_groups_of_several_files_keep_their_order(spark, tmp_path, options):
    numbers = [(number * 7919) % 20_000 for number in range(20_000)]
    columns = [[f"{n:06}" for n in numbers], ["x"] * 20_000, [n % 150 for n in numbers], [float(n) for n in numbers]]
    path = tmp_path / "trips"
    table = new_table(path, partition_by=None)
    table.bulk_insert(pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA), NO_METADATA)
    size = sum(one.base_file.size for one in table.file_slices())
    target = {"hoodie.clustering.plan.strategy.target.file.max.bytes": str(size // 6)}
    commit, _ = both_entry_points(spark, path, NO_METADATA | options | target)
    assert len(commit.stats) >= 3
    if options is BY_FARE:
        fares = [row["fare"] for file in written(path, commit) for row in file]
        assert len(fares) == 20_000
        assert all(file == sorted(file, key=lambda row: row["fare"]) for file in written(path, commit))


@pytest.mark.parametrize("version", [6, 9])
def test_each_entry_point_executes_what_the_other_has_planned(spark, tmp_path, version):
    path = tmp_path / "trips"
    table = fill(new_table(path, version), NO_METADATA)
    before = all_rows(path)
    planned = table.cluster(NO_METADATA | BY_FARE, run=False).scheduled
    assert mortice.spark.cluster(spark, path, NO_METADATA).commit.instant == planned, "all groups are planned"
    assert all_rows(path) == before
    [x] = [one for one in mortice.Table(str(path)).file_slices() if one.partition == "x"]
    assert pq.read_table(path / x.base_file.path, partitioning=None)["fare"].to_pylist() == [1.0, 3.0, 7.0]
    done = mortice.spark.cluster(spark, path, NO_METADATA, run=False)
    assert done.commits == []
    assert mortice.Table(str(path)).cluster(NO_METADATA, schedule=False).commit.instant == done.scheduled
    assert all_rows(path) == before
    assert mortice.spark.cluster(spark, path, NO_METADATA, schedule=False).commits == []


def test_a_plan_stays_pending_after_a_failure(spark, tmp_path):
    path = tmp_path / "trips"
    fill(new_table(path), NO_METADATA)
    before, stored = all_rows(path), files(path)
    [base, *_] = sorted(pathlib.Path(path, "y").glob("*.parquet"))
    kept = base.read_bytes()
    base.write_bytes(kept[: len(kept) // 2])
    with pytest.raises(MorticeError):
        mortice.spark.cluster(spark, path, NO_METADATA)
    base.write_bytes(kept)
    table = mortice.Table(str(path))
    [planned] = table.timeline.pending
    assert planned.state == "REQUESTED"
    assert not leftovers(path)
    assert files(path) == stored
    assert table.cluster(NO_METADATA, schedule=False).commit.instant == planned.requested_time
    assert all_rows(path) == before


KILLED = """
import os, signal, sys
import pyarrow as pa
from mortice import _mortice

path, options = sys.argv[1], {"hoodie.metadata.enable": "false", "hoodie.client.heartbeat.interval_in_ms": "200"}
class Killed:
    parallelism = 2

    def run(self, stage, tasks):
        numbers = pa.table({"id": pa.array([0], pa.int64())})
        rows = pa.RecordBatchReader.from_batches(numbers.schema, numbers.to_batches())
        list(_mortice.run_stage(stage, (0, 1, 1), rows))
        sys.stdout.buffer.write(stage)
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)


_mortice.run_service_by_tasks(path, {}, "cluster", options, Killed(), schedule=False, run=True)
"""


@pytest.mark.parametrize("kind", [(6, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")], ids=["v6-cow", "v9-mor"])
def test_what_a_killed_driver_and_its_late_tasks_have_written_is_not_in_the_table(spark, tmp_path, kind):
    path = tmp_path / "trips"
    fill(new_table(path, *kind), NO_METADATA)
    before, stored = all_rows(path), files(path)
    planned = mortice.spark.cluster(spark, path, NO_METADATA, run=False).scheduled
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, check=False)
    assert killed.returncode == -signal.SIGKILL
    [half] = files(path) - stored
    assert all_rows(path, use_metadata=False) == before
    dead = {"hoodie.client.heartbeat.interval_in_ms": "1", "hoodie.client.heartbeat.tolerable.misses": "1"}
    commit = mortice.spark.cluster(spark, path, NO_METADATA | dead, schedule=False).commit
    assert commit.instant == planned
    assert all_rows(path, use_metadata=False) == before
    now = files(path)
    assert half not in now
    assert now - stored == {stats.path for stats in commit.stats}
    numbers = pa.table({"id": pa.array([1], pa.int64())})
    reader = pa.RecordBatchReader.from_batches(numbers.schema, numbers.to_batches())
    with pytest.raises(WriteConflictError):
        list(_mortice.run_stage(killed.stdout, (1, 1, 2), reader))
    assert files(path) == now
    assert not leftovers(path)


def test_what_cannot_be_clustered_is_refused_before_a_plan_is_made(spark, tmp_path):
    path = tmp_path / "trips"
    fill(new_table(path), NO_METADATA)
    for options in ({"hoodie.clustering.plan.strategy.sort.columns": "fares"}, {"hoodie.clusterin.inline": "true"}):
        with pytest.raises(InvalidArgumentError, match=r"fares|hoodie\.clusterin\.inline"):
            mortice.spark.cluster(spark, path, NO_METADATA | options)
    with pytest.raises(InvalidArgumentError, match="run must be"):
        mortice.spark.cluster(spark, path, run=1)
    assert not list(mortice.Table(str(path)).timeline.pending)
