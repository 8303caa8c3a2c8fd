"""Compactions: asked for, after writes, planned and executed later, stopped and executed again."""

import json
import pathlib
import warnings

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError
from mortice.cli.main import main
from support.tables.written import NO_METADATA, content, new_table, rows

FIRST = rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0))
SCHEDULE = {"hoodie.compact.schedule.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
INLINE = {"hoodie.compact.inline": "true"}


@pytest.fixture(params=[(6, {}), (8, NO_METADATA), (9, {})], ids=lambda kind: f"v{kind[0]}")
def options(request):
    return request.param


def updated_table(path, version, options):
    """A table with a base file and two log files in one partition, a base file in another."""
    table = new_table(path, version)
    table.upsert(FIRST, options)
    table.upsert(rows(("a", "x", 2, 10.0)), options)
    table.delete(rows(("b", "x", 3, 0.0)), options)
    return table


def all_columns(table):
    found = table.snapshot().to_arrow()
    return found.drop_columns(["_hoodie_file_name"]).sort_by("id").to_pylist()


def test_a_compaction_moves_logs_into_base_files(tmp_path, options):
    version, options = options
    table = updated_table(tmp_path / "trips", version, options)
    before = all_columns(table)
    commit = table.compact(options=options).commit
    assert commit.operation == "COMPACT"
    [stats] = commit.stats
    assert (stats.partition, stats.rows_written, stats.updates, stats.deletes) == ("x", 1, 1, 1)
    assert all_columns(table) == before
    base = table.read_optimized().to_arrow().sort_by("id")
    assert base.drop_columns(["_hoodie_file_name"]).to_pylist() == before
    assert base["_hoodie_file_name"].to_pylist()[0] == pathlib.Path(stats.path).name
    assert table.compact(options=options).commit is None


@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM"])
def test_a_key_that_came_back_beside_a_compaction_is_found(tmp_path, options, index):
    version, options = options
    options = {**options, "hoodie.index.type": index}
    table = new_table(tmp_path / "trips", version)
    table.upsert(FIRST, options)
    table.delete(rows(("a", "x", 2, 0.0)), options)
    table.upsert(rows(("b", "x", 2, 20.0)), {**options, **SCHEDULE})
    # The base file has the key, and the compaction that is planned leaves it out.
    assert table.upsert(rows(("a", "x", 3, 3.0)), options).updates == 1
    table.compact(schedule=False, options=options)
    assert "a" not in table.read_optimized().to_arrow()["id"].to_pylist()
    assert table.upsert(rows(("a", "x", 4, 4.0), ("b", "x", 4, 40.0)), options).updates == 2
    rest = [("b", "x", 4, 40.0), ("c", "y", 1, 3.0)]
    assert content(table) == [("a", "x", 4, 4.0), *rest]
    table.insert(rows(("a", "x", 5, 5.0)), {**options, "hoodie.datasource.insert.dup.policy": "drop"})
    assert content(table) == [("a", "x", 4, 4.0), *rest]
    table.delete(rows(("a", "x", 6, 0.0)), options)
    assert content(table) == rest
    assert table.verify(keys=True).findings == []


def test_a_table_is_written_to_after_a_compaction(tmp_path, options):
    version, options = options
    table = updated_table(tmp_path / "trips", version, options)
    table.compact(options=options)
    table.upsert(rows(("a", "x", 3, 11.0), ("b", "x", 4, 12.0)), options)
    table.delete(rows(("c", "y", 3, 0.0)), options)
    table.compact(options=options)
    assert content(table) == [("a", "x", 3, 11.0), ("b", "x", 4, 12.0)]
    assert len(table.file_slices()) == len({(one.partition, one.file_id) for one in table.file_slices()})
    assert all(not one.log_files for one in table.file_slices())


def test_a_planned_compaction_is_executed_while_writers_go_on(tmp_path, options):
    version, options = options
    table = new_table(tmp_path / "trips", version)
    table.upsert(FIRST, options)
    table.upsert(rows(("a", "x", 2, 10.0)), options | SCHEDULE)
    assert [instant.action for instant in table.timeline if instant.state != "COMPLETED"] == ["compaction"]
    table.upsert(rows(("b", "x", 2, 20.0)), options)
    planned = [one.requested_time for one in table.timeline if one.action == "compaction"]
    commit = table.compact(schedule=False, options=options).commit
    assert [commit.instant] == planned
    assert content(table) == [("a", "x", 2, 10.0), ("b", "x", 2, 20.0), ("c", "y", 1, 3.0)]
    base = {row["id"]: row["fare"] for row in table.read_optimized().to_arrow().to_pylist()}
    assert base == {"a": 10.0, "b": 2.0, "c": 3.0}


@pytest.mark.parametrize(
    ("trigger", "due"),
    [
        ({"hoodie.compact.inline.max.delta.commits": "3"}, True),
        ({"hoodie.compact.inline.max.delta.commits": "4"}, False),
        ({}, False),
        ({"hoodie.compact.inline.trigger.strategy": "TIME_ELAPSED"}, False),
        (
            {
                "hoodie.compact.inline.trigger.strategy": "TIME_ELAPSED",
                "hoodie.compact.inline.max.delta.seconds": "0",
            },
            True,
        ),
        (
            {"hoodie.compact.inline.trigger.strategy": "NUM_OR_TIME", "hoodie.compact.inline.max.delta.commits": "2"},
            True,
        ),
        (
            {"hoodie.compact.inline.trigger.strategy": "NUM_AND_TIME", "hoodie.compact.inline.max.delta.commits": "2"},
            False,
        ),
    ],
)
def test_writes_compact_when_options_say_so(tmp_path, trigger, due):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, NO_METADATA)
    table.upsert(rows(("a", "x", 2, 10.0)), NO_METADATA)
    table.upsert(rows(("a", "x", 3, 11.0)), NO_METADATA | INLINE | trigger)
    assert ("commit" in [instant.action for instant in table.timeline]) is due
    assert content(table)[0] == ("a", "x", 3, 11.0)


