"""What the command prints to terminals, files and programs; several tables; completion and manual pages."""

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import mortice
from mortice.cli.main import SECTIONS, group, main
from mortice.values.other_names import names_of
from support.cases import hudi_result

NAME = "h11_event_time_deletes"


@pytest.fixture
def table(table_of):
    return str(table_of(NAME))


def test_rows_fit_the_terminal_and_hidden_columns_are_named(table, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    for width in (40, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(["read", table, "--limit", "5"]) == 0
        printed = capsys.readouterr()
        lines = printed.out.splitlines()
        assert len(lines) == 7
        assert max(map(len, lines)) <= width
        assert ("more columns do not fit: " in printed.err) == (width == 40)
        assert "_hoodie_commit_time" not in printed.out
    assert main(["read", table, "--limit", "1", "--meta"]) == 0
    assert "_hoodie_commit_time" in capsys.readouterr().out


def test_wide_characters_are_counted_as_the_terminal_shows_them(tmp_path, capsys):
    path = tmp_path / "t"
    assert main(["create", str(path), "--schema", "id string, city string, n int", "--record-key", "id"]) == 0
    mortice.Table(path).upsert([{"id": "a", "city": "大阪", "n": 1}, {"id": "b", "city": "oslo", "n": 22}])
    capsys.readouterr()
    assert main(["read", str(path)]) == 0
    heading, _, *rows = capsys.readouterr().out.splitlines()
    assert heading == "id  city   n"
    assert rows == ["a   大阪   1", "b   oslo  22"]


def test_csv_has_all_rows_and_reads_back(table, capsys):
    assert main(["read", table, "--csv", "--meta"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    expected = hudi_result(NAME).to_pylist()
    assert len(rows) == len(expected)
    assert {row["trip_id"]: float(row["fare"]) for row in rows} == {row["trip_id"]: row["fare"] for row in expected}


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        (["vacuum", "x"], "No such command 'vacuum'; use clean"),
        (["head", "x"], "use read --limit 5"),
        (["read", "x", "--where", "n > 1"], "No such option '--where'; use --filter"),
        (["read", "x", "-n", "3"], "use --limit"),
        (["changes", "x", "--from", "1"], "use --since"),
        (["create", "x", "--primary-key", "id"], "use --record-key"),
        (["count", "x", "--columms", "n"], "No such option '--columms'"),
    ],
)
def test_a_name_of_another_tool_is_answered_with_that_of_mortice(command, advice, capsys):
    assert main(command) == 2
    assert advice in capsys.readouterr().err


def test_what_is_suggested_exists():
    names = {one for command in group.commands.values() for parameter in command.params for one in parameter.opts}
    assert {one.split()[0] for meant in names_of("option").values() for one in meant.split(", ")} <= names
    assert not set(names_of("command")) & set(group.commands)
    firsts = {meant.split(",")[0].split()[0] for meant in names_of("command").values()}
    assert {one for one in firsts if one.islower() and one != "the"} <= set(group.commands)


def test_columns_are_the_same_in_each_view(table_of, capsys):
    path = str(table_of(NAME))
    columns = mortice.Table(path).columns
    assert main(["schema", path, "--json"]) == 0
    assert [one["column"] for one in json.loads(capsys.readouterr().out)] == columns
    assert main(["info", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == len(columns)
    assert f"{len(columns)} columns" in mortice.Table(path)._repr_html_()


def test_a_pattern_of_log_files_may_match_checksums(table_of, capsys):
    logs = [str(one) for one in Path(table_of(NAME)).glob(".*.log.*")]
    checksums = [one for one in logs if one.endswith(".crc")]
    assert checksums
    assert main(["log", *sorted(logs)]) == 0
    assert capsys.readouterr().out.count(" bytes)") == len(logs) - len(checksums)
    assert main(["log", checksums[0]]) == 1
    assert "is not a Hudi log file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["info"],
        ["schema"],
        ["timeline"],
        ["slices"],
        ["explain"],
        ["read"],
        ["count"],
        ["changes"],
        ["health"],
        ["verify"],
        ["repair", "--dry-run"],
        ["compact", "--dry-run"],
        ["log-compact", "--dry-run"],
        ["cluster", "--dry-run"],
        ["clean", "--dry-run"],
        ["expire-partitions", "--dry-run"],
        ["archive", "--dry-run"],
        ["maintain", "--dry-run"],
        ["metadata", "build", "--dry-run"],
        ["metadata", "delete", "--dry-run"],
    ],
    ids=" ".join,
)
def test_every_command_prints_json_and_csv(table, command, capsys):
    assert main([*command, table, "--json"]) == 0
    for line in capsys.readouterr().out.splitlines():
        json.loads(line)
    assert main([*command, table, "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows
    assert len({len(row) for row in rows}) == 1
    assert main([*command, table]) == 0
    assert capsys.readouterr().out


def test_an_error_of_one_table_does_not_hide_the_others(table, tmp_path, capsys, monkeypatch):
    missing = str(tmp_path / "missing")
    assert main(["count", table, missing, table]) == 66
    printed = capsys.readouterr()
    assert printed.out.split("\n\n") == [f"{table}:\n118", f"{table}:\n118\n"]
    assert len(printed.err.splitlines()) == 1
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{table}\n\n{table}\n"))
    assert main(["count", "-", "--json"]) == 0
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert documents == [{"table": table, "result": 118}] * 2


def test_followed_writes_are_printed_with_their_instants(table, capsys):
    first = mortice.Table(table).timeline[0].completion_time
    assert main(["follow", table, "--since", first, "--once", "--json", "--columns", "trip_id"]) == 0
    instants = [json.loads(line)["instant"] for line in capsys.readouterr().out.splitlines()]
    written = mortice.Table(table).follow(first, None, emit_deletes=True)
    assert list(dict.fromkeys(instants)) == [instant for instant, scan in written if scan.count()]


def test_rows_come_from_standard_input(tmp_path, monkeypatch, capsys):
    path = tmp_path / "t"
    schema = "id string, city string, n int"
    assert main(["create", str(path), "--schema", schema, "--record-key", "id", "--partition-by", "city"]) == 0
    command = ["write", str(path), "-", "--operation", "upsert"]
    assert main(command) == 2
    assert "--format" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"id,city,n\n007,oslo,1\n")))
    assert main([*command, "--format", "csv"]) == 0
    assert mortice.Table(path).snapshot(columns=["id", "n"]).to_arrow().to_pylist() == [{"id": "007", "n": 1}]
    capsys.readouterr()
    assert main(["update", str(path), "--set", "n=n + 1", "--filter", "id = 007"]) == 2
    assert "the string is '007'" in capsys.readouterr().err
    update = ["update", str(path), "--set", "n=n + 1", "--filter", "id = '007'"]
    assert main([*update, "--dry-run"]) == main(update) == 0
    assert [row["n"] for row in mortice.Table(path)] == [2]
    assert main(["update", str(path), "--set", "n='x'", "--filter", "n = 2"]) == 2
    assert main(["update", str(path), "--set", "n=1", "--filter", "n = 2"]) == 0
    assert main(["delete", str(path), "--filter", "n = 1", "--dry-run"]) == 0
    assert mortice.Table(path).snapshot().count() == 1
    assert main(["delete", str(path), "--filter", "n = 1"]) == 0
    assert mortice.Table(path).snapshot().count() == 0


def test_erased_rows_are_in_no_file(tmp_path, capsys):
    path, audit = tmp_path / "t", tmp_path / "audit.json"
    table = mortice.create_table(path, pa.schema([("id", pa.string()), ("n", pa.int64())]), name="t", record_key="id")
    table.upsert([{"id": "person7", "n": 1}, {"id": "b", "n": 2}])
    command = ["erase", str(path), "--filter", "id = person7", "--audit", str(audit)]
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out == "would erase 1 rows\n"
    assert not audit.exists()
    assert table.refresh() is None
    assert table.count() == 2
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("erased 1 rows in ")
    assert json.loads(audit.read_text())["rows"] == 1
    assert not [one for one in path.rglob("*") if one.is_file() and b"person7" in one.read_bytes()]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (mortice.InvalidArgumentError("x"), 2),
        (mortice.TableNotFoundError("x", path="t"), 66),
        (mortice.WriteConflictError("x"), 75),
        (mortice.StorageForbiddenError("x"), 77),
        (mortice.StorageUnreachableError("x"), 69),
        (mortice.StorageError("x"), 74),
        (mortice.CorruptLogError("x"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_error_has_its_exit_status(error, status, monkeypatch):
    def failing(*_, **__):
        raise error

    monkeypatch.setattr("mortice.cli.parameters.Table", failing)
    assert main(["count", "t"]) == main(["info", "t"]) == status


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error_of_one_line(table):
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-W", "ignore", "-m", "mortice", "read", table, "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, encoding="utf-8")
    assert (done.returncode, len(done.stderr.splitlines())) == (74, 1)
    assert "No space left" in done.stderr


def test_a_dry_run_refuses_what_the_run_refuses(table_of, capsys):
    old = str(table_of("h009_upsert_delete"))
    for command in ("compact", "log-compact", "cluster", "clean", "archive", "repair"):
        assert main([command, old, "--dry-run"]) == 1
        assert "version 2" in capsys.readouterr().err


def test_an_instant_that_does_not_exist_is_an_invalid_argument(copy_of, capsys):
    table = str(copy_of(NAME))
    for command in ("rollback", "savepoint"):
        assert main([command, table, "123"]) == 2
        assert "INVALID-ARGUMENT" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script_that_completes(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "_MORTICE_COMPLETE" in capsys.readouterr().out


def test_manual_pages_describe_every_command(tmp_path, capsys):
    assert main(["man", str(tmp_path)]) == 0
    names = {path.stem for path in tmp_path.glob("*.1")}
    assert names >= {f"mortice-{name}" for name in group.commands} | {"mortice", "mortice-metadata-build"}
    page = (tmp_path / "mortice-compact.1").read_text(encoding="utf-8")
    assert "\\-\\-schedule\\-only" in page
    if shutil.which("man"):
        done = subprocess.run(
            ["man", "--warnings", "-l", tmp_path / "mortice-read.1"], capture_output=True, check=True, encoding="utf-8"
        )
        assert "--columns" in done.stdout
        assert not done.stderr
    capsys.readouterr()


def test_help_lists_all_commands_in_sections(capsys):
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for title, commands in SECTIONS.items():
        assert f"{title}:" in printed
        assert all(f"  {one.name} " in printed for one in commands)
    assert set(group.commands) == {one.name for commands in SECTIONS.values() for one in commands}
