"""Tests of `benches/versus`: wrong rows have no time, unsupported queries have a reason, CPU time of child processes is
counted, and a report is made from a record alone."""

import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

pytest.importorskip("polars")
if not sys.platform.startswith("linux"):
    pytest.skip("the benchmarks read Linux' /proc", allow_module_level=True)

import pyarrow as pa
import pyarrow.parquet as pq

import mortice
from support.cases import unpack
from versus import avro_types, cpu, equal, plots, process, report, rounds, workloads
from versus.contenders import CONTENDERS, VERIFIER
from versus.contenders.contender import WRITES, Contender, NotSupported
from versus.contenders.fastavro_rows import datums
from versus.record import CANNOT, DIFFERS, FAILED, OK, Line, Record, incomplete_points, load
from versus.results import ratios, results
from versus.tables import Table, Written

EFFORT = rounds.Effort(rounds=2, warm_ups=1, limit_seconds=60, patience_seconds=60)
ROWS = pa.table(
    {
        "key": ["a", "b", "c"],
        "n": [1, 2, None],
        "s": [{"x": 1}, None, {"x": 3}],
        "m": pa.array([[("p", 1), ("q", 2)], [], None], pa.map_("string", "int64")),
    }
)


def changed(column, values):
    at = ROWS.schema.get_field_index(column)
    return ROWS.set_column(at, column, pa.array(values, ROWS.schema.field(at).type))


def test_rows_are_equal_in_any_order_and_in_equivalent_types():
    other = ROWS.take([2, 0, 1]).select(["n", "m", "key", "s"])
    other = other.set_column(2, "key", other["key"].cast(pa.large_string()))
    assert equal.difference(equal.digest(ROWS), other) is None


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("key", ["a", "b", "d"]),
        ("n", [1, 2, 0]),
        ("n", [None, 1, 2]),
        ("s", [{"x": 1}, None, {"x": 4}]),
        ("m", [[("p", 1), ("q", 3)], [], None]),
        ("m", [[("p", 1), ("q", 2)], None, None]),
    ],
)
def test_one_wrong_value_is_a_difference(column, values):
    assert "differ" in equal.difference(equal.digest(ROWS), changed(column, values))


def test_a_duplicate_that_replaces_a_row_is_a_difference():
    rows = ROWS.take([0, 0, 1])
    assert equal.difference(equal.digest(ROWS), rows) is not None
    assert equal.difference(equal.digest(rows), ROWS.take([0, 1, 1])) is not None


def test_missing_rows_columns_and_other_types_are_differences():
    reference = equal.digest(ROWS)
    assert equal.difference(reference, ROWS.slice(1)) == "2 rows, not 3"
    assert "missing: ['n']" in equal.difference(reference, ROWS.drop_columns("n"))
    assert "too many: ['more']" in equal.difference(reference, ROWS.append_column("more", ROWS["n"]))
    assert "other types" in equal.difference(reference, ROWS.set_column(0, "key", pa.array([1, 2, 3])))


BURN = "import time\nwhile time.process_time() < 0.4: pass\n"
WAIT = "import time\ntime.sleep(60)\n"
START_A_CHILD = "import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', {child!r}])\n"