def test_strategies_choose_what_is_compacted(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, NO_METADATA)
    table.upsert(rows(("a", "x", 2, 10.0), ("c", "y", 2, 30.0)), NO_METADATA)
    table.upsert(rows(("c", "y", 3, 31.0)), NO_METADATA)
    by_number = NO_METADATA | {
        "hoodie.compaction.strategy": "org.apache.hudi.table.action.compact.strategy.LogFileNumBasedCompactionStrategy",
        "hoodie.compaction.logfile.num.threshold": "2",
    }
    [planned] = mortice.Table(str(tmp_path / "trips")).plan_compact(by_number)
    assert planned.instant is None
    assert [(one.partition, len(one.log_files)) for one in planned.slices] == [("y", 2)]
    assert [stats.partition for stats in table.compact(options=by_number).commit.stats] == ["y"]
    assert [stats.partition for stats in table.compact(options=NO_METADATA).commit.stats] == ["x"]
    with pytest.raises(mortice.UnsupportedError, match=r"my\.Strategy"):
        table.compact(options={"hoodie.compaction.strategy": "my.Strategy"})


def test_a_dry_run_changes_nothing(tmp_path):
    table = updated_table(tmp_path / "trips", 9, {})
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "trips").rglob("*")}
    [planned] = mortice.Table(table.uri).plan_compact({})
    [one] = planned.slices
    assert (planned.instant, one.partition, len(one.log_files)) == (None, "x", 2)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "trips").rglob("*")}


def test_a_table_plans_without_running_and_shows_what_it_would_do(tmp_path):
    table = updated_table(tmp_path / "trips", 9, {})
    before = len(table.timeline)
    assert [one.instant for one in table.plan_compact()] == [None]
    assert table.plan_compact(schedule=False) == []
    assert len(mortice.Table(table.uri).timeline) == before
    assert table.compact(run=False).commit is None
    [pending] = [one.requested_time for one in table.timeline.pending if one.action == "compaction"]
    assert [one.instant for one in table.plan_compact(schedule=False)] == [pending]
    assert table.compact(schedule=False).commit.instant == pending
    with pytest.raises(InvalidArgumentError, match="run"):
        table.plan_compact(run="no")


