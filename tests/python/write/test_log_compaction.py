"""Log compactions: asked for, after writes, planned and executed later, given up, read by all kinds of queries."""

import pathlib
import random
import shutil
import warnings

import pyarrow as pa
import pytest

import mortice
from mortice.cli.main import main
from support.tables.written import NO_METADATA, SCHEMA, both, content, new_table, rows

FIRST = rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0))
TWO = {"hoodie.log.compaction.blocks.threshold": "2"}
INLINE = {"hoodie.log.compaction.inline": "true"}


@pytest.fixture(params=[(6, {}), (8, NO_METADATA), (9, {})], ids=lambda kind: f"v{kind[0]}")
def kind(request):
    return request.param


def updated_table(path, version, options, **arguments):
    """A table with a base file and three log files in one partition, a base file in another."""
    table = new_table(path, version, **arguments)
    table.upsert(FIRST, options)
    table.upsert(rows(("a", "x", 5, 10.0)), options)
    table.upsert(rows(("a", "x", 4, 11.0), ("b", "x", 2, 20.0)), options)
    table.delete(rows(("b", "x", 3, 0.0)), options)
    return table


def all_columns(table):
    return table.snapshot().to_arrow().drop_columns(["_hoodie_file_name"]).sort_by("id").to_pylist()


def test_logs_become_one_log_and_rows_stay(tmp_path, kind):
    version, options = kind
    table = updated_table(tmp_path / "trips", version, options)
    before, base = all_columns(table), table.read_optimized().to_arrow()
    commit = table.log_compact(options=options | TWO).commit
    assert commit.operation == "LOG_COMPACT"
    [stats] = commit.stats
    # The update that lost by its ordering value is gone; the delete stays, as the base file has its key.
    assert (stats.partition, stats.rows_written, stats.deletes) == ("x", 1, 1)
    assert all_columns(table) == before
    assert table.read_optimized().to_arrow().equals(base)
    assert both(table) == [("a", "x", 5, 10.0), ("c", "y", 1, 3.0)]
    [slice_x] = [one for one in table.file_slices() if one.partition == "x"]
    blocks = [block for log in slice_x.log_files for block in mortice.LogFile(f"{table.uri}/{log.path}").blocks()]
    compacted = [block.header["COMPACTED_BLOCK_TIMES"] for block in blocks if "COMPACTED_BLOCK_TIMES" in block.header]
    instants = [block.header["INSTANT_TIME"] for block in blocks if "COMPACTED_BLOCK_TIMES" not in block.header]
    assert set(compacted) == {",".join(dict.fromkeys(instants))}


def test_a_log_compaction_is_due_after_as_many_delta_commits(tmp_path, kind):
    version, options = kind
    table = updated_table(tmp_path / "trips", version, options)
    assert table.log_compact(options=options).commit is None, "five are needed"
    assert table.log_compact(options=options | TWO).commit is not None
    assert table.log_compact(options=options | TWO).commit is None
    table.upsert(rows(("a", "x", 6, 12.0)), options)
    assert table.log_compact(options=options | TWO).commit is None
    table.upsert(rows(("a", "x", 7, 13.0)), options)
    assert table.log_compact(options=options | TWO).commit is not None
    assert both(table) == [("a", "x", 7, 13.0), ("c", "y", 1, 3.0)]
    table.compact(options=options)
    assert table.log_compact(options=options | TWO).commit is None
    assert both(table) == [("a", "x", 7, 13.0), ("c", "y", 1, 3.0)]


def test_writes_compact_logs_when_options_say_so(tmp_path, kind):
    version, options = kind
    table = updated_table(tmp_path / "trips", version, options)
    count = len(table.timeline)
    table.upsert(rows(("a", "x", 6, 12.0)), options | INLINE)
    assert len(table.timeline) == count + 1, "five log blocks are needed"
    table.upsert(rows(("a", "x", 7, 13.0)), options | INLINE)
    assert len(table.timeline) == count + 3
    assert both(table) == [("a", "x", 7, 13.0), ("c", "y", 1, 3.0)]


def test_a_table_plans_without_running_and_shows_what_it_would_do(tmp_path, kind):
    version, options = kind
    table = updated_table(tmp_path / "trips", version, options)
    before = len(table.timeline)
    options = options | TWO
    assert [one.instant for one in table.plan_log_compact(options=options)] == [None]
    assert len(mortice.Table(table.uri).timeline) == before
    assert table.log_compact(options=options, run=False).commit is None
    [pending] = [one.requested_time for one in table.timeline.pending]
    assert [one.instant for one in table.plan_log_compact(schedule=False, options=options)] == [pending]
    assert table.log_compact(schedule=False, options=options).commit.instant == pending


