"""`mortice create` and `mortice write`, run in a process."""

import contextlib
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
