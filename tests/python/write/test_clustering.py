"""Clustering, read back by mortice."""

import itertools
import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mortice import InvalidArgumentError, UnsupportedError
from mortice.cli.main import main
from support.tables.written import KINDS, NO_METADATA, SCHEMA, content, new_table, rows

METADATA = {"hoodie.metadata.enable": "true"}
RECORD_INDEX = METADATA | {
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}
NEW_GROUPS = {"hoodie.parquet.small.file.limit": "0"}
STRATEGIES = "org.apache.hudi.client.clustering.update.strategy"
# A filter is larger than the few rows of these files.
NO_BLOOM = NO_METADATA | {"hoodie.parquet.bloom.filter.enabled": "false"}
BY_FARE = {"hoodie.clustering.plan.strategy.sort.columns": "fare"}
META = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path"]


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    version, table_type = request.param
    return new_table(tmp_path / "trips", version, table_type)


def fill(table, options):
    """Three file groups in x, two in y; updates and a delete of them."""
    options = NEW_GROUPS | options
    table.insert(rows(("a", "x", 1, 5.0), ("b", "y", 1, 2.0)), options)
    table.insert(rows(("c", "x", 1, 3.0), ("d", "y", 1, 4.0)), options)
    table.insert(rows(("e", "x", 1, 1.0), ("f", "x", 1, 9.0)), options)
    table.upsert(rows(("a", "x", 2, 7.0), ("d", "y", 2, 8.0)), options)
    table.delete(rows(("f", "x", 3, 0.0)), options)


def all_rows(table):
    return table.snapshot(columns=META + SCHEMA.names).to_arrow().sort_by("id")


def groups(table):
    return {(s.partition, s.file_id) for s in table.file_slices()}


@pytest.mark.parametrize("options", [NO_METADATA, RECORD_INDEX], ids=["listed", "indexed"])
def test_rows_move_to_one_sorted_file_per_partition_and_do_not_change(table, options):
    fill(table, options)
    before, old = all_rows(table), groups(table)
    assert len(old) == 5
    commit = table.cluster(BY_FARE | options).commit
    assert commit.operation == "CLUSTER"
    assert all_rows(table) == before
    assert len(groups(table)) == 2
    assert not groups(table) & old
    assert len(table.file_slices()) == len(commit.stats) == 2
    for stats in commit.stats:
        written = pq.read_table(f"{table.uri}/{stats.path}", partitioning=None)
        assert written["fare"].to_pylist() == sorted(written["fare"].to_pylist())
        assert set(written["_hoodie_file_name"].to_pylist()) == {stats.path.rsplit("/", 1)[-1]}
    table.upsert(rows(("a", "x", 9, 70.0), ("b", "y", 9, 20.0), ("g", "x", 9, 1.5)), NEW_GROUPS | options)
    assert content(table) == [
        ("a", "x", 9, 70.0),
        ("b", "y", 9, 20.0),
        ("c", "x", 1, 3.0),
        ("d", "y", 2, 8.0),
        ("e", "x", 1, 1.0),
        ("g", "x", 9, 1.5),
    ]


def test_without_anything_to_cluster_there_is_no_commit(tmp_path):
    table = new_table(tmp_path / "trips")
    table.insert(rows(("a", "x", 1, 1.0)), NO_METADATA)
    before = len(table.timeline)
    large = {"hoodie.clustering.plan.strategy.small.file.limit": "0"}
    single = {"hoodie.clustering.plan.strategy.single.group.clustering.enabled": "false"}
    for options in (large, single):
        assert table.cluster(NO_METADATA | options).commit is None
        assert table.plan_cluster(NO_METADATA | options) == []
    assert table.cluster(NO_METADATA, schedule=False).commit is None
    assert len(table.timeline) == before


def test_a_plan_is_executed_later_and_its_groups_are_not_written_to_meanwhile(table):
    fill(table, NO_METADATA)
    before, old = all_rows(table), groups(table)
    assert table.cluster(NO_METADATA, run=False).commit is None
    (pending,) = [i for i in table.timeline if not i.is_completed]
    assert pending.action == ("replacecommit" if table.timeline[0].completion_time is None else "clustering")
    assert table.cluster(NO_METADATA, run=False).commit is None, "all groups are planned"
    with pytest.raises(UnsupportedError, match="pending clustering"):
        table.upsert(rows(("a", "x", 9, 1.0)), NO_METADATA)
    table.insert(rows(("z", "z", 1, 1.0)), NO_METADATA | NEW_GROUPS)
    commit = table.cluster(NO_METADATA, schedule=False).commit
    assert commit.instant == pending.requested_time
    assert all_rows(table).slice(0, before.num_rows) == before
    assert not groups(table) & old
    assert all(i.is_completed for i in table.timeline)


