"""The progress of services: what is counted, and the bar on a terminal."""

import io
import sys
import time

import pytest

from mortice.cli.main import main
from mortice.cli.progress import service_progress
from support.tables.written import FIRST, NO_METADATA, NO_SMALL_FILES, new_table, rows


class Terminal(io.StringIO):
    def isatty(self):
        return True


def as_stderr(monkeypatch, stream):
    """Replaces standard error; a fixture cannot, as pytest replaces it again when the test begins."""
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


@pytest.fixture
def table(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, NO_METADATA | NO_SMALL_FILES)
    for ts in range(2, 5):
        table.upsert(rows(("a", "x", ts, 2.0), ("c", "y", ts, 3.0)), NO_METADATA | NO_SMALL_FILES)
    return table


def test_services_count_their_work(table):
    [planned] = table.plan_compact(NO_METADATA)
    table.compact(options=NO_METADATA)
    total = sum(one.base_bytes + one.log_bytes for one in planned.slices)
    assert table.service_progress() == (total, total)
    for ts in (5, 6):
        table.upsert(rows(("a", "x", ts, 2.0)), NO_METADATA | NO_SMALL_FILES)
        table.compact(options=NO_METADATA)
    [done] = table.clean({"hoodie.clean.commits.retained": "1", **NO_METADATA}).cleans
    assert table.service_progress() == (len(done.files), len(done.files))
    keep = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    archived = table.archive(keep | NO_METADATA).instants
    assert archived
    assert table.service_progress() == (len(archived), len(archived))


def test_a_bar_is_shown_while_a_service_runs_and_removed(monkeypatch):
    terminal = as_stderr(monkeypatch, Terminal())
    deadline = time.monotonic() + 60
    with service_progress("bytes", lambda: (5, 10)):
        while "5 of 10 bytes" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "[###############...............]" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_no_bar_is_shown_without_a_terminal_or_if_it_is_not_wanted(monkeypatch, table, capsys):
    terminal = as_stderr(monkeypatch, Terminal())
    with service_progress("bytes", lambda: (5, 10), is_shown=False):
        pass
    assert terminal.getvalue() == ""
    assert main(["compact", table.uri, "--no-progress"]) == 0
    assert terminal.getvalue() == ""
    stream = as_stderr(monkeypatch, io.StringIO())
    assert main(["clean", table.uri, "--option", "hoodie.clean.commits.retained=1"]) == 0
    assert stream.getvalue() == ""
    assert "compacted" in capsys.readouterr().out