def test_an_execution_that_was_stopped_is_undone_and_repeated(tmp_path, options):
    version, options = options
    table = new_table(tmp_path / "trips", version)
    table.upsert(FIRST, options)
    table.upsert(rows(("a", "x", 2, 10.0)), options | SCHEDULE)
    [planned] = [one.requested_time for one in table.timeline if one.action == "compaction"]
    # What an execution leaves that was killed after its base file was written.
    folder = tmp_path / "trips" / ".hoodie" / ("timeline" if version >= 8 else "")
    (folder / f"{planned}.compaction.inflight").touch()
    [base] = (tmp_path / "trips" / "x").glob("*.parquet")
    torn = f"{base.name.split('_')[0]}_9-9-9_{planned}.parquet"
    (tmp_path / "trips" / "x" / torn).write_bytes(base.read_bytes())
    marker = tmp_path / "trips" / ".hoodie" / ".temp" / planned / "x" / f"{torn}.marker.MERGE"
    marker.parent.mkdir(parents=True)
    marker.touch()
    table.upsert(rows(("c", "y", 2, 30.0)), options)
    assert content(table) == [("a", "x", 2, 10.0), ("b", "x", 1, 2.0), ("c", "y", 2, 30.0)]
    commit = table.compact(schedule=False, options=options).commit
    assert commit.instant == planned
    assert not (tmp_path / "trips" / "x" / torn).exists()
    assert not marker.exists()
    assert content(table) == [("a", "x", 2, 10.0), ("b", "x", 1, 2.0), ("c", "y", 2, 30.0)]
    assert all(instant.state == "COMPLETED" for instant in table.timeline)


def test_many_rows_are_compacted(tmp_path):
    table = new_table(tmp_path / "trips")
    count = 30_000
    every = pa.table(
        {"id": [f"{n:06}" for n in range(count)], "city": ["x"] * count, "ts": [1] * count, "fare": [1.0] * count}
    )
    table.bulk_insert(every, NO_METADATA)
    some = (
        every.slice(0, 5_000).set_column(2, "ts", pa.array([2] * 5_000)).set_column(3, "fare", pa.array([2.0] * 5_000))
    )
    table.upsert(some, NO_METADATA)
    table.delete(every.slice(4_000, 2_000), NO_METADATA)
    [stats] = table.compact(options=NO_METADATA).commit.stats
    assert (stats.rows_written, stats.updates, stats.deletes) == (28_000, 4_000, 2_000)
    assert sum(content_of for (content_of,) in content(table, "fare")) == 4_000 * 2.0 + 24_000


def test_tables_and_arguments_that_cannot_be_compacted_are_refused(tmp_path):
    table = new_table(tmp_path / "cow", 9, "COPY_ON_WRITE")
    with pytest.raises(InvalidArgumentError, match="copy-on-write"):
        table.compact()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.upsert(FIRST, INLINE)
    table = new_table(tmp_path / "mor")
    assert table.compact().commit is None
    with pytest.raises(InvalidArgumentError, match="schedule"):
        table.compact(schedule="yes")
    with pytest.raises(InvalidArgumentError, match=r"max.delta.commits"):
        table.compact(options={"hoodie.compact.inline.max.delta.commits": "many"})


def test_the_command_line_plans_prints_and_compacts(tmp_path, capsys):
    table = updated_table(tmp_path / "trips", 9, NO_METADATA)
    arguments = ["compact", table.uri, "--option", "hoodie.metadata.enable=false"]
    assert main([*arguments, "--dry-run", "--json"]) == 0
    [planned] = json.loads(capsys.readouterr().out)
    assert (planned["instant"], [one["partition"] for one in planned["slices"]]) == (None, ["x"])
    assert main([*arguments, "--run-only"]) == 0
    assert capsys.readouterr().out == "nothing to compact\n"
    assert main([*arguments, "--schedule-only"]) == 0
    assert capsys.readouterr().out.startswith("planned ")
    assert main(arguments) == 0
    assert "1 files, 1 rows" in capsys.readouterr().out
    assert content(table.refresh() or table) == [("a", "x", 2, 10.0), ("c", "y", 1, 3.0)]