def test_an_execution_that_was_stopped_is_undone_before_the_next(table):
    fill(table, NO_METADATA)
    before = all_rows(table)
    table.cluster(NO_METADATA, run=False)
    (pending,) = [i for i in table.timeline if not i.is_completed]
    time, action = pending.requested_time, pending.action
    folder = next(p.parent for p in table_path(table).rglob(f"{time}.{action}.requested"))
    (folder / f"{time}.{action}.inflight").touch()
    stray = f"x/11111111-1111-1111-1111-111111111111-0_0-0-0_{time}.parquet"
    (table_path(table) / stray).write_bytes(b"half a file")
    marker = table_path(table) / f".hoodie/.temp/{time}/{stray}.marker.CREATE"
    marker.parent.mkdir(parents=True)
    marker.touch()
    assert table.cluster(NO_METADATA, schedule=False).commit.instant == time
    assert all_rows(table) == before
    assert not (table_path(table) / stray).exists()
    assert not marker.exists()
    assert [i.action for i in table.timeline if i.action == "rollback"] == ["rollback"]


def table_path(table):
    return pathlib.Path(table.uri)


def test_files_have_the_target_size_and_ranges_that_do_not_overlap(tmp_path):
    table = new_table(tmp_path / "trips")
    numbers = [(number * 7919) % 60_000 for number in range(60_000)]
    data = pa.table(
        {
            "id": [f"{n:06}" for n in numbers],
            "city": ["x"] * 60_000,
            "ts": [1] * 60_000,
            "fare": [float(n) for n in numbers],
        },
        schema=SCHEMA,
    )
    table.bulk_insert(data, NO_BLOOM)
    size = sum(s.base_file.size for s in table.file_slices())
    target = {"hoodie.clustering.plan.strategy.target.file.max.bytes": str(size // 4)}
    commit = table.cluster(NO_BLOOM | BY_FARE | target).commit
    assert 4 <= len(commit.stats) <= 10
    found = [
        pq.read_table(tmp_path / "trips" / s.path, columns=["fare"], partitioning=None)["fare"] for s in commit.stats
    ]
    ends = sorted((column[0].as_py(), column[-1].as_py()) for column in found)
    assert all(one[1] < other[0] for one, other in itertools.pairwise(ends))
    assert table.snapshot(columns=SCHEMA.names).to_arrow().sort_by("id").cast(SCHEMA) == data.sort_by("id")


def test_partitions_are_chosen_by_options(tmp_path):
    table = new_table(tmp_path / "trips")
    fill(table, NO_METADATA)
    recent = {"hoodie.clustering.plan.strategy.daybased.lookback.partitions": "1"}
    for options, chosen in (
        ({}, ["x", "y"]),
        ({"hoodie.clustering.plan.partition.filter.mode": "RECENT_DAYS"} | recent, ["y"]),
        ({"hoodie.clustering.plan.strategy.partition.regex.pattern": "[w-x]"}, ["x"]),
        ({"hoodie.clustering.plan.strategy.partition.selected": "y,z"}, ["y"]),
    ):
        preview = table.plan_cluster(NO_METADATA | options)
        assert [group.partition for group in preview] == chosen
    commit = table.cluster(NO_METADATA | {"hoodie.clustering.plan.strategy.partition.selected": "y"}).commit
    assert {stats.partition for stats in commit.stats} == {"y"}


def test_a_table_shows_what_a_clustering_would_rewrite(tmp_path):
    table = new_table(tmp_path / "trips")
    fill(table, NO_METADATA)
    before = len(table.timeline)
    assert {one.instant for one in table.plan_cluster(NO_METADATA)} == {None}
    assert table.plan_cluster(NO_METADATA, schedule=False) == []
    assert len(type(table)(table.uri).timeline) == before


def test_unknown_columns_and_strategies_are_refused(tmp_path):
    table = new_table(tmp_path / "trips")
    fill(table, NO_METADATA)
    with pytest.raises(InvalidArgumentError, match="fares"):
        table.cluster(NO_METADATA | {"hoodie.clustering.plan.strategy.sort.columns": "fares"})
    assert all(i.is_completed for i in table.timeline)
    with pytest.raises(UnsupportedError, match="SparkOther"):
        table.cluster(NO_METADATA | {"hoodie.clustering.execution.strategy.class": "SparkOther"})
    assert all(i.is_completed for i in table.timeline)


def test_an_update_rolls_a_pending_clustering_back_if_options_say_so(table):
    fill(table, NO_METADATA)
    table.cluster(NO_METADATA, run=False)
    allow = {
        "hoodie.clustering.updates.strategy": f"{STRATEGIES}.SparkAllowUpdateStrategy",
        "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "true",
    }
    with pytest.raises(UnsupportedError, match="Other"):
        table.upsert(rows(("a", "x", 9, 1.0)), NO_METADATA | {"hoodie.clustering.updates.strategy": "Other"})
    table.insert(rows(("z", "z", 1, 1.0)), NO_METADATA | NEW_GROUPS | allow)
    assert not all(i.is_completed for i in table.timeline)
    table.upsert(rows(("a", "x", 9, 1.0)), NO_METADATA | allow)
    assert all(i.is_completed for i in table.timeline)
    assert ("a", "x", 9, 1.0) in content(table)
    assert table.cluster(NO_METADATA, schedule=False).commit is None


@pytest.mark.parametrize(("curve", "method"), [("z-order", "direct"), ("hilbert", "sample")])
def test_files_along_a_curve_have_narrow_ranges_of_both_columns(tmp_path, curve, method):
    # Of different types and ranges only a sample shows what is narrow.
    other = pa.float64() if method == "sample" else pa.int64()
    schema = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("fare", other)])
    table = new_table(tmp_path / "trips", schema=schema)
    side = 300
    numbers = [(number * 7919) % side**2 for number in range(side**2)]
    columns = [[f"{n:06}" for n in numbers], ["x"] * side**2, [n // side for n in numbers], [n % side for n in numbers]]
    data = pa.table(dict(zip(schema.names, columns, strict=True))).cast(schema)
    table.bulk_insert(data, NO_BLOOM)
    size = sum(s.base_file.size for s in table.file_slices())
    options = {
        "hoodie.clustering.plan.strategy.target.file.max.bytes": str(size // 16),
        "hoodie.clustering.plan.strategy.sort.columns": "ts,fare",
        "hoodie.layout.optimize.strategy": curve,
        "hoodie.layout.optimize.curve.build.method": method,
    }
    commit = table.cluster(NO_BLOOM | options).commit
    assert table.snapshot(columns=schema.names).to_arrow().sort_by("id").cast(schema) == data.sort_by("id")
    shares = []
    for stats in commit.stats:
        part = pq.read_table(tmp_path / "trips" / stats.path, columns=["ts", "fare"], partitioning=None)
        ranges = [max(column) - min(column) for column in (part["ts"].to_pylist(), part["fare"].to_pylist())]
        shares.append(max(ranges) / side)
    assert len(shares) >= 8
    assert sum(shares) / len(shares) < 0.7


def test_a_write_clusters_after_so_many_commits(table):
    inline = (
        NO_METADATA | NEW_GROUPS | {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "2"}
    )
    counts = []
    for number in range(6):
        table.insert(rows((str(number), "x", 1, float(number))), inline)
        table.refresh()
        counts.append(len(groups(table)))
    assert counts == [1, 1, 2, 1, 2, 1]
    assert len(content(table)) == 6


def test_a_write_plans_clustering_for_a_later_run(tmp_path):
    table = new_table(tmp_path / "trips")
    later = {"hoodie.clustering.schedule.inline": "true", "hoodie.clustering.async.max.commits": "2"}
    pending = []
    for number in range(4):
        table.insert(rows((str(number), "x", 1, float(number))), NO_METADATA | NEW_GROUPS | later)
        table.refresh()
        pending.append(sum(not i.is_completed for i in table.timeline))
    assert pending == [0, 1, 1, 1]
    table.cluster(NO_METADATA, schedule=False)
    assert len(groups(table)) == 3
    assert len(content(table)) == 4


def test_the_command_plans_runs_and_shows_what_it_would_do(tmp_path, capsys):
    table = new_table(tmp_path / "trips")
    fill(table, NO_METADATA)
    before = all_rows(table)
    given = ["cluster", table.uri, "--option", "hoodie.metadata.enable=false"]

    def output(*more):
        assert main([*given, *more]) == 0
        return capsys.readouterr().out

    shown = json.loads(output("--dry-run", "--json"))
    assert [(group["partition"], len(group["file_ids"]), group["outputs"]) for group in shown] == [
        ("x", 3, 1),
        ("y", 2, 1),
    ]
    assert sum(group["bytes"] for group in shown) == sum(s.size for s in table.file_slices())
    assert "new files" in output("--dry-run")
    assert output("--run-only") == "nothing to cluster\n"
    assert output("--dry-run", "--run-only").endswith("nothing to cluster\n")
    assert output("--schedule-only").startswith("planned: ")
    table.refresh()
    [pending] = {one.requested_time for one in table.timeline.pending}
    planned = json.loads(output("--dry-run", "--run-only", "--json"))
    assert planned == [{**group, "instant": pending} for group in shown]
    files, size = (sum(group[what] for group in shown) for what in ("files", "bytes"))
    assert f"clustering {pending}: would rewrite {files} files, {size:,} bytes" in output("--dry-run")
    assert "CLUSTER" in output("--run-only", "--option", "hoodie.clustering.plan.strategy.sort.columns=fare")
    table.refresh()
    assert len(groups(table)) == 2
    assert all_rows(table) == before
