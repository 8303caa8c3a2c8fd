"""What an application sees of writes and services: log lines, callbacks, spans."""

import logging
import os
import subprocess
import sys

import pytest

import mortice
from support.tables.written import FIRST, NO_METADATA, new_table, rows


@pytest.fixture
def table(tmp_path):
    return new_table(tmp_path / "trips")


def test_writes_services_and_reads_are_logged(table, caplog):
    with caplog.at_level(logging.INFO, "mortice"):
        commit = table.upsert(FIRST, NO_METADATA)
        table.plan_clean()
        table.clean(NO_METADATA)
        table.snapshot().to_arrow()
        with pytest.raises(mortice.InvalidArgumentError):
            table.upsert(rows(("a", "x", 1, 1.0)), {"hoodie.nonsense": "1"})
        with pytest.raises(mortice.MorticeError):
            table.rollback("20200101000000000")
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert lines[0].startswith(f"upsert of {table.uri}: Commit({commit.instant}, UPSERT: 3 inserted")
    assert lines[1].startswith(f"clean of {table.uri}: CleanResult(")
    assert lines[2].startswith("read snapshot")
    assert "3 rows" in lines[2]
    assert any(line.startswith(f"rollback of {table.uri} failed after ") for line in lines[3:])


def test_functions_are_called_after_each_commit_and_cannot_undo_it(table, caplog):
    seen = []

    def fails(event):
        raise RuntimeError(event.commit.operation)

    removers = [
        mortice.on_commit(fails),
        mortice.on_commit(lambda event: seen.append((event.uri, event.commit.instant))),
    ]
    try:
        first = table.upsert(FIRST)
        table.upsert(rows(("a", "x", 2, 2.0)))
        [compaction] = table.compact().commits
        table.plan_cluster()
    finally:
        for remove in removers:
            remove()
    table.upsert(rows(("a", "x", 3, 2.0)))
    assert [uri for uri, _ in seen] == [table.uri] * 3
    assert (seen[0][1], seen[-1][1]) == (first.instant, compaction.instant)
    assert caplog.text.count("on_commit failed") == 3
    with pytest.raises(mortice.InvalidArgumentError, match="on_commit"):
        mortice.on_commit("x")


def test_operations_are_spans_of_applications_that_use_opentelemetry(table):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    commit = table.upsert(FIRST)
    with pytest.raises(mortice.MorticeError):
        table.rollback("20200101000000000")
    good, bad = exporter.get_finished_spans()
    assert (good.name, good.attributes["mortice.table"]) == ("mortice.upsert", table.uri)
    assert good.attributes["mortice.instant"] == commit.instant
    assert (bad.name, bad.status.is_ok) == ("mortice.rollback", False)


@pytest.mark.parametrize(("level", "is_printed"), [("info", True), ("loud", False)])
def test_the_environment_turns_log_lines_on(table, level, is_printed):
    code = f"import mortice, sys; mortice.Table({table.uri!r}).archive(); print('opentelemetry' in sys.modules)"
    environment = {**os.environ, "MORTICE_LOG": level}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert ("INFO mortice: archive of" in done.stderr) == is_printed
