"""Writes without files, disk or memory left: a typed error, nothing half-written is visible, and the next one works."""

import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import os, resource, sys
import mortice
from support.tables.written import CHANGED, FIRST, content, new_table, rows

table = new_table(sys.argv[1], int(sys.argv[2]))
table.upsert(FIRST)
table.upsert(CHANGED)
soft, hard = resource.getrlimit(resource.{kind})
refused = 0
for at in range({values}):
    before = content(table)
    new = rows(("a", "x", 100 + at, 100.0 + at), ("b", "y", 100 + at, 100.0 + at))
    resource.setrlimit(resource.{kind}, ({limit}, hard))
    try:
        table.upsert(new)
        error = None
    except mortice.MorticeError as raised:
        error = raised
    finally:
        resource.setrlimit(resource.{kind}, (soft, hard))
    table = mortice.Table(sys.argv[1])
    if error is None:
        assert ("a", "x", 100 + at, 100.0 + at) in content(table)
        continue
    refused += 1
    assert not isinstance(error, mortice.InternalError), error
    assert isinstance(error, (mortice.StorageError, mortice.TableServiceError)), repr(error)
    is_written = isinstance(error, mortice.TableServiceError)
    assert is_written or content(table) == before, (at, error)
    unlisted = mortice.Table(sys.argv[1], read_options=mortice.ReadOptions(use_metadata=False))
    assert is_written or content(unlisted) == before, (at, error)
table.upsert(rows(("z", "x", 1, 1.0)))
assert ("z", "x", 1, 1.0) in content(table)
assert table.verify().findings == [], table.verify().findings
print(refused)
"""


def run(code, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=200, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_too_many_open_files(tmp_path):
    """Descriptors run out at each step of a write."""
    limit = "len(os.listdir('/proc/self/fd')) - 1 + at"
    refused = run(PRELUDE.format(kind="RLIMIT_NOFILE", values=6, limit=limit), tmp_path / "t", 9)
    assert int(refused) > 2


@pytest.mark.parametrize("version", [6, 9])
def test_a_full_disk(tmp_path, version):
    """Files reach their greatest size, as on a full disk, with each size of a part of a write."""
    limit = "(1, 300, 2_000, 5_000, 9_000)[at]"
    refused = run(PRELUDE.format(kind="RLIMIT_FSIZE", values=5, limit=limit), tmp_path / "t", version)
    assert int(refused) > 2


def test_a_read_without_memory_is_a_typed_error(tmp_path):
    """A large file in an address space that does not hold it."""
    code = """
    import resource, sys, uuid
    import pyarrow as pa
    import mortice

    numbers = range(40)
    rows = pa.table({"id": [str(at) for at in numbers], "b": [uuid.uuid4().bytes * 62_500 for _ in numbers]})
    table = mortice.create_table(sys.argv[1], rows.schema, name="t", record_key="id")
    table.insert(rows, {"hoodie.parquet.compression.codec": "uncompressed", "hoodie.metadata.enable": "false"})
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (16 << 20), -1))
    try:
        for batch in mortice.Table(sys.argv[1], read_options=mortice.ReadOptions(threads=1)).snapshot().to_reader():
            pass
    except (mortice.MorticeError, MemoryError) as error:
        assert not isinstance(error, mortice.InternalError), error
    """
    run(code, tmp_path / "t")
