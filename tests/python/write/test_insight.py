"""What a table needs, and what has happened to it: `health`, `maintain`, `history`, `diff`."""

import json
from pathlib import Path

import pytest

import mortice
from mortice.cli.main import main
from support.tables.written import FIRST, content, new_table, rows

SOME_KINDS = [(6, "MERGE_ON_READ"), (9, "MERGE_ON_READ"), (9, "COPY_ON_WRITE")]


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A table of seven writes: updates of `a`, new keys c2 to c6, and a delete of `b`."""
    table = new_table(tmp_path_factory.mktemp("changed") / "trips")
    table.upsert(FIRST)
    for ts in range(2, 7):
        table.upsert(rows(("a", "x", ts, 2.0), (f"c{ts}", "y", ts, 3.0)))
    table.delete(rows(("b", "x", 9, 1.0)))
    return table


def test_health_sums_the_debt_of_file_groups(changed):
    health = changed.health()
    slices = changed.file_slices()
    assert health.log_bytes == sum(log.size for one in slices for log in one.log_files) > 0
    assert health.base_bytes == sum(one.base_file.size for one in slices)
    assert [one.log_bytes for one in health.debt] == sorted((one.log_bytes for one in health.debt), reverse=True)
    assert (health.writes_since_compaction, health.last_clean, health.last_write) == (7, None, changed.timeline.latest)
    assert (health.due, health.problems) == (["compact"], [])
    assert health.metadata.is_used
    assert "10 are kept readable" in next(one.gain for one in health.services if one.service == "clean")
    with pytest.raises(AttributeError):
        health.log_bytes = 0


def test_a_metadata_table_that_is_not_used_and_an_old_pending_write_are_problems(copy_of, capsys):
    table = copy_of("h11_event_time_deletes")
    (Path(table) / ".hoodie" / "timeline" / "20261121034621234.deltacommit.requested").touch()
    assert main(["health", str(table), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [one["instant"] for one in found["pending"] if one["is_stale"]] == ["20261121034621234"]
    assert "20261121034621234" in found["problems"][0]


def test_metrics_of_several_tables_are_grouped_and_escaped(changed, tmp_path, capsys):
    other = new_table(tmp_path / 'a"b\\c')
    assert main(["health", changed.uri, other.uri, "--prometheus"]) == 0
    lines = capsys.readouterr().out.splitlines()
    kinds = [line for line in lines if line.startswith("# TYPE")]
    assert len(kinds) == len(set(kinds)) > 10
    logs = [line for line in lines if line.startswith("mortice_log_bytes")]
    assert logs[0].endswith(f" {changed.health().log_bytes}")
    assert 'a\\"b\\\\c"} 0' in logs[1]


@pytest.mark.parametrize(("version", "table_type"), SOME_KINDS)
def test_maintenance_does_what_is_due_and_changes_no_row(tmp_path, version, table_type):
    table = new_table(tmp_path / "trips", version, table_type)
    table.upsert(FIRST)
    for ts in range(2, 7):
        table.upsert(rows(("a", "x", ts, 2.0)))
    before = content(table)
    planned = table.plan_maintain(options={"hoodie.clean.commits.retained": "1"})
    done = table.maintain(600, {"hoodie.clean.commits.retained": "1"})
    compacts = table_type == "MERGE_ON_READ"
    assert [one.service for one in done.done] == ["compact" if compacts else "clean"]
    assert [one.service for one in planned.done][:1] == [done.done[0].service]
    assert (done.left, done.failed, content(table)) == ([], [], before)
    again, health = table.maintain(600), table.health()
    assert (again.done, again.left, again.failed) == ([], [], [])
    assert (health.log_files, health.due, [one.problem for one in health.services]) == (0, [], [None] * 4)


def test_maintenance_leaves_what_the_budget_does_not_suffice_for(changed):
    done = changed.plan_maintain(0.5)
    assert (done.done, [one.service for one in done.left]) == ([], ["compact"])
    assert "budget" in done.left[0].summary
    for budget in (0, -1, "x", True):
        with pytest.raises(mortice.InvalidArgumentError, match="budget_seconds"):
            changed.maintain(budget)
    with pytest.raises(mortice.InvalidArgumentError, match="'vacuum'"):
        changed.maintain(services=["vacuum"])


@pytest.mark.parametrize(("version", "table_type"), SOME_KINDS)
def test_diff_is_the_difference_of_two_snapshots(tmp_path, version, table_type):
    table = new_table(tmp_path / "trips", version, table_type)
    first = table.upsert(FIRST).instant
    table.upsert(rows(("a", "x", 2, 2.0), ("d", "z", 2, 4.0)))
    table.upsert(rows(("c", "y", 0, 9.0)))  # loses: nothing is different
    table.delete(rows(("b", "x", 9, 1.0)))
    diff = table.diff(first)
    assert diff.inserted.column("id").to_pylist() == ["d"]
    assert diff.deleted.select(["id", "fare"]).to_pylist() == [{"id": "b", "fare": 2.0}]
    assert diff.before.column("fare").to_pylist() == [1.0]
    assert diff.updated.column("fare").to_pylist() == [2.0]
    assert diff.to_arrow().column("_change").to_pylist() == ["insert", "update_before", "update_after", "delete"]
    assert table.diff(table.timeline.latest.requested_time).to_arrow().num_rows == 0
    with pytest.raises(mortice.InvalidArgumentError, match="before"):
        table.diff("20990101000000000", first)


def test_diff_contains_what_an_overwrite_removes_and_nested_columns(tmp_path):
    import pyarrow as pa

    schema = pa.schema(
        [("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("tags", pa.list_(pa.string()))]
    )
    table = new_table(tmp_path / "trips", schema=schema)
    first = table.upsert(rows(("a", "x", 1, ["p"]), ("b", "x", 1, []), schema=schema)).instant
    table.insert_overwrite(rows(("a", "x", 2, ["q"]), schema=schema))
    diff = table.diff(first)
    assert (diff.updated.column("tags").to_pylist(), diff.deleted.column("id").to_pylist()) == ([["q"]], ["b"])


def test_history_names_every_version_and_why_one_wins(changed):
    found = changed.history("a")
    assert [one.values["ts"] for one in found.versions] == [1, 2, 3, 4, 5, 6]
    assert [one.source for one in found.versions] == ["base row"] + ["log record"] * 5
    assert [one.state for one in found.versions] == ["loses"] * 5 + ["wins"]
    assert (found.row["ts"], found.missing, found.damaged) == (6, [], [])
    assert "ts = 6 is the highest; the next is 5" in found.reason
    deleted = changed.history("b", partition="x")
    assert (deleted.row, [one.source for one in deleted.versions]) == (None, ["base row", "log delete"])
    with pytest.raises(mortice.InvalidArgumentError, match="'zz'"):
        changed.history("zz")


def test_history_goes_on_after_a_compaction_and_a_late_record(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST)
    table.upsert(rows(("a", "x", 5, 2.0)))
    table.compact()
    table.upsert(rows(("a", "x", 3, 9.0)))
    found = table.history("a")
    states = [(one.source, one.ordering, one.state) for one in found.versions]
    assert states == [
        ("base row", [1], "older slice"),
        ("log record", [5], "older slice"),
        ("base row", [5], "wins"),
        ("log record", [3], "loses"),
    ]
    assert "3 is below 5" in found.versions[-1].reason
    assert found.row["fare"] == 2.0
    [compact, *_] = table.health().services
    assert (compact.is_due, compact.problem, compact.gain) == (False, None, "merges 1 log files of 1 file groups")


def test_a_clean_that_deletes_nothing_says_why(changed, capsys):
    assert "7 completed writes" in changed.plan_clean().reason
    versions = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "20"}
    assert "no file group has more than 20 versions" in changed.plan_clean(versions).reason
    done = changed.plan_clean({"hoodie.clean.commits.retained": "1"})
    assert done.reason is None
    assert repr(done.cleans[0]).startswith(f"Clean(not run: {len(done.cleans[0].files)} files, ")
    assert main(["clean", changed.uri, "--dry-run"]) == 0
    assert "nothing to clean: the table has 7 completed writes" in capsys.readouterr().out


def test_commands_print_history_and_diff(changed, capsys):
    first = changed.timeline[0].requested_time
    assert main(["history", changed.uri, "a"]) == 0
    assert "ts=6" in capsys.readouterr().out
    assert main(["diff", changed.uri, first, "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "change,record key,columns"
    assert "ts: 1 → 6, fare: 1.0 → 2.0" in lines[-2]
    assert main(["diff", changed.uri, first, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["inserted"]) == 5
    assert main(["history", changed.uri, "zz"]) == 2
    assert main(["history", changed.uri, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == changed.history().to_pylist()
    assert main(["history", changed.uri]) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[0] == changed.history()["instant"][0].as_py()
    assert main(["history", changed.uri, "--partition", "x"]) == 2
    assert main(["maintain", changed.uri, "--dry-run"]) == 0
    assert "compact" in capsys.readouterr().out


def test_a_column_that_was_added_in_between_was_null(tmp_path):
    table = mortice.create_table(tmp_path / "t", {"id": ["a", "b"], "n": [1, 2]}, record_key="id")
    first = table.timeline.latest
    table.upsert([{"id": "a", "n": 3, "note": "new"}], schema="add")
    table.delete(["b"])
    diff = table.diff(first)
    assert diff.before.to_pylist() == [{"_hoodie_record_key": "a", "id": "a", "n": 1, "note": None}]
    assert diff.updated.to_pylist() == [{"_hoodie_record_key": "a", "id": "a", "n": 3, "note": "new"}]
    assert diff.deleted.to_pylist() == [{"_hoodie_record_key": "b", "id": "b", "n": 2, "note": None}]
    with pytest.raises(mortice.InvalidArgumentError, match="unknown column"):
        table.diff(first, columns=["nothing"])
