"""`mortice create` and `mortice write`, run in a process."""

import contextlib
import decimal
import json
import os
import pty
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

import mortice
from mortice.cli import data_files

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())])
COLUMNS = "id string not null, city string, fare double, ts long, paid decimal(10,2), at timestamp"


def command(*arguments, status=0):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "mortice", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


def rows(numbers, fare=1.0):
    return [{"id": f"00{n}", "city": "oslo", "fare": fare, "ts": n} for n in numbers]


def write_file(path, given):
    table = pa.Table.from_pylist(given, schema=SCHEMA)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".arrow":
        feather.write_feather(table, path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in given), encoding="utf-8")
    return path


def rows_of(path):
    return sorted(mortice.Table(path).snapshot(columns=SCHEMA.names).to_arrow().to_pylist(), key=lambda row: row["id"])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "trips"
    arguments = ("--schema", write_file(tmp_path / "first.parquet", []), "--record-key", "id", "--ordering", "ts")
    command("create", path, *arguments, "--partition-by", "city")
    return path


def test_create_describes_the_table(tmp_path):
    path = tmp_path / "rides"
    style = "hoodie.datasource.write.hive_style_partitioning=true"
    arguments = ("--schema", COLUMNS, "--record-key", "id,city", "--table-version", "6", "--property", style)
    done = command("create", path, *arguments, "--table-type", "copy_on_write")
    assert "version 6" in done.stdout
    table = mortice.Table(path)
    assert table.properties["hoodie.table.name"] == "rides"
    assert table.properties["hoodie.table.type"] == "COPY_ON_WRITE"
    assert table.properties["hoodie.datasource.write.hive_style_partitioning"] == "true"
    assert table.record_key_fields == ["id", "city"]
    types = {field.name: field.type for field in table.schema if not field.name.startswith("_")}
    assert types == {
        "id": pa.string(),
        "city": pa.string(),
        "fare": pa.float64(),
        "ts": pa.int64(),
        "paid": pa.decimal128(10, 2),
        "at": pa.timestamp("us", "UTC"),
    }
    stored = json.loads(table.properties["hoodie.table.create.schema"])["fields"]
    assert [isinstance(field["type"], list) for field in stored] == [False, True, True, True, True, True]
    assert (
        "MORTICE-ALREADY-EXISTS" in command("create", path, "--schema", COLUMNS, "--record-key", "id", status=73).stderr
    )


@pytest.mark.parametrize("ending", ["parquet", "csv", "json", "arrow"])
def test_files_of_each_format_are_written(table, tmp_path, ending):
    """Keys like 001 stay strings in CSV: the table's types are those of its columns."""
    done = command("write", table, write_file(tmp_path / f"one.{ending}", rows(range(5))), "--operation", "upsert")
    assert "5 inserted" in done.stdout
    data = write_file(tmp_path / f"two.{ending}", rows([4, 5], 2.0))
    done = command("write", table, data, "--operation", "upsert", "--option", "hoodie.index.type=BLOOM", "--json")
    document = json.loads(done.stdout)
    assert (document["operation"], document["inserts"], document["updates"]) == ("UPSERT", 1, 1)
    assert rows_of(table) == [*rows(range(4)), *rows([4, 5], 2.0)]
    command("write", table, data, "--operation", "delete")
    assert rows_of(table) == rows(range(4))


def test_a_bulk_insert_of_several_files(table, tmp_path):
    files = [write_file(tmp_path / f"{n}.parquet", rows(range(2 * n, 2 * n + 2))) for n in range(3)]
    command("write", table, *files, "--operation", "bulk_insert")
    assert rows_of(table) == rows(range(6))
    assert len(mortice.Table(table).timeline.completed) == 1


def test_errors_name_the_file_or_the_argument(table, tmp_path):
    good = write_file(tmp_path / "good.parquet", rows([1]))
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"no parquet")
    for arguments, status, message in (
        ((table, bad, "--operation", "upsert"), 2, "bad.parquet"),
        ((table, tmp_path / "none.csv", "--operation", "upsert"), 2, "none.csv"),
        ((table, tmp_path / "rows.txt", "--operation", "upsert"), 2, "must end with .parquet"),
        ((table, good, write_file(tmp_path / "x.csv", rows([1])), "--operation", "upsert"), 2, "one format"),
        ((table, good, "--operation", "merge"), 2, "'merge' is not one of"),
        ((table, good, "--operation", "upsert", "--option", "x"), 2, "NAME=VALUE"),
        ((table, good, "--operation", "upsert", "--option", "hoodie.idnex.type=BLOOM"), 2, "did you mean"),
        ((tmp_path / "nothing", good, "--operation", "upsert"), 66, "MORTICE-NOT-FOUND"),
    ):
        assert message in command("write", *arguments, status=status).stderr
    for schema in ("id", "id words", "id decimal(99,1)"):
        done = command("create", tmp_path / "new", "--schema", schema, "--record-key", "id", status=2)
        assert "--schema" in done.stderr
    assert not (tmp_path / "new").exists()
    assert len(mortice.Table(table).timeline) == 0


