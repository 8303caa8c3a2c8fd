"""`mortice.spark.build_metadata`: the same metadata table as of one process; attempts that fail leave nothing."""

import pathlib
import shutil

import pytest

import mortice
import mortice.spark
from mortice import _mortice
from mortice.errors import InternalError, InvalidArgumentError, UnsupportedError
from support.stage_tasks import StageTasks, with_first_twice, without_first
from support.tables.written import FIRST, KINDS, NO_METADATA, NO_SMALL_FILES, both, content, new_table, rows

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
INDEX = ".hoodie/metadata/record_index"
USE_INDEX = NO_SMALL_FILES | {"hoodie.index.type": "RECORD_INDEX"}
LOCATION = "recordIndexMetadata"


def written_table(path, version=9, table_type="MERGE_ON_READ", **arguments):
    """A table without a metadata table, with updates and a delete."""
    table = new_table(path, version, table_type, **arguments)
    table.upsert(FIRST, NO_METADATA | NO_SMALL_FILES)
    many = [(f"k{number}", "xyz"[number % 3], 1, 1.0) for number in range(300)]
    table.insert(rows(*many), NO_METADATA | NO_SMALL_FILES)
    table.upsert(rows(("a", "x", 2, 10.0), ("d", "z", 1, 4.0)), NO_METADATA | NO_SMALL_FILES)
    table.delete(rows(("b", "x", 3, 0.0), ("k7", "y", 3, 0.0)), NO_METADATA | NO_SMALL_FILES)
    return table


def copy_of(table, path):
    shutil.copytree(table.uri, path)
    return mortice.Table(path)


def build(table, tasks, **arguments):
    done = table.by_tasks(tasks).build_metadata(**arguments)
    table.refresh()
    return done


def index_rows(table):
    """The locations of all keys."""
    metadata = mortice.Table(
        pathlib.Path(table.uri, ".hoodie/metadata"), read_options=mortice.ReadOptions(use_metadata=False)
    )
    found = metadata.snapshot(["key", LOCATION]).to_arrow().to_pylist()
    return sorted(((row["key"], row[LOCATION]) for row in found if row[LOCATION] is not None), key=lambda row: row[0])


def all_records(table, partitions):
    """All records of partitions of the metadata table, by key."""
    metadata = mortice.Table(
        pathlib.Path(table.uri, ".hoodie/metadata"), read_options=mortice.ReadOptions(use_metadata=False)
    )
    found = metadata.snapshot().to_arrow().to_pylist()
    kinds = {"column_stats": 3, "bloom_filters": 4, "partition_stats": 6}
    wanted = {kinds[name] for name in partitions}
    assert {row["type"] for row in found} >= wanted
    records = [{name: row[name] for name in row if not name.startswith("_hoodie")} for row in found]
    # As text, in which NaN is equal to itself.
    return sorted(str(row) for row in records if row["type"] in wanted)


def names(table):
    """The file groups and instants of the files of the index, without write tokens."""
    folder = pathlib.Path(table.uri, INDEX)
    files = [path.name for path in folder.iterdir() if path.suffix != ".crc"]
    # From table version 10 on, logs are HFiles, too.
    bases = [name for name in files if name.endswith(".hfile") and ".log." not in name]
    return sorted((name.split("_")[0], name.split("_")[2]) for name in bases), sorted(set(files) - set(bases))


def same_index(table, other):
    assert index_rows(table) == index_rows(other) != []
    assert names(table) == names(other)


