"""What an application sees of writes and services: log lines, callbacks, spans."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
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
    failed = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert lines[0].startswith(f"upsert of {table.uri}: Commit({commit.instant}, UPSERT: 3 inserted")
    assert lines[1].startswith(f"clean of {table.uri}: CleanResult(")
    assert lines[2].startswith("read snapshot")
    assert "3 rows" in lines[2]
    assert len(lines) == 3
    assert [line.partition(" failed after ")[0] for line in failed] == [
        f"upsert of {table.uri}",
        f"rollback of {table.uri}",
    ]


def test_every_kind_of_read_and_service_has_a_line(table, caplog):
    table.upsert(FIRST, NO_METADATA)
    with caplog.at_level(logging.INFO, "mortice"):
        table.count()
        table.head(1)
        table.limit(1).count()
        pa.table(table)
        table.verify()
        table.erase("id = 'a'")
        mortice.create_table(f"{table.uri}-2", {"id": "string"}, record_key="id")
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    for begin, part in (
        (f"count snapshot of {table.uri}: 3 rows in ", ""),
        (f"read snapshot of {table.uri}: left after ", " rows in "),
        (f"count snapshot of {table.uri}: 1 rows in ", ""),
        (f"read snapshot of {table.uri}: by a consumer of Arrow's C stream", ""),
        (f"verify of {table.uri}: VerifyResult(", ""),
        (f"erase of {table.uri}: ", "Erasure"),
        (f"create_table of {table.uri}-2: Table(", ""),
    ):
        assert any(line.startswith(begin) and part in line for line in lines), (begin, lines)


def test_failed_reads_and_writes_are_seen_at_the_default_level(table, caplog):
    table.upsert(FIRST, NO_METADATA)
    scan = table.scan()
    for file in Path(table.uri).rglob("*.parquet"):
        file.write_bytes(b"PAR1")
    with caplog.at_level(logging.WARNING, "mortice"):
        for read in (scan.to_arrow, scan.to_arrow, lambda: table.upsert(rows(("a", "x", 2, 1.0)))):
            with pytest.raises(mortice.MorticeError):
                read()
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    begins = [f"read snapshot of {table.uri} failed after "] * 2 + [f"upsert of {table.uri} failed after "]
    assert [line.partition(" failed after ")[0] + " failed after " for line in lines] == begins


def test_an_interrupted_write_is_logged(table, caplog):
    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.with_validators(interrupted).upsert(FIRST)
    assert f"upsert of {table.uri} failed after " in caplog.text


def test_without_logging_nothing_is_printed(table):
    code = (
        f"import mortice\ntry:\n    mortice.Table({table.uri!r}).rollback('20200101000000000')\nexcept ValueError: pass"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "failed" not in done.stderr


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
    exporter.clear()
    scan = table.scan()
    assert scan.to_arrow().num_rows == table.count() == 3
    next(iter(scan))
    for file in Path(table.uri).rglob("*.parquet"):
        file.write_bytes(b"PAR1")
    with pytest.raises(mortice.MorticeError):
        scan.to_arrow()
    read, counted, left, failed = exporter.get_finished_spans()
    assert [one.name for one in (read, counted, left, failed)] == ["mortice.read", "mortice.count"] + [
        "mortice.read"
    ] * 2
    assert [one.status.is_ok for one in (read, counted, left, failed)] == [True, True, True, False]
    assert [read.attributes["mortice.rows"], counted.attributes["mortice.rows"]] == [3, 3]
    assert failed.events[0].name == "exception"
    assert f"snapshot of {table.uri}" in read.attributes["mortice.query"]
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