@pytest.mark.parametrize("is_alive", [False, True], ids=["ended", "still alive"])
def test_cpu_time_of_children_is_counted(is_alive):
    code = START_A_CHILD.format(child=BURN + WAIT * is_alive) + "child.wait()\n" * (not is_alive) + WAIT
    parent = subprocess.Popen([sys.executable, "-c", code])
    try:
        until = time.monotonic() + 60
        while cpu.cpu_seconds(parent.pid) < 0.4 and time.monotonic() < until:
            time.sleep(0.05)
        assert cpu.cpu_seconds(parent.pid) >= 0.4
        assert cpu.cpu_seconds(parent.pid) < 2
    finally:
        for pid in cpu.tree(parent.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        parent.wait()


def test_cpu_time_of_ended_threads_is_counted():
    def burn():
        while time.thread_time() < 0.3:
            pass

    before = cpu.cpu_seconds(os.getpid())
    thread = threading.Thread(target=burn)
    thread.start()
    thread.join()
    assert cpu.cpu_seconds(os.getpid()) - before >= 0.3


HOLDS_AND_LETS_GO = """
print("here", flush=True)
input()
held = b"x" * (64 << 20)
del held
print("done", flush=True)
input()
"""


def test_peak_memory_is_measured_after_it_was_freed():
    # A separate process: this one may have other children.
    command = [sys.executable, "-c", HOLDS_AND_LETS_GO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "here\n"
        cpu.reset_peak(child.pid)
        before = cpu.peak_bytes(child.pid)
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "done\n"
        peak = cpu.peak_bytes(child.pid)
        child.communicate("\n")
    assert peak - before > 60 << 20


class FakeContender(Contender):
    """A contender in the process of the test: its rows, or the reason why it has none."""

    kinds = ("read",)

    def __init__(self, name, rows=None, raises=None):
        self.name = name
        self.rows = rows
        self.raises = raises

    def version(self):
        return "1"

    def run(self, query):
        return self.rows.num_rows


class FakeProcess:
    """Replaces `versus.process.Process`."""

    is_alive = True
    version = "1"

    def __init__(self, contender, cores):
        self.contender = contender

    def ask(self, request, limit_seconds):
        if self.contender.raises:
            raise self.contender.raises
        if request["do"] == "answer":
            pq.write_table(self.contender.rows, request["path"])
        return {}

    def measured(self, query, times, limit_seconds):
        return {"wall_s": 0.5, "cpu_s": 1.0, "peak_bytes": 1, "rows": self.contender.rows.num_rows}

    def end(self):
        pass


@pytest.fixture
def raced(tmp_path, monkeypatch):
    """Runs contenders and returns the record."""
    monkeypatch.setattr(rounds, "Process", FakeProcess)

    def race(*contenders, workload="slice"):
        record = Record(tmp_path / "record.csv", {"date": "2024-01-01", "scale": "tiny", "note": "a, b: c"})
        race = rounds.Rounds(contenders, EFFORT, record, say=lambda _: None)
        race.run(workloads.Point(workload, Table(3), "read", states=("cold", "warm")), Written(Table(3), tmp_path))
        race.end()
        return record.path

    return race


@pytest.fixture
def record(raced):
    return raced(
        FakeContender("hudi-rs", ROWS),
        FakeContender("mortice API", ROWS.take([1, 0, 2])),
        FakeContender("wrong", changed("n", [1, 3, None])),
        FakeContender("Hudi 0.15.0 on Spark", raises=NotSupported("it knows no maps & such")),
        FakeContender("fastavro", raises=process.Failed("took longer than 60 s")),
    )


def test_only_contenders_with_correct_rows_have_times(record):
    _, lines = load(record)
    found = {(line.contender, line.status) for line in lines}
    assert found == {
        ("hudi-rs", OK),
        ("mortice API", OK),
        ("wrong", DIFFERS),
        ("Hudi 0.15.0 on Spark", CANNOT),
        ("fastavro", FAILED),
    }
    assert all((line.cpu_s > 0) == (line.status == OK) for line in lines)
    assert [line.round for line in lines if line.contender == "mortice API"] == [0, 1, 2]
    assert {line.state for line in lines if line.status == CANNOT} == {"cold", "warm"}


class FakeWriterProcess(FakeProcess):
    """Writes the rows of its contender next to those of the table, or reads them back."""

    paths: ClassVar[list[str]] = []

    def ask(self, request, limit_seconds):
        folder = Path(request["query"]["path"])
        if request["do"] == "answer":
            assert self.contender.name == VERIFIER
            assert request["query"]["columns"] == ["_hoodie_record_key", "_hoodie_partition_path", *ROWS.schema.names]
            shutil.copy(folder / "rows", request["path"])
        if request["do"] == "run":
            assert sorted(path.name for path in folder.iterdir()) == [".hoodie", "base.parquet"]
            self.paths.append(request["query"]["path"])
            pq.write_table(self.contender.rows, folder / "rows")
        return {}

    def measured(self, query, times, limit_seconds):
        assert times == 1
        self.ask({"do": "run", "query": query}, limit_seconds)
        return {"wall_s": 10.0, "cpu_s": 10.0, "peak_bytes": 1, "rows": None}


class FakeWriter(FakeContender):
    kinds = ("upsert",)


def test_every_run_of_a_write_is_into_a_fresh_copy_and_hudi_reads_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(rounds, "Process", FakeWriterProcess)
    monkeypatch.setattr(rounds, "CACHE", tmp_path)
    monkeypatch.setattr("versus.tables.CACHE", tmp_path)
    point = workloads.Point("write", Table(3, commits=1, fraction=1.0), "upsert")
    rows, base = (table.path for table in (point.table.rows_alone, point.table.base))
    assert point.prepared == (point.table.base, point.table.rows_alone)
    rows.mkdir(parents=True)
    pq.write_table(ROWS, rows / "part.parquet")
    (base / ".hoodie").mkdir(parents=True)
    (base / "base.parquet").touch()
    contenders = [FakeWriter("a", ROWS), FakeWriter("b", ROWS.take([2, 1, 0])), FakeWriter("wrong", ROWS.slice(1))]
    race = rounds.Rounds(contenders, replace(EFFORT, patience_seconds=1), Record(tmp_path / "record.csv", {}))
    race.run(point, Written(point.start))
    found = {(line.contender, line.status) for line in load(tmp_path / "record.csv")[1]}
    assert found == {("a", OK), ("b", OK), ("wrong", DIFFERS)}
    # Of both that are correct the result, the warm-up, and two rounds.
    assert len(set(FakeWriterProcess.paths)) == len(FakeWriterProcess.paths) == 2 * 4 + 1
    assert not any(Path(path).exists() for path in FakeWriterProcess.paths)


@pytest.mark.parametrize("kind", ["upsert", "insert", "bulk_insert", "compact"])
def test_mortice_writes_the_rows_of_a_query(tmp_path, kind):
    writer = next(contender for contender in CONTENDERS if contender.name == "mortice writer")
    rows, path = pa.table({"key": ["a", "b"], "ts": [1, 2], "n": [3, None]}), str(tmp_path / "table")
    (tmp_path / "rows").mkdir()
    pq.write_table(rows, tmp_path / "rows" / "part.parquet")
    if kind in {"upsert", "compact"}:
        table = mortice.create_table(path, rows.schema, name="t", record_key="key", ordering="ts")
        table.insert(rows.set_column(2, "n", pa.array([None, 0], pa.int64())))
    if kind == "compact":
        table.upsert(rows)
    query = {"kind": kind, "path": path, "rows": str(tmp_path / "rows")}
    started = process.Process(LocalContender(writer), 1)
    try:
        started.ask({"do": "prepare", "query": query}, 60)
        assert started.measured(query, 1, 60)["rows"] == (None if kind == "compact" else 2)
    finally:
        started.end()
    if kind == "compact":
        assert mortice.Table(path).timeline[-1].action == "commit"
    assert mortice.Table(path).snapshot(columns=rows.schema.names).to_arrow().sort_by("key") == rows


def test_writing_on_spark_is_refused_while_mortice_has_no_such_function(monkeypatch):
    monkeypatch.setattr(mortice._mortice, "debug_build", False, raising=False)
    monkeypatch.delattr("mortice.spark.write", raising=False)
    writer = next(contender for contender in CONTENDERS if contender.name == "mortice.spark.write")
    with pytest.raises(NotSupported, match=r"mortice\.spark\.write"):
        writer.prepare({"kind": "upsert", "rows": "none"})


def recorded(path, points):
    """Writes a record of these points and returns it with its lines."""
    record = Record(path, {"date": "2024-01-01", "commit": "a"})
    for point in points:
        record.add(replace(line("hudi-rs", 1.0), **point.facts))
    return load(path)[1]


def test_a_resumed_record_loses_the_points_that_are_measured_again(tmp_path):
    path, measured_points = tmp_path / "record.csv", list(workloads.points(["planning"], "tiny"))
    lines = recorded(path, measured_points)
    Record.resumed(path, {"date": "2024-01-02", "commit": "b"}, measured_points[-1:])
    head, kept = load(path)
    assert head == {"date": "2024-01-01", "commit": "a", "gone on with, 1": "2024-01-02; b"}
    assert kept == lines[:-1]


def test_a_record_resumed_for_other_points_loses_none(tmp_path):
    path = tmp_path / "record.csv"
    lines = recorded(path, workloads.points(["planning"], "tiny"))
    todo = incomplete_points(workloads.points(["decode"], "tiny"), path)
    assert todo
    Record.resumed(path, {}, todo)
    assert load(path)[1] == lines


def test_only_incomplete_points_of_a_record_are_measured(tmp_path):
    todo = [point for point in workloads.points(["decode", "planning"], "tiny") if point.cores != 1]
    recorded(tmp_path / "record.csv", todo)
    assert incomplete_points(todo, tmp_path / "record.csv") == [todo[-1]]


def test_an_empty_record_measures_all_points(tmp_path):
    todo = workloads.points(["planning"], "tiny")
    recorded(tmp_path / "record.csv", [])
    assert incomplete_points(todo, tmp_path / "record.csv") == todo


@pytest.mark.parametrize(
    ("workload", "warm_ups", "runs"), [("slice", 1, (1, 3)), ("slice", 3, (1, 3)), ("spark", 3, (3, 5))]
)
def test_slow_contenders_have_one_warm_up_and_three_rounds_except_on_spark(
    raced, monkeypatch, workload, warm_ups, runs
):
    calls = []

    def slowly(self, query, times, limit_seconds):
        calls.append(times)
        return {"wall_s": EFFORT.patience_seconds + 1, "cpu_s": 1.0, "peak_bytes": 1, "rows": 3}

    monkeypatch.setattr(FakeProcess, "measured", slowly)
    monkeypatch.setattr(sys.modules[__name__], "EFFORT", replace(EFFORT, rounds=5, warm_ups=warm_ups))
    _, lines = load(raced(FakeContender("mortice API", ROWS), workload=workload))
    done, last = runs
    assert calls == [1] * (1 + done + last), "a cold run, warm-ups, rounds"
    assert [one.round for one in lines if one.state == "warm"] == list(range(1, last + 1))


def test_a_report_is_made_from_a_record_alone(record):
    page = report.write(record).read_text()
    for shown in (
        "a, b: c",
        "cannot: it knows no maps &amp; such",
        "failed: took longer than 60 s",
        "differs: 1 of 3 rows differ",
    ):
        assert shown in page
    assert "| hudi-rs | mortice API | 1.0 | 1.0 |" in "\n".join(report.markdown(record))


def test_plots_are_drawn_if_matplotlib_is_installed(record):
    pytest.importorskip("matplotlib")
    _, lines = load(record)
    assert [path.name for _, path in plots.draw(results(lines), record.with_suffix(""))] == [
        "log-ratio.png",
        "columns.png",
    ]


def line(contender, cpu_s, round_=1, status=OK):
    fields = {"workload": "slice", "table": "t-1.2.0", "kind": "read", "columns": "all", "cores": 1, "metadata": False}
    fields |= {"rows": 1, "fraction": 0.5, "commits": 1, "base_bytes": 1, "log_bytes": 1}
    return Line(
        **fields,
        contender=contender,
        version="1",
        is_limit=False,
        state="warm",
        round=round_,
        status=status,
        cpu_s=cpu_s,
        wall_s=cpu_s,
    )


def test_ratios_are_of_medians_to_the_corresponding_mortice():
    lines = [line("mortice API", cpu_s, at) for at, cpu_s in enumerate((1.0, 9.0, 2.0))]
    lines += [line("hudi-rs", 6.0), line("Hudi 1.2.0 on Spark", 20.0), line("mortice mapInArrow", 4.0)]
    lines += [line("mortice writer", 2.0), line("mortice.spark.write", 5.0), line("Hudi 1.2.0 writer", 30.0)]
    found = ratios(list(results(lines).values()))
    assert found["hudi-rs", "mortice API"] == (3.0, 3.0)
    assert found["Hudi 1.2.0 on Spark", "mortice mapInArrow"] == (5.0, 5.0)
    assert found["Hudi 1.2.0 writer", "mortice writer"] == (15.0, 15.0)
    assert found["Hudi 1.2.0 writer", "mortice.spark.write"] == (6.0, 6.0)


def test_a_contender_that_fails_in_a_later_round_has_no_time():
    (result,) = results([line("hudi-rs", 1.0), line("hudi-rs", 0.0, 2, FAILED), line("hudi-rs", 1.0, 3)]).values()
    assert not result.is_ok
    assert result.reason.startswith("failed")


def test_a_process_runs_queries_and_is_ended(tmp_path):
    written = Written(Table(150), unpack("h11_event_time_deletes", tmp_path))
    api = next(contender for contender in CONTENDERS if contender.name == "mortice API")
    query = workloads.Point("slice", written.table, "read").query(written) | {"columns": ["_hoodie_record_key"]}
    started = process.Process(LocalContender(api), 1)
    try:
        taken = started.measured(query, 2, 60)
        assert taken["rows"] > 0
        assert taken["cpu_s"] > 0
        with pytest.raises(process.Failed, match="no_such"):
            started.ask({"do": "run", "query": query | {"columns": ["no_such"]}, "times": 1}, 60)
    finally:
        started.end()
    with pytest.raises(process.Failed, match="its process ended"):
        started.ask({"do": "start"}, 1)


class LocalContender(FakeContender):
    """A contender in the environment of the tests; the build may be the debug build."""

    def __init__(self, contender):
        super().__init__(contender.name)

    def command(self):
        code = "from mortice import _mortice; _mortice.debug_build = False; from versus.worker import main; main()"
        return [sys.executable, "-c", code, self.name, "1"]


def test_hudi_does_not_read_tables_of_later_releases():
    hudi = {one.name: one for one in CONTENDERS}
    assert "1.2.0" in hudi["Hudi 0.15.0 on Spark"].refuses({"release": "1.2.0"})
    assert not hudi["Hudi 0.15.0 on Spark"].refuses({"release": "0.15.0"})
    assert not hudi["Hudi 1.2.0 on Spark"].refuses({"release": "0.15.0"})


def test_every_contender_and_every_workload_has_queries():
    names = [contender.name for contender in CONTENDERS]
    assert len(set(names)) == len(names)
    for scale in ("tiny", "quick", "whole"):
        kinds = {point.kind for point in workloads.points(workloads.WORKLOADS, scale)}
        assert kinds > set(WRITES)
        for kind in kinds:
            assert [one.name for one in CONTENDERS if kind in one.kinds and not one.is_limit]
        assert all(kinds & set(one.kinds) for one in CONTENDERS)


def test_the_name_of_a_table_contains_all_parameters():
    points = workloads.points(workloads.WORKLOADS, "whole")
    tables = {table for point in points for table in (point.table, *point.prepared)}
    assert len({table.name for table in tables}) == len(tables)


def test_records_of_a_block_are_divided_by_their_lengths():
    content = b"".join(len(one).to_bytes(4, "big") + one for one in (b"abc", b"", b"d"))
    assert list(datums((3).to_bytes(4, "big") * 2 + content)) == [b"abc", b"", b"d"]


def test_python_rows_get_the_types_of_their_avro_schema():
    inner = {"type": "record", "name": "r", "fields": [{"name": "x", "type": ["null", "int"]}]}
    fixed = {"type": "fixed", "name": "f", "size": 5, "logicalType": "decimal", "precision": 11, "scale": 2}
    types = [{"type": "map", "values": ["null", "long"]}, {"type": "array", "items": inner}, ["null", fixed], "string"]
    fields = [{"name": f"c{at}", "type": type_} for at, type_ in enumerate(types)]
    row = {"c0": {"a": 1, "b": None}, "c1": [{"x": 1}], "c2": None, "c3": "s"}
    table = avro_types.table({"type": "record", "name": "t", "fields": fields}, [row])
    assert [str(type_) for type_ in table.schema.types][:1] == ["map<string, int64>"]
    assert table.schema.field("c2").type == pa.decimal128(11, 2)
    assert table.to_pylist()[0] == row | {"c0": [("a", 1), ("b", None)]}
