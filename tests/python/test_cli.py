"""The command `mortice`, run in a process."""

import contextlib
import json
import os
import pty
import subprocess
import sys

import pytest
from click.testing import CliRunner

from mortice import LogFile
from mortice.cli.main import group
from support.cases import DATA, LOG_FILES, case, hudi_result

NAME = "h11_event_time_deletes"


def mortice(*arguments, status=0, **options):
    done = subprocess.run(
        [sys.executable, "-m", "mortice", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
        **options,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_read_prints_an_aligned_table(table_of):
    done = mortice("read", table_of(NAME), "--columns", "trip_id,fare", "--limit", "3")
    lines = done.stdout.rstrip("\n").split("\n")
    assert lines[0].split() == ["trip_id", "fare"]
    assert set(lines[1]) == {"-", " "}
    assert len(lines) == 5
    # Numbers are right-aligned, so every line ends with the last digit of its fare.
    assert len({len(line) for line in lines}) == 1


def run_at_terminal(*arguments):
    """Runs the command with a terminal; returns what it writes there and to standard error."""
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "mortice", *map(str, arguments)], stdout=end, stderr=subprocess.PIPE, encoding="utf-8"
    ) as running:
        os.close(end)
        written = []
        # When the other end is closed, Linux reports an error instead of end of file.
        with contextlib.suppress(OSError):
            while some := os.read(terminal, 65_536):
                written.append(some)
        os.close(terminal)
        errors = running.stderr.read()
    assert running.returncode == 0, errors
    return b"".join(written).decode(), errors


def test_read_at_a_terminal_prints_the_first_rows_and_a_note(table_of):
    shown, errors = run_at_terminal("read", table_of(NAME))
    assert len(shown.splitlines()) == 22
    assert "--limit" in errors
    shown, errors = run_at_terminal("read", table_of(NAME), "--limit", "23")
    assert len(shown.splitlines()) == 25
    assert not errors


def test_read_into_a_pipe_prints_all_rows_and_columns(table_of):
    done = mortice("read", table_of(NAME), "--meta")
    assert len(done.stdout.splitlines()) == hudi_result(NAME).num_rows + 2
    assert hudi_result(NAME).num_rows > 20
    assert not done.stderr
    names = hudi_result(NAME)["_hoodie_file_name"].to_pylist()
    assert max(map(len, names)) > 40
    assert sorted(line.split()[3] for line in done.stdout.splitlines()[2:]) == sorted(names)


def test_read_json_prints_every_row(table_of):
    rows = [json.loads(line) for line in mortice("read", table_of(NAME), "--meta", "--json").stdout.splitlines()]
    assert sorted(rows, key=lambda row: row["trip_id"]) == sorted(
        hudi_result(NAME).to_pylist(), key=lambda row: row["trip_id"]
    )


def test_read_json_of_every_type_is_json(table_of):
    lines = mortice("read", table_of("h10_types"), "--json").stdout.splitlines()
    rows = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert len(rows) == hudi_result("h10_types").num_rows


@pytest.mark.parametrize(
    ("terms", "keep"),
    [
        (["fare > 40"], lambda row: row["fare"] > 40),
        (["fare>=40.5", "city = oslo"], lambda row: row["fare"] >= 40.5 and row["city"] == "oslo"),
        (["city in ('oslo', lima)"], lambda row: row["city"] in ("oslo", "lima")),
        (["city not in ('oslo')"], lambda row: row["city"] != "oslo"),
        (["note is null"], lambda row: row["note"] is None),
        (["_hoodie_is_deleted = false"], lambda row: row["_hoodie_is_deleted"] is False),
    ],
    ids=lambda value: None if callable(value) else str(value),
)
def test_read_filters(table_of, terms, keep):
    options = [word for term in terms for word in ("--filter", term)]
    lines = mortice("read", table_of(NAME), "--json", "--columns", "trip_id", *options).stdout.splitlines()
    expected = {row["trip_id"] for row in hudi_result(NAME).to_pylist() if keep(row)}
    assert {json.loads(line)["trip_id"] for line in lines} == expected


def test_read_as_of_and_read_optimized(table_of):
    as_of = mortice("read", table_of(NAME), "--json", "--as-of", "20261121024615652").stdout
    assert len(as_of.splitlines()) == hudi_result(NAME, "as_of_03").num_rows
    base = mortice("read", table_of(NAME), "--json", "--read-optimized").stdout
    assert len(base.splitlines()) == hudi_result(NAME, "read_optimized").num_rows


def test_timeline(table_of):
    instants = json.loads(mortice("timeline", table_of(NAME), "--json").stdout)
    assert {i["requested_time"] for i in instants} == {c["instant"] for c in case(NAME)["commits"]}
    assert "deltacommit" in mortice("timeline", table_of(NAME)).stdout


def test_slices(table_of):
    (slice_,) = json.loads(mortice("slices", table_of(NAME), "--json").stdout)
    assert len(slice_["log_files"]) == 6
    assert slice_["file_id"] in mortice("slices", table_of(NAME)).stdout


def log_file(name):
    return next(DATA / file for file in LOG_FILES if name in str(file))