def test_a_plan_is_executed_while_writers_go_on(tmp_path, kind):
    version, options = kind
    table = updated_table(tmp_path / "trips", version, options)
    done = mortice.Table(table.uri).log_compact(options | TWO, run=False)
    scheduled = done.scheduled
    assert (scheduled is not None, done.commits) == (True, [])
    table.upsert(rows(("a", "x", 8, 14.0), ("d", "x", 1, 4.0)), options)
    [planned] = mortice.Table(table.uri).plan_log_compact(options | TWO)
    assert planned.instant == scheduled
    assert (len(planned.slices), len(planned.slices[0].log_files)) == (1, 3)
    assert table.log_compact(schedule=False, options=options).commit.instant == scheduled
    expected = [("a", "x", 8, 14.0), ("c", "y", 1, 3.0), ("d", "x", 1, 4.0)]
    assert both(table) == expected
    table.compact(options=options)
    assert both(table) == expected


def test_a_plan_that_a_compaction_has_overtaken_is_given_up(tmp_path, kind):
    version, options = kind
    table = updated_table(tmp_path / "trips", version, options)
    scheduled = mortice.Table(table.uri).log_compact(options | TWO, run=False).scheduled
    assert table.compact(options=options).commit is not None
    assert table.log_compact(schedule=False, options=options).commit is None
    table.refresh()
    assert scheduled not in [one.requested_time for one in table.timeline]
    assert both(table) == [("a", "x", 5, 10.0), ("c", "y", 1, 3.0)]


def without_file_names(scan):
    return [{**row, "_hoodie_file_name": None} for row in scan.to_arrow().sort_by("id").to_pylist()]


def test_queries_of_the_past_and_of_ranges(tmp_path, kind):
    version, options = kind
    table = updated_table(tmp_path / "trips", version, options)
    earlier = {
        one.requested_time: without_file_names(table.snapshot(as_of=one.requested_time)) for one in table.timeline
    }
    ranges = {one: without_file_names(table.incremental(one)) for one in ["000", *earlier]}
    table.log_compact(options=options | TWO)
    for instant, found in earlier.items():
        assert without_file_names(table.snapshot(as_of=instant)) == found
    for begin, found in ranges.items():
        assert without_file_names(table.incremental(begin, skip_log_compact=True)) == found
        # A row that lost against an older one is in the range without the log compaction only.
        assert [row for row in without_file_names(table.incremental(begin)) if row not in found] == []
    assert without_file_names(table.incremental("000")) == ranges["000"]


def test_a_rolled_back_log_compaction_gives_the_logs_back(tmp_path, kind):
    version, options = kind
    table = updated_table(tmp_path / "trips", version, options)
    before = all_columns(table)
    commit = table.log_compact(options=options | TWO).commit
    table.rollback(commit.instant, options)
    assert all_columns(table) == before
    table.log_compact(options=options | TWO)
    assert all_columns(table) == before


MARKED = pa.schema([*SCHEMA, ("_hoodie_is_deleted", pa.bool_())])


def test_nested_log_compactions_and_deletes_with_and_without_ordering_values(tmp_path, kind):
    """A delete of keys wins over rows before it; a row that is marked as a delete only by its ordering value."""
    version, options = kind
    table = new_table(tmp_path / "trips", version, schema=MARKED)

    def upsert(*given):
        table.upsert(rows(*given, schema=MARKED), options)

    upsert(*[(key, "x", 5, 1.0, False) for key in "abcd"])
    table.delete(rows(("a", "x", 0, 0.0)), options)
    upsert(("b", "x", 4, 0.0, True), ("c", "x", 6, 0.0, True))
    expected = [("b", "x", 5, 1.0), ("d", "x", 5, 1.0)]
    assert both(table) == expected
    table.log_compact(options=options | TWO)
    assert both(table) == expected
    [slice_x] = table.file_slices()
    logs = [mortice.LogFile(f"{table.uri}/{log.path}") for log in slice_x.log_files]
    deletes = [
        (block.header.get("COMPACTED_BLOCK_TIMES") is not None, log.deletes(block).to_pylist())
        for log in logs
        for block in log.blocks()
        if block.type == "DELETE_BLOCK"
    ]
    ordering = {row["record_key"]: row["ordering_value"] for is_new, found in deletes if is_new for row in found}
    assert ordering == {
        row["record_key"]: row["ordering_value"] for is_new, found in deletes if not is_new for row in found
    }
    upsert(("a", "x", 0, 5.0, False), ("c", "x", 5, 7.0, False))
    upsert(("d", "x", 9, 6.0, False))
    expected = both(table)
    assert ("d", "x", 9, 6.0) in expected
    assert [row for row in expected if row[0] == "c"] == []
    assert table.log_compact(options=options | TWO).commit is not None
    assert both(table) == expected
    table.compact(options=options)
    assert both(table) == expected


