"""`Table.erase`: no byte of a row remains, and what prevents that is refused by name."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import mortice
from mortice.errors import InvalidArgumentError, TableServiceError, UnsupportedError

SCHEMA = pa.schema([("id", pa.string()), ("name", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
ALICE = [("id", "=", "alice-key")]
SECRETS = (b"alice-key", b"Zyzzyva", b"Aardvark")
KINDS = [("MERGE_ON_READ", 9), ("COPY_ON_WRITE", 8), ("MERGE_ON_READ", 6)]


def rows(*given):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, one, strict=True)) for one in given], schema=SCHEMA)


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0][:3]}-{kind[1]}")
def table(request, tmp_path):
    table_type, version = request.param
    table = mortice.create_table(
        tmp_path / "t",
        SCHEMA,
        name="t",
        record_key="id",
        partition_by="city",
        ordering="ts",
        table_type=table_type,
        version=version,
    )
    table.upsert(
        rows(("alice-key", "Zyzzyva", "oslo", 1), ("bob-key", "Bobby", "oslo", 1), ("carl", "Carl", "rome", 1))
    )
    table.upsert(rows(("alice-key", "Aardvark", "oslo", 2), ("bob-key", "Robert", "oslo", 2)))
    return table


def files_of(table):
    return [path for path in Path(table.uri).rglob("*") if path.is_file()]


def files_with(table, secrets=SECRETS):
    return [path.name for path in files_of(table) for secret in secrets if secret in path.read_bytes()]


def test_no_byte_remains_and_other_rows_stay(table, tmp_path):
    assert files_with(table)
    assert table.plan_erase(ALICE).rows == 1
    assert files_with(table)
    audit = tmp_path / "audit.json"
    done = table.erase(ALICE, audit=audit)
    assert files_with(table) == []
    assert (done.rows, done.columns, done.savepoints) == (1, ["id"], {})
    # The record key, which is the constant of the filter as well, and the name.
    assert done.values_searched >= 2
    assert done.files_read == len(files_of(table))
    record = json.loads(audit.read_text())
    assert (record["rows"], record["commits"]) == (1, done.commits)
    assert not any(secret.decode() in audit.read_text() for secret in SECRETS)
    left = table.snapshot(columns=["id", "name"]).to_arrow().sort_by("id").to_pylist()
    assert left == [{"id": "bob-key", "name": "Robert"}, {"id": "carl", "name": "Carl"}]
    # Statistics are there again, and without it.
    assert table.verify().findings == []
    # Rows that were deleted before are erased, too.
    table.delete(pa.table({"id": ["bob-key"], "city": ["oslo"]}))
    assert files_with(table, [b"bob-key"])
    assert table.erase([("id", "=", "bob-key")]).rows == 0
    assert files_with(table, [b"bob-key"]) == []


def test_a_savepoint_with_the_rows_prevents_it(table):
    instant = table.timeline.completed[-1].requested_time
    table.savepoint(instant)
    assert table.plan_erase(ALICE).savepoints == {instant: 1}
    with pytest.raises(UnsupportedError, match=rf"call delete_savepoint\('{instant}'\) first"):
        table.erase(ALICE)
    assert table.snapshot(filters=ALICE).count() == 1
    table.delete_savepoint(instant)
    table.erase(ALICE)
    assert files_with(table) == []


def test_what_remains_elsewhere_is_named(table):
    stray = Path(table.uri, "oslo", "copy.tmp")
    stray.write_bytes(b"...alice-key...")
    with pytest.raises(TableServiceError, match=r"still in 1 files: oslo/copy.tmp \(the bytes of 1 values\)"):
        table.erase(ALICE)
    stray.unlink()
    assert table.erase(ALICE).rows == 0
    with pytest.raises(InvalidArgumentError, match="must select the rows"):
        table.erase([])
    with pytest.raises(InvalidArgumentError, match="must not be in the folder of the table"):
        table.erase(ALICE, audit=Path(table.uri, "audit.json"))