def test_log_lists_blocks():
    output = mortice("log", log_file("log_avro_multi"), "--json").stdout
    assert [json.loads(line)["type"] for line in output.splitlines()] == ["AVRO_DATA_BLOCK"] * 5
    backwards = mortice("log", log_file("log_avro_multi"), "--json", "--reverse").stdout
    assert backwards.splitlines() == output.splitlines()[::-1]
    assert mortice("log", log_file("log_avro_multi")).stdout.count("AVRO_DATA_BLOCK") == 5


def test_mmap_reads_the_same_rows(table_of):
    path = DATA / LOG_FILES[0]
    assert mortice("log", path, "--mmap", "--json").stdout == mortice("log", path, "--json").stdout
    read = ("read", table_of(NAME), "--limit", "3")
    assert mortice(*read, "--mmap").stdout == mortice(*read).stdout


def test_log_shows_records():
    blocks = [
        json.loads(line)
        for line in mortice("log", log_file("log_avro_multi"), "--json", "--records", "2").stdout.splitlines()
    ]
    assert [len(block["records"]) for block in blocks] == [min(2, block["record_count"]) for block in blocks]
    assert "in all" in mortice("log", log_file("log_rollback"), "--records", "1").stdout


def test_log_marks_corrupt_blocks():
    assert "DAMAGED" in mortice("log", log_file("cut-then-good")).stdout


def test_verify_prints_a_line_for_each_fault():
    path = log_file("cut-then-good")
    (line,) = mortice("log", path, "--verify", status=1).stdout.splitlines()
    (damaged,) = [block for block in LogFile(path).blocks() if block.damage]
    assert line == f"{path}: offset {damaged.damage_offset}: {damaged.damage}"
    (document,) = mortice("log", path, "--verify", "--json", status=1).stdout.splitlines()
    assert [fault["offset"] for fault in json.loads(document)["faults"]] == [damaged.damage_offset]


def test_verify_of_a_valid_file():
    path = log_file("log_avro_multi")
    (line,) = mortice("log", path, "--verify").stdout.splitlines()
    assert line == f"{path}: sound, 5 blocks, {path.stat().st_size} bytes"


@pytest.mark.parametrize("kind", ["type", "header key", "stray bytes", "content"])
def test_verify_reports_blocks_that_a_table_read_refuses(tmp_path, kind):
    source = log_file("log_avro_multi")
    content = bytearray(source.read_bytes())
    first = next(LogFile(source).blocks())
    at = {"type": 21, "header key": 29, "stray bytes": len(content), "content": first.content_offset + 8}[kind]
    content[at : at + 1] = {"type": b"\x09", "header key": b"\x63", "stray bytes": b"abc", "content": b"\x7f"}[kind]
    path = tmp_path / source.name
    path.write_bytes(content)
    (line,) = mortice("log", path, "--verify", status=1).stdout.splitlines()
    assert line.startswith(f"{path}: offset ")
    assert len(list(LogFile(path).blocks())) == 5


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["read", "{missing}"], 66, "NOT-FOUND"),
        (["timeline", "{missing}"], 66, "NOT-FOUND"),
        (["log", "{missing}"], 66, "NOT-FOUND"),
        (["read", "{table}", "--columns", "nope"], 2, "nope"),
        (["read", "{table}", "--filter", "fare"], 2, "fare"),
        (["read", "{table}", "--filter", "nope = 3"], 2, "nope"),
        (["read", "{table}", "--filter", "city in oslo"], 2, "brackets"),
        (["read", "{table}", "--as-of", "yesterday"], 2, "yesterday"),
    ],
    ids=str,
)
def test_bad_input_prints_one_line(table_of, tmp_path, arguments, status, message):
    places = {"missing": tmp_path / "missing", "table": table_of(NAME)}
    done = mortice(*[argument.format(**places) for argument in arguments], status=status)
    assert done.stderr.startswith("mortice: ")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["read"], ["read", "x", "--limit", "-1"], ["read", "x", "--lim", "1"]], ids=str
)
def test_wrong_usage(arguments):
    assert "Usage: mortice" in mortice(*arguments, status=2).stderr


def test_a_closed_pipe_is_not_an_error(table_of):
    command = [sys.executable, "-m", "mortice", "read", str(table_of(NAME)), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        complaint = process.stderr.read()
    assert complaint == b""
    assert process.returncode in (0, 141)


def test_characters_that_the_terminal_cannot_encode(table_of):
    done = mortice("read", table_of("h10_types"), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.stdout.isascii()


def printed_help(command):
    return CliRunner().invoke(group, [command, "--help"]).stdout


def test_help_says_what_commands_take():
    for command in ("create", "write"):
        printed = " ".join(printed_help(command).split())
        assert ".parquet, .csv, .json, .jsonl, .ndjson, .arrow, .feather, .orc" in printed, command
    assert "Delete files that only old queries read." in printed_help("clean")
    for command in ("read", "timeline", "slices", "compact", "log-compact", "clean", "archive", "cluster", "write"):
        printed = printed_help(command)
        assert "TABLE" in printed, command
        assert "PATH" not in printed, command


def test_help_and_version():
    assert "Examples:" in mortice("--help").stdout
    assert mortice("--version").stdout.startswith("mortice ")
