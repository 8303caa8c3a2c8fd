"""`mortice.spark.verify`: the same findings as of a verification in one process."""

import pathlib
import shutil

import pytest

import mortice
import mortice.spark
from mortice.errors import InternalError, InvalidArgumentError, TableNotFoundError
from support.stage_tasks import StageTasks, with_first_twice, without_first
from support.tables.written import CHANGED, FIRST, KINDS, NO_METADATA, NO_SMALL_FILES, new_table, rows

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
INDEXED = NO_SMALL_FILES | {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.record.index.enable": "true"}
INDEX = ".hoodie/metadata/record_index"
ALL_KINDS = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")


def indexed_table(path, version=9, table_type="MERGE_ON_READ", **arguments):
    table = new_table(path / "trips", version, table_type, **arguments)
    table.upsert(FIRST, INDEXED)
    table.upsert(CHANGED, INDEXED)
    return table


def by_tasks(table, tasks, *, contents=False, keys=True, global_keys=False):
    """What tasks of another engine find."""
    return table.by_tasks(tasks).verify(contents=contents, keys=keys, global_keys=global_keys)


def same_findings(table, spark=None, **arguments):
    """The kinds of what is found by one process, which are those of tasks."""
    result = mortice.Table(table.uri).verify(contents=False, keys=True, **arguments)
    for parallelism in (1, 3):
        assert by_tasks(table, StageTasks(parallelism), **arguments) == result, parallelism
    if spark is not None:
        assert mortice.spark.verify(spark, table.uri, **arguments) == result
    return sorted({one.kind for one in result.findings})


def unindexed(table, write):
    """Writes, and takes what the write has added to the record index away."""
    before = set(pathlib.Path(table.uri, INDEX).iterdir())
    write()
    for path in set(pathlib.Path(table.uri, INDEX).iterdir()) - before:
        path.unlink()


def copied(table):
    """A second file group with the rows of another one, as a second writer makes it."""
    base = next(pathlib.Path(table.uri).glob("x/*.parquet"))
    old, rest = base.name.split("_", 1)
    shutil.copy(base, base.with_name(f"{'0' * len(old)}_{rest}"))


@ALL_KINDS
def test_a_table_and_what_is_wrong_with_it(spark, tmp_path, kind):
    table = indexed_table(tmp_path, *kind)
    assert same_findings(table, global_keys=True) == []
    unindexed(table, lambda: table.upsert(rows(("n", "x", 5, 5.0), ("o", "y", 5, 5.0)), INDEXED))
    assert same_findings(table) == ["index_missing_key"]
    unindexed(table, lambda: table.delete(rows(("b", "x", 9, 0.0)), INDEXED))
    assert same_findings(table) == ["index_missing_key", "index_stale_key"]
    table.insert(rows(("a", "x", 1, 1.0)), INDEXED)
    assert same_findings(table, spark) == ["duplicate_key", "index_missing_key", "index_stale_key"]


def test_a_key_that_the_index_has_elsewhere(tmp_path):
    table = indexed_table(tmp_path)
    move = {"hoodie.record.index.update.partition.path": "true"}
    unindexed(table, lambda: table.upsert(rows(("a", "y", 5, 5.0)), INDEXED | move))
    assert same_findings(table) == ["index_wrong_location"]


def test_a_file_group_that_is_not_live(tmp_path):
    table = indexed_table(tmp_path, table_type="COPY_ON_WRITE")
    for path in pathlib.Path(table.uri).glob("y/*.parquet"):
        path.unlink()
    kinds = same_findings(mortice.Table(table.uri, read_options=mortice.ReadOptions(use_metadata=False)))
    assert "missing_file" in kinds


def test_a_slice_that_cannot_be_read_hides_what_the_index_says(spark, tmp_path):
    table = indexed_table(tmp_path)
    unindexed(table, lambda: table.upsert(rows(("n", "x", 5, 5.0)), INDEXED))
    base = next(pathlib.Path(table.uri).glob("x/*.parquet"))
    base.write_bytes(b"x" * base.stat().st_size)
    assert same_findings(table, spark) == ["unreadable_file"]


def test_an_index_that_cannot_be_read(spark, tmp_path):
    table = indexed_table(tmp_path)
    table.insert(rows(("a", "x", 1, 1.0)), INDEXED)
    log = min(pathlib.Path(table.uri, INDEX).glob(".*.log.*"))
    log.write_bytes(log.read_bytes()[:-10])
    assert same_findings(table, spark) == ["duplicate_key", "unreadable_metadata_table"]


def test_tables_without_partitions_without_meta_columns_and_without_rows(tmp_path):
    table = indexed_table(tmp_path / "flat", partition_by=None)
    unindexed(table, lambda: table.upsert(rows(("n", "x", 5, 5.0)), INDEXED))
    assert same_findings(table) == ["index_missing_key"]
    table = new_table(
        tmp_path / "bare", table_type="COPY_ON_WRITE", properties={"hoodie.populate.meta.fields": "false"}
    )
    assert same_findings(table) == []
    table.upsert(FIRST, NO_METADATA)
    copied(table)
    assert "duplicate_key" in same_findings(table)


def test_more_findings_than_are_listed(spark, tmp_path):
    table = new_table(tmp_path / "trips", table_type="COPY_ON_WRITE")
    table.bulk_insert(rows(*[(f"{number:040}", "x", 1, 1.0) for number in range(20_000)]), NO_METADATA)
    copied(table)
    tasks = StageTasks(4)
    assert by_tasks(table, tasks) == table.verify(contents=False, keys=True)
    assert tasks.ran == [2, 2], "one task for each file group"
    found = mortice.spark.verify(spark, table.uri, spill_dir=tmp_path / "spill").findings
    doubles = [one.message for one in found if one.kind == "duplicate_key"]
    assert len(doubles) == 101
    assert "19900 more" in doubles[0]


def test_tasks_that_are_repeated_change_nothing(tmp_path):
    table = indexed_table(tmp_path)
    unindexed(table, lambda: table.upsert(rows(("n", "x", 5, 5.0)), INDEXED))
    expected = table.verify(contents=False, keys=True)
    for is_last in (False, True):
        assert by_tasks(table, StageTasks(attempts=2, is_last=is_last)) == expected


@pytest.mark.parametrize("change", [without_first, with_first_twice])
def test_keys_that_are_lost_or_doubled_on_their_way_are_noticed(tmp_path, change):
    with pytest.raises(InternalError, match="lost or doubled"):
        by_tasks(indexed_table(tmp_path), StageTasks(change=change))


def test_without_keys_no_task_runs(tmp_path):
    tasks = StageTasks()
    table = indexed_table(tmp_path)
    assert by_tasks(table, tasks, keys=False, contents=True) == table.verify()
    assert tasks.ran == []


def test_arguments_and_errors(spark, tmp_path):
    table = indexed_table(tmp_path)
    with pytest.raises(InvalidArgumentError, match="keys"):
        mortice.spark.verify(spark, table.uri, keys=1)
    with pytest.raises(InvalidArgumentError, match=r"hoodie\.index\.type"):
        mortice.spark.verify(spark, table.uri, {"hoodie.index.type": "SIMPLE"})
    with pytest.raises(TableNotFoundError):
        mortice.spark.verify(spark, tmp_path / "none")


class FailingTasks(StageTasks):
    def exchange(self, read, tasks, then, partitions):
        raise OSError("no executors")


def test_errors_of_the_engine_are_raised(tmp_path):
    with pytest.raises(OSError, match="no executors"):
        by_tasks(indexed_table(tmp_path), FailingTasks())
