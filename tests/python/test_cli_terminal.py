"""What the command prints at a terminal: lines that fit it, colours, times; and nothing of that elsewhere."""

import io
import re
import sys

import pyarrow as pa
import pytest

import mortice
from mortice.cli.main import main
from mortice.cli.output import display_width

STYLE = re.compile(r"\x1b\[[\d;]*m")
ROWS = pa.table({"id": ["a", "b", "c"], "city": ["oslo", "lima", "oslo"], "fare": [1.5, 2.0, 1e6], "ts": [1, 2, 3]})


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    table = mortice.create_table(
        tmp_path_factory.mktemp("lake") / "trips", ROWS, record_key="id", partition_by="city", ordering="ts"
    )
    for number in range(4, 9):
        note = f"a value that is so long that it has to be wrapped, number {number}"
        rows = {
            "id": ["a", "b"],
            "city": ["oslo", "lima"],
            "fare": [number, 2.5],
            "ts": [number] * 2,
            "note": [note] * 2,
        }
        table.upsert(rows, schema="add")
    table.compact()
    table.delete(["c"])
    return table.uri


@pytest.fixture
def damaged(uri, tmp_path):
    import shutil
    from pathlib import Path

    copy = tmp_path / "damaged"
    shutil.copytree(uri, copy)
    next(Path(copy).glob("oslo/*.parquet")).unlink()
    return str(copy)


@pytest.fixture
def at_terminal(monkeypatch):
    """Runs a command at a terminal of some width; returns what it shows, without styles if `plain`."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def run(*command, width=80, plain=True):
        monkeypatch.setenv("COLUMNS", str(width))
        out, errors = Terminal(), Terminal()
        with monkeypatch.context() as streams:
            streams.setattr(sys, "stdout", out)
            streams.setattr(sys, "stderr", errors)
            main(list(command))
        shown = out.getvalue() + errors.getvalue()
        return STYLE.sub("", shown).replace("\r\x1b[K", "") if plain else shown

    return run


RETAINED = ["--option", "hoodie.clean.commits.retained=1"]
COMMANDS = [
    ["info"],
    ["schema", "--meta"],
    ["timeline"],
    ["slices"],
    ["explain", "--filter", "fare > 3 and city = 'oslo' and ts in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)"],
    ["read", "--meta"],
    ["count"],
    ["changes", "--meta"],
    ["history"],
    ["history", "KEY"],
    ["diff", "BEGIN"],
    ["health"],
    ["health", *RETAINED],
    ["verify"],
    ["repair", "--dry-run"],
    ["maintain", "--dry-run"],
    ["compact", "--dry-run"],
    ["log-compact", "--dry-run"],
    ["cluster", "--dry-run"],
    ["clean", "--dry-run", *RETAINED],
    [
        "archive",
        "--dry-run",
        "--option",
        "hoodie.keep.min.commits=2",
        "--option",
        "hoodie.keep.max.commits=3",
        *RETAINED,
    ],
    ["metadata", "build", "--dry-run", "--add", "record_index"],
    ["metadata", "delete", "--dry-run"],
    ["savepoint", "--dry-run"],
    ["rollback", "--dry-run", "LATEST"],
    ["restore", "--dry-run", "BEFORE"],
    ["restore", "--dry-run", "20200101000000000"],
    ["erase", "--dry-run", "--filter", "id = 'a'"],
    ["update", "--dry-run", "--filter", "id = 'a'", "--set", "fare=1"],
    ["rollback", "20200101000000000"],
    ["read", "--columns", "nothing"],
]


def with_instants(command, uri):
    name, *options = command
    instants = {"LATEST": -1, "BEFORE": -2, "BEGIN": 0}
    timeline = mortice.Table(uri).timeline
    options = [timeline[instants[one]].requested_time if one in instants else one for one in options]
    group = [name, options.pop(0)] if name == "metadata" else [name]
    return [*group, uri, *("a" if one == "KEY" else one for one in options)]


@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_fits_the_terminal(uri, at_terminal, command, width):
    shown = at_terminal(*with_instants(command, uri), width=width)
    assert shown
    assert "\x1b" not in shown
    for line in shown.splitlines():
        # A path that is longer than a line stays whole.
        assert display_width(line) <= width or max(map(len, line.split())) > width // 2, line


def test_findings_fit_the_terminal(damaged, at_terminal):
    shown = at_terminal("verify", damaged)
    assert "missing" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_history_of_a_key_uses_the_width_that_there_is(uri, at_terminal):
    narrow, wide = (at_terminal("history", uri, "a", width=width) for width in (80, 400))
    text = "a value that is so long that it has to be wrapped, number 8"
    assert text in " ".join(narrow.split())
    assert re.search(rf"^20\S+ \S+ +.* wins .*{text}", wide, re.MULTILINE)
    assert max(map(len, wide.splitlines())) > 160


def test_instants_are_times_which_commands_take(uri, at_terminal, capsys):
    latest = mortice.Table(uri).timeline.latest.requested_time
    day, rest = latest[:8], latest[8:]
    time = f"{day[:4]}-{day[4:6]}-{day[6:]} {rest[:2]}:{rest[2:4]}:{rest[4:6]}.{rest[6:]}"
    for command in (["timeline"], ["history"], ["savepoint", "--dry-run"]):
        shown = at_terminal(command[0], uri, *command[1:])
        assert time in shown
        assert not re.search(rf"(?<!_){latest}", shown)
    assert main(["rollback", uri, time, "--dry-run"]) == 0
    assert main(["diff", uri, time]) == 0
    capsys.readouterr()
    assert main(["timeline", uri]) == 0
    assert latest in capsys.readouterr().out


def test_colours_are_for_terminals_that_have_them(uri, at_terminal, monkeypatch, capsys):
    def is_coloured(*command):
        return "\x1b[" in at_terminal(*command, plain=False)

    assert "\x1b[1m" in at_terminal("slices", uri, plain=False)
    assert "\x1b[31;1m" not in at_terminal("count", uri, plain=False)
    assert at_terminal("count", "/nothing", plain=False).startswith("\x1b[1;31mmortice:\x1b[0m ")
    assert is_coloured("read", uri)
    monkeypatch.setenv("TERM", "dumb")
    assert not is_coloured("read", uri)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_coloured("read", uri)
    monkeypatch.delenv("NO_COLOR")
    for command in COMMANDS[:13]:
        main(with_instants(command, uri))
        printed = capsys.readouterr()
        assert "\x1b" not in printed.out + printed.err


def test_values_cannot_control_a_terminal_that_has_colours(tmp_path, at_terminal):
    name = "\x1b[31mred\x1b]0;title\x07"
    mortice.create_table(tmp_path / "t", {"id": [name], "n": [1]}, record_key="id")
    for command in (["read"], ["diff", "20200101000000000"], ["count", "--filter", f"nothing = '{name}'"]):
        shown = at_terminal(command[0], str(tmp_path / "t"), *command[1:], plain=False)
        assert "\x1b[31mred" not in shown
        assert "\x07" not in shown


def test_work_of_unknown_size_shows_how_long_it_takes(monkeypatch):
    from mortice.cli import progress

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "SECONDS_BEFORE", 0.0)
    with progress.service_progress("verify", lambda: (0, 0)):
        for _ in range(1_000):
            if " s …" in terminal.getvalue():
                break
            progress.threading.Event().wait(0.01)
    assert " s …" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