def marks(table):
    return [str(path) for path in pathlib.Path(table.uri, ".hoodie").rglob("open_writes/*")]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def test_tasks_build_the_index_of_one_process(spark, tmp_path, kind):
    table = written_table(tmp_path / "trips", *kind)
    others = [copy_of(table, tmp_path / f"copy{number}") for number in range(2)]
    expected, rows_before = table.build_metadata(add=["record_index", "bloom_filters"]), both(table)
    done = mortice.spark.build_metadata(spark, others[0].uri, add=["record_index", "bloom_filters"])
    others[0].refresh()
    assert done == expected
    build(others[1], StageTasks(), add=["record_index", "bloom_filters"])
    for other in others:
        same_index(other, table)
        assert marks(other) == []
        assert both(other) == rows_before
        other.upsert(rows(("a", "x", 7, 70.0), ("k9", "x", 7, 9.0), ("new", "y", 1, 1.0)), USE_INDEX)
        other.delete(rows(("c", "y", 8, 0.0)), USE_INDEX)
        assert other.verify(keys=True, global_keys=True).findings == []
    table.upsert(rows(("a", "x", 7, 70.0), ("k9", "x", 7, 9.0), ("new", "y", 1, 1.0)), USE_INDEX)
    table.delete(rows(("c", "y", 8, 0.0)), USE_INDEX)
    assert content(others[0]) == content(others[1]) == content(table)


def test_an_index_is_added_and_built_again(spark, tmp_path):
    table = written_table(tmp_path / "trips")
    table.build_metadata()
    other = copy_of(table, tmp_path / "copy")
    table.build_metadata(add=["record_index"])
    assert mortice.spark.build_metadata(spark, other.uri, add=["record_index"]).added == ["record_index"]
    same_index(other, table)
    assert mortice.spark.build_metadata(spark, other.uri).added == []
    table.upsert(rows(("more", "x", 1, 1.0)), USE_INDEX)
    other.refresh()
    other.upsert(rows(("more", "x", 1, 1.0)), USE_INDEX)
    table.build_metadata(rebuild=True)
    done = mortice.spark.build_metadata(spark, other.uri, rebuild=True)
    assert "record_index" in done.added
    assert len(index_rows(other)) == len(index_rows(table))
    assert other.verify(keys=True).findings == []
    assert mortice.spark.build_metadata(spark, other.uri, drop=["record_index"]).dropped == ["record_index"]
    assert not list(pathlib.Path(other.uri, INDEX).glob("*.hfile"))


def test_a_key_of_several_file_groups_has_the_location_of_the_last(tmp_path):
    table = new_table(tmp_path / "trips", table_type="COPY_ON_WRITE")
    for city in "xyz":
        table.insert(rows(("twice", city, 1, 1.0), (city, city, 1, 1.0)), NO_METADATA)
    other = copy_of(table, tmp_path / "copy")
    table.build_metadata(add=["record_index"])
    build(other, StageTasks(), add=["record_index"])
    assert len(index_rows(table)) == 4
    same_index(other, table)


def test_tables_without_rows_and_without_partitions(tmp_path):
    for arguments in ({"partition_by": None}, {}):
        table = new_table(tmp_path / f"empty{len(arguments)}", **arguments)
        tasks = StageTasks()
        build(table, tasks, add=["record_index"])
        table.upsert(FIRST, USE_INDEX)
        assert table.verify(keys=True).findings == []
    table = written_table(tmp_path / "flat", partition_by=None)
    other = copy_of(table, tmp_path / "copy")
    table.build_metadata(add=["record_index"])
    build(other, StageTasks(), add=["record_index"])
    same_index(other, table)


@pytest.mark.parametrize("is_last", [False, True])
def test_attempts_that_are_repeated_leave_no_file(tmp_path, is_last):
    table = written_table(tmp_path / "trips")
    other = copy_of(table, tmp_path / "copy")
    table.build_metadata(add=["record_index"])
    build(other, StageTasks(attempts=2, is_last=is_last), add=["record_index"])
    same_index(other, table)
    assert other.verify(keys=True).findings == []


class StoppedTasks(StageTasks):
    """An engine that stops after the tasks have written; a task that runs on then comes too late."""

    late = None

    def exchange(self, read, tasks, then, partitions):
        def late():
            return StageTasks.exchange(self, read, tasks, then, partitions)

        late()
        self.late = late
        raise OSError("no executors")


