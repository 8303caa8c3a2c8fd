"""`mortice.spark.erase`: does and proves what `Table.erase` does, and reads in tasks."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
import mortice.spark
from mortice.errors import InvalidArgumentError, TableServiceError, UnsupportedError
from support.tables.written import new_table

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
SCHEMA = pa.schema([("id", pa.string()), ("name", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
ALICE = [("id", "=", "alice-key")]
SECRETS = (b"alice-key", b"Zyzzyva", b"Aardvark")
KINDS = [(9, "MERGE_ON_READ"), (8, "COPY_ON_WRITE"), (6, "MERGE_ON_READ")]


def rows(*given):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, one, strict=True)) for one in given], schema=SCHEMA)


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    table = new_table(tmp_path / "t", *request.param, schema=SCHEMA)
    table.upsert(
        rows(("alice-key", "Zyzzyva", "oslo", 1), ("bob-key", "Bobby", "oslo", 1), ("carl", "Carl", "rome", 1))
    )
    table.upsert(rows(("alice-key", "Aardvark", "oslo", 2), ("bob-key", "Robert", "oslo", 2)))
    return table


def files_with(path, secrets=SECRETS):
    files = [file for file in Path(path).rglob("*") if file.is_file()]
    return [file.name for file in files for secret in secrets if secret in file.read_bytes()]


def test_no_byte_remains_and_the_record_is_that_of_one_process(spark, table, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(table.uri, copy)
    assert files_with(table.uri)
    audit = tmp_path / "audit.json"
    done = mortice.spark.erase(spark, table.uri, ALICE, audit=audit)
    assert files_with(table.uri) == []
    expected = mortice.Table(str(copy)).erase(ALICE)
    assert (done.rows, done.columns, done.savepoints) == (expected.rows, expected.columns, expected.savepoints)
    assert (done.values_searched, len(done.commits)) == (expected.values_searched, len(expected.commits))
    assert done.files_read == sum(file.is_file() for file in Path(table.uri).rglob("*"))
    assert json.loads(audit.read_text())["commits"] == done.commits
    left = mortice.Table(table.uri).snapshot(columns=["id", "name"]).to_arrow().sort_by("id").to_pylist()
    assert left == [{"id": "bob-key", "name": "Robert"}, {"id": "carl", "name": "Carl"}]
    assert mortice.Table(table.uri).verify().findings == []


def test_what_remains_elsewhere_is_named(spark, table):
    stray, other = Path(table.uri, "oslo", "copy.tmp"), Path(table.uri, "oslo", "copy.parquet")
    stray.write_bytes(b"...alice-key...")
    pq.write_table(rows(("x", "Aardvark", "oslo", 1)), other, compression="zstd")
    with pytest.raises(
        TableServiceError, match=r"still in 2 files: oslo/copy.parquet .*; oslo/copy.tmp \(the bytes of"
    ):
        mortice.spark.erase(spark, table.uri, [*ALICE, ("name", "in", ["Aardvark", "nobody"])])
    stray.unlink()
    other.unlink()
    assert mortice.spark.erase(spark, table.uri, ALICE).rows == 0


def test_what_prevents_it_is_refused(spark, table, tmp_path):
    instant = table.timeline.completed[-1].requested_time
    table.savepoint(instant)
    with pytest.raises(UnsupportedError, match=rf"call delete_savepoint\('{instant}'\) first"):
        mortice.spark.erase(spark, table.uri, ALICE)
    table.delete_savepoint(instant)
    with pytest.raises(InvalidArgumentError, match="must select the rows"):
        mortice.spark.erase(spark, table.uri, [])
    with pytest.raises(InvalidArgumentError, match="must not be in the folder of the table"):
        mortice.spark.erase(spark, table.uri, ALICE, audit=Path(table.uri, "audit.json"))
    assert table.snapshot(filters=ALICE).count() == 1