def test_an_execution_that_was_stopped_is_undone_and_repeated(tmp_path, kind):
    version, options = kind
    table = updated_table(tmp_path / "trips", version, options)
    before = all_columns(table)
    scheduled = mortice.Table(table.uri).log_compact(options | TWO, run=False).scheduled
    root = pathlib.Path(table.uri)
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    mortice.Table(str(copy)).log_compact(options)
    [log] = {path.name for path in (copy / "x").iterdir()} - {path.name for path in (root / "x").iterdir()}
    shutil.copy(copy / "x" / log, root / "x" / log)
    folder = root / (".hoodie" if version == 6 else ".hoodie/timeline")
    (folder / f"{scheduled}.logcompaction.inflight").touch()
    marker = root / ".hoodie/.temp" / scheduled / "x" / f"{log}.marker.{'APPEND' if version == 6 else 'CREATE'}"
    marker.parent.mkdir(parents=True)
    marker.touch()
    table.refresh()
    assert all_columns(table) == before
    done = table.log_compact(schedule=False, options=options).commit
    assert done.instant == scheduled
    assert all_columns(table) == before
    assert not marker.exists()
    assert (root / "x" / log).exists() is (version == 6), "up to version 7 a rollback block undoes it"


SEED = random.randrange(2**32)


@pytest.mark.parametrize("mode", ["EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"])
def test_random_histories(tmp_path, kind, mode):
    print("seed", SEED)
    drawn = random.Random(SEED)
    version, options = kind
    properties = {"hoodie.record.merge.mode": mode} if version >= 8 else {}
    if version == 6 and mode == "COMMIT_TIME_ORDERING":
        properties = {"hoodie.compaction.payload.class": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"}
    tables = [new_table(tmp_path / name, version, properties=properties) for name in ("with", "without")]
    for step in range(20):
        some = [
            (f"k{key}", f"p{key % 2}", drawn.randrange(6), float(step))
            for key in drawn.sample(range(8), drawn.randrange(1, 6))
        ]
        delete = drawn.random() < 0.3
        for table in tables:
            (table.delete if delete and step else table.upsert)(rows(*some), options)
        if drawn.random() < 0.5:
            tables[0].log_compact(options=options | TWO)
        if drawn.random() < 0.1:
            for table in tables:
                table.compact(options=options)
        assert both(tables[0]) == content(tables[1]), (SEED, step)


def test_what_cannot_be_compacted_is_refused_by_name(tmp_path):
    nested = pa.schema([*SCHEMA, ("at", pa.struct([("ts", pa.int64())]))])
    table = new_table(tmp_path / "nested", schema=nested, ordering="at.ts")
    with pytest.raises(mortice.UnsupportedError, match=r"at\.ts"):
        table.log_compact()
    table = new_table(tmp_path / "virtual", properties={"hoodie.populate.meta.fields": "false"})
    with pytest.raises(mortice.UnsupportedError, match="populate"):
        table.log_compact()
    table = new_table(tmp_path / "cow", table_type="COPY_ON_WRITE")
    with pytest.raises(mortice.InvalidArgumentError, match="no logs"):
        table.log_compact()
    table = new_table(tmp_path / "trips")
    with pytest.raises(mortice.InvalidArgumentError, match="at least 1"):
        table.log_compact(options={"hoodie.log.compaction.blocks.threshold": "0"})


def test_the_command(tmp_path, capsys):
    table = updated_table(tmp_path / "trips", 9, {})
    arguments = ["log-compact", table.uri, "--option", "hoodie.log.compaction.blocks.threshold=2"]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "trips").rglob("*")}
    assert main([*arguments, "--dry-run"]) == 0
    logs = [path.stat().st_size for path in (tmp_path / "trips").glob("x/.*.log.*") if not path.name.endswith(".crc")]
    assert f"{sum(logs)}" in capsys.readouterr().out
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "trips").rglob("*")}
    assert main([*arguments, "--schedule-only"]) == 0
    assert "planned" in capsys.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main([*arguments, "--run-only"]) == 0
    assert "compacted" in capsys.readouterr().out
    assert main(arguments) == 0
    assert "nothing to compact" in capsys.readouterr().out
