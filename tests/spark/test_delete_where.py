"""`mortice.spark.delete_where`: deletes what `Table.delete_where` deletes, of the table as it was at one time."""

import shutil

import pytest

import mortice
import mortice.spark
from mortice.errors import InvalidArgumentError, TableNotFoundError, WriteConflictError
from mortice.spark.writing import deletes as module
from support.tables.written import KINDS, NO_METADATA, NO_SMALL_FILES, content, new_table, rows

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
SOME = [(f"k{n:02}", "xyz"[n % 3], 1, float(n)) for n in range(30)]
WRITERS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "StorageBasedLockProvider",
}
IN_TASKS = {"mortice.write.driver.bytes": "0"}


def fill(table, options):
    table.upsert(rows(*SOME), options)
    table.upsert(rows(("k00", "x", 2, 100.0), ("k29", "z", 2, 0.5)), options)
    return table


def both_entry_points(spark, path, filters, options, on_spark=IN_TASKS):
    """Deletes rows by tasks, and those of a copy of the table in one process. Returns the commits."""
    copy = f"{path}-copy"
    shutil.copytree(path, copy)
    commits = (
        mortice.spark.delete_where(spark, path, filters, options | on_spark),
        mortice.Table(copy).delete_where(filters, options),
    )
    assert content(mortice.Table(str(path))) == content(mortice.Table(copy))
    by_tasks, by_process = (
        (commit.operation, sorted((stats.partition, stats.updates, stats.deletes) for stats in commit.stats))
        for commit in commits
    )
    assert by_tasks == by_process
    return commits


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def test_tasks_delete_what_one_process_deletes(spark, tmp_path, kind):
    path = tmp_path / "trips"
    fill(new_table(path, *kind), NO_METADATA)
    commit, _ = both_entry_points(spark, path, "fare > 20 and city != 'y' or id = 'k01'", NO_METADATA)
    assert (commit.operation, commit.deletes) == ("DELETE", 7)
    kept = {row[0] for row in content(mortice.Table(str(path)))}
    assert kept == {row[0] for row in SOME} - {"k00", "k01", "k21", "k23", "k24", "k26", "k27"}
    assert mortice.Table(str(path)).verify().findings == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"partition_by": None},
        {"properties": {"hoodie.populate.meta.fields": "false"}},
        {"record_key": None, "ordering": None},
    ],
    ids=["not-partitioned", "without-meta-columns", "generated-keys"],
)
def test_rows_are_deleted_by_the_keys_that_the_table_has(spark, tmp_path, arguments):
    path = tmp_path / "trips"
    table = new_table(path, **arguments)
    table.insert(rows(*SOME), NO_METADATA | NO_SMALL_FILES)
    commit, _ = both_entry_points(spark, path, [("fare", "<", 10.0)], NO_METADATA)
    assert commit.deletes == 10
    assert len(content(mortice.Table(str(path)))) == 20


@pytest.mark.parametrize("index", ["BLOOM", "GLOBAL_SIMPLE", "BUCKET", "RECORD_INDEX"])
def test_rows_are_found_with_every_index(spark, tmp_path, index):
    path = tmp_path / "trips"
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    options |= {"hoodie.metadata.record.index.enable": "true"} if index == "RECORD_INDEX" else {}
    fill(new_table(path), options)
    both_entry_points(spark, path, [("fare", ">=", 10.0)], options)
    assert [row[0] for row in content(mortice.Table(str(path)))] == [f"k{n:02}" for n in range(1, 10)] + ["k29"]


def test_few_rows_are_deleted_by_the_driver_and_none_make_a_commit(spark, tmp_path):
    path = tmp_path / "trips"
    fill(new_table(path), NO_METADATA)
    both_entry_points(spark, path, [("id", "in", ["k02", "k03"])], NO_METADATA, on_spark={})
    commit = mortice.spark.delete_where(spark, path, [("id", "=", "k02")], NO_METADATA)
    assert (commit.operation, commit.deletes) == ("DELETE", 0)
    assert len(content(mortice.Table(str(path)))) == 28


def test_what_does_not_fit_leaves_no_instant(spark, tmp_path):
    path = tmp_path / "trips"
    table = fill(new_table(path), NO_METADATA)
    before = len(table.timeline)
    refused = {"filters must select rows": None, "nothing": [("nothing", "=", 1)], "fare": "fare >"}
    for message, filters in refused.items():
        with pytest.raises(InvalidArgumentError, match=message):
            mortice.spark.delete_where(spark, path, filters, NO_METADATA)
    with pytest.raises(InvalidArgumentError, match=r"hoodie\.index\.type"):
        mortice.spark.delete_where(spark, path, "fare > 1", {"hoodie.idnex.type": "SIMPLE"})
    with pytest.raises(TableNotFoundError):
        mortice.spark.delete_where(spark, tmp_path / "none", "fare > 1")
    assert len(mortice.Table(str(path)).timeline) == before


def test_a_row_that_another_writer_changes_meanwhile_is_not_deleted_by_its_old_values(spark, tmp_path, monkeypatch):
    path = tmp_path / "trips"
    fill(new_table(path), WRITERS)
    found, times = [], iter((5, 7))

    def data_frame(spark, scan, *arguments):
        frame = found_rows(spark, scan, *arguments)
        if not found:
            time = next(times)
            mortice.Table(str(path)).upsert(rows(("k01", "y", time, 500.0), ("k10", "y", time, -1.0)), WRITERS)
        found.append(frame)
        return frame

    found_rows = module.data_frame
    monkeypatch.setattr(module, "data_frame", data_frame)
    with pytest.raises(WriteConflictError):
        mortice.spark.delete_where(spark, path, "fare < 3", WRITERS)
    assert len(content(mortice.Table(str(path)))) == 30
    found.clear()
    mortice.Table(str(path)).upsert(rows(("k01", "y", 6, 1.0), ("k10", "y", 6, 10.0)), WRITERS)
    again = {"hoodie.write.num.retries.on.conflict.failures": "1"}
    commit = mortice.spark.delete_where(spark, path, "fare < 3", WRITERS | again)
    assert (commit.attempts, commit.deletes) == (2, 3)
    kept = {row[0]: row[3] for row in content(mortice.Table(str(path)))}
    assert kept["k01"] == 500.0
    assert {"k02", "k10", "k29"}.isdisjoint(kept)


def test_a_failed_task_leaves_the_table_as_it_was(spark, tmp_path):
    path = tmp_path / "trips"
    table = fill(new_table(path, table_type="COPY_ON_WRITE"), NO_METADATA)
    before = content(table)
    [base] = [path / one.base_file.path for one in table.file_slices() if one.partition == "x"]
    kept = base.read_bytes()
    base.write_bytes(kept[: len(kept) // 2])
    with pytest.raises(mortice.MorticeError):
        mortice.spark.delete_where(spark, path, "fare > 3", NO_METADATA | IN_TASKS)
    base.write_bytes(kept)
    table = mortice.Table(str(path))
    assert content(table) == before
    assert not list(table.timeline.pending)