def test_a_build_that_is_stopped_is_repeated(tmp_path):
    table = written_table(tmp_path / "trips")
    other = copy_of(table, tmp_path / "copy")
    table.build_metadata(add=["record_index"])
    stopped = StoppedTasks()
    with pytest.raises(OSError, match="no executors"):
        build(other, stopped, add=["record_index"])
    assert marks(other) == []
    assert both(mortice.Table(other.uri)) == both(table)
    build(other, StageTasks(), add=["record_index"])
    same_index(other, table)
    with pytest.raises(mortice.MorticeError, match="this attempt of a task"):
        stopped.late()
    same_index(other, table)


@pytest.mark.parametrize("change", [without_first, with_first_twice])
def test_keys_that_are_lost_or_doubled_are_noticed(tmp_path, change):
    table = written_table(tmp_path / "trips")
    with pytest.raises(InternalError, match="lost or doubled"):
        build(table, StageTasks(change=change), add=["record_index"])
    assert "record_index" not in mortice.Table(table.uri).build_metadata().partitions


def test_without_indexes_no_task_runs(tmp_path):
    tasks = StageTasks()
    table = written_table(tmp_path / "trips", 6)
    assert build(table, tasks).added == ["files"]
    assert table.by_tasks(tasks).plan_build_metadata(add=["record_index"]).added == ["record_index"]
    assert tasks.ran == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def test_statistics_and_bloom_filters_are_those_of_one_process(spark, tmp_path, kind):
    indexes = ["column_stats", "bloom_filters", *(["partition_stats"] if kind[0] > 6 else [])]
    table = written_table(tmp_path / "trips", *kind)
    others = [copy_of(table, tmp_path / f"copy{number}") for number in range(2)]
    table.build_metadata(add=indexes)
    mortice.spark.build_metadata(spark, others[0].uri, add=indexes)
    build(others[1], StageTasks(), add=indexes)
    for other in others:
        other.refresh()
        assert all_records(other, indexes) == all_records(table, indexes)
        assert other.verify().findings == []


def test_arguments_and_errors(spark, tmp_path):
    table = written_table(tmp_path / "trips")
    with pytest.raises(InvalidArgumentError, match="records"):
        mortice.spark.build_metadata(spark, table.uri, add=["records"])
    with pytest.raises(InvalidArgumentError, match=r"hoodie\.metadta\.enable"):
        mortice.spark.build_metadata(spark, table.uri, {"hoodie.metadta.enable": "true"})
    base = next(pathlib.Path(table.uri).glob("x/*.parquet"))
    kept = base.read_bytes()
    base.write_bytes(b"x" * len(kept))
    with pytest.raises(mortice.MorticeError, match="parquet"):
        mortice.spark.build_metadata(spark, table.uri, add=["record_index"], drop=["column_stats", "partition_stats"])
    base.write_bytes(kept)
    mortice.spark.build_metadata(spark, table.uri, add=["record_index"])
    assert mortice.Table(table.uri).verify(keys=True).findings == []
    bare = new_table(tmp_path / "bare", table_type="COPY_ON_WRITE", properties={"hoodie.populate.meta.fields": "false"})
    bare.upsert(FIRST, NO_METADATA)
    with pytest.raises(UnsupportedError, match="meta columns"):
        mortice.spark.build_metadata(spark, bare.uri, add=["record_index"])


def test_stages_of_another_kind_are_refused(tmp_path):
    table = written_table(tmp_path / "trips")
    stages = []

    class Recording(StageTasks):
        def run(self, stage, tasks):
            stages.append(stage)
            return super().run(stage, tasks)

    build(table, Recording(), add=["record_index"])
    with pytest.raises(InvalidArgumentError, match="not of a write"):
        _mortice.commit_task_insert(stages[0], [])
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        _mortice.run_stage(stages[0][:-1], (0, 0, 0), FIRST)