def test_progress_is_shown_at_a_terminal_only(table, tmp_path):
    data = write_file(tmp_path / "many.parquet", rows(range(1000)))
    assert command("write", table, data, "--operation", "upsert").stderr == ""
    terminal, end = pty.openpty()
    arguments = [sys.executable, "-W", "ignore", "-m", "mortice", "write", table, data, "--operation", "upsert"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=end) as running:
        os.close(end)
        written = b""
        # When the other end is closed, Linux reports an error instead of end of file.
        with contextlib.suppress(OSError):
            while some := os.read(terminal, 65_536):
                written += some
        os.close(terminal)
    assert running.returncode == 0
    assert b"[" + b"#" * 30 + b"] 1,000 of 1,000 rows" in written
    assert written.endswith(b"\r\x1b[K")


def write_json(path, *documents):
    path.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    return path


@pytest.fixture
def types_table(tmp_path):
    inner = pa.struct([("a", pa.int64()), ("d", pa.date32())])
    times = [("ts", pa.timestamp("us")), ("tz", pa.timestamp("us", "UTC"))]
    columns = [("id", pa.string()), ("d", pa.date32()), *times, ("s", inner), ("l", pa.list_(pa.date32()))]
    mortice.create_table(tmp_path / "types", pa.schema(columns), name="t", record_key="id")
    return tmp_path / "types"


FILLED = ("--operation", "upsert", "--option", "hoodie.write.set.null.for.missing.columns=true")


def test_dates_and_times_of_json(tmp_path, types_table):
    document = {"id": "a", "d": "2024-01-02", "ts": "2024-01-02 03:04:05.5", "tz": "2024-01-02T03:04:05+02:00"}
    given = write_json(tmp_path / "a.json", document | {"s": {"a": 1, "d": "2024-01-03"}, "l": ["2024-01-04"]})
    command("write", types_table, given, *FILLED)
    shown = json.loads(command("read", types_table, "--json").stdout)
    assert shown == {
        "id": "a",
        "d": "2024-01-02",
        "ts": "2024-01-02T03:04:05.500000",
        "tz": "2024-01-02T01:04:05+00:00",
        "s": {"a": 1, "d": "2024-01-03"},
        "l": ["2024-01-04"],
    }


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"ts": "2024-01-02T03:04:05+02:00"}, "expected no zone offset"),
        ({"tz": "2024-01-02T03:04:05"}, "expected a zone offset"),
        ({"d": "2024-01-02T03:04:05"}, "2024-01-02T03:04:05"),
        ({"s": {"a": 1, "b": 2}}, "unexpected field"),
        ({"s": {"a": 1.5}}, "1.5"),
        ({"ts": "2024-01-02 03:04:05.1234567"}, "1234567"),
    ],
)
def test_what_a_column_does_not_hold_is_an_error_that_names_the_file(tmp_path, types_table, document, says):
    given = write_json(tmp_path / "a.json", {"id": "a"} | document)
    error = command("write", types_table, given, *FILLED, status=2).stderr
    assert says in error
    assert str(given) in error


def test_columns_of_json_may_come_late(tmp_path, monkeypatch):
    monkeypatch.setattr(data_files, "_PIECE", 64)
    documents = [{"id": str(n), "pad": "x" * n} for n in range(100)]
    given = write_json(tmp_path / "a.json", *documents, {"id": "b", "late": 1}, {"id": "c", "late": 1.5})
    rows = data_files.JsonLines([str(given)], None)
    assert rows.schema.field("late").type == pa.float64()
    assert rows.to_reader().read_all()["late"].to_pylist() == [None] * 100 + [1.0, 1.5]
    known = data_files.JsonLines([str(given)], pa.schema([("late", pa.decimal128(5, 1))]))
    assert known.to_reader().read_all().to_pylist()[-1] == {"id": "c", "pad": None, "late": decimal.Decimal("1.5")}


def test_a_column_that_comes_late_is_not_left_out(tmp_path, table):
    documents = [{"id": str(n), "city": "oslo", "fare": 1.0, "ts": n, "pad": "x" * 100} for n in range(20_000)]
    given = write_json(tmp_path / "a.json", *documents, documents[0] | {"late": 1})
    error = command("write", table, given, "--operation", "upsert", status=2).stderr
    assert '"late"' in error or '"pad"' in error
    command("write", table, given, "--operation", "upsert", "--columns", "add")
    assert "late" in mortice.Table(table).schema.names


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
def test_files_of_different_columns_are_refused(tmp_path, table, suffix):
    one = write_file(tmp_path / f"one{suffix}", rows([1]))
    other = tmp_path / f"other{suffix}"
    more = pa.table({"id": ["2"], "city": ["oslo"], "fare": [1.0], "ts": [2], "tip": [5]})
    {".parquet": pq.write_table, ".csv": csv.write_csv, ".arrow": feather.write_feather}[suffix](more, other)
    for order in ((one, other), (other, one)):
        error = command("write", table, *order, "--operation", "upsert", status=2).stderr
        assert "has the column 'tip'" in error
        assert str(one) in error
    assert mortice.Table(table).count() == 0


def test_files_of_different_types_are_refused(tmp_path, table):
    one = write_file(tmp_path / "one.parquet", rows([1]))
    narrow = pa.Table.from_pylist(rows([2])).cast(SCHEMA.set(2, pa.field("fare", pa.float32())))
    pq.write_table(narrow, tmp_path / "two.parquet")
    error = command("write", table, one, tmp_path / "two.parquet", "--operation", "upsert", status=2).stderr
    assert "'fare' is float" in error
