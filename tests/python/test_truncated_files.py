"""Files that are truncated while they are read: a typed error or the right rows, and never the end of the process."""

import subprocess
import sys
import textwrap

import pytest

READ = """
import os, pathlib, sys, uuid
import pyarrow as pa
import mortice

uri, pattern, left = sys.argv[1], sys.argv[2], float(sys.argv[3])
table = mortice.Table(uri, read_options=mortice.ReadOptions(threads=1, batch_rows=100))
batches = iter(table.snapshot().to_reader())
rows = next(batches).num_rows
for path in pathlib.Path(uri).rglob(pattern):
    os.truncate(path, int(path.stat().st_size * left))
try:
    for batch in batches:
        for column in batch.columns:
            column.validate(full=True)
        rows += batch.num_rows
except mortice.MorticeError as error:
    assert not isinstance(error, mortice.InternalError), error
    print(type(error).__name__)
else:
    assert rows == 3_000, rows
    print("rows")
"""
WRITE = """
import sys, uuid
import pyarrow as pa
import mortice

ids = pa.array([f"{number:08}" for number in range(3_000)])
rows = lambda: pa.table({"id": ids, "text": pa.array([uuid.uuid4().hex * 16 for _ in range(3_000)])})
table = mortice.create_table(sys.argv[1], rows().schema, name="t", record_key="id", table_type="MERGE_ON_READ")
options = {"hoodie.metadata.enable": "false", "hoodie.parquet.compression.codec": "uncompressed"}
table.insert(rows(), options)
table.upsert(rows(), options)
"""


def run(code, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=200)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout.strip()


@pytest.mark.parametrize(("pattern", "left"), [("*.parquet", 0), (".*.log.*", 0.5)])
def test_a_truncated_file_does_not_end_the_process(tmp_path, pattern, left):
    run(WRITE, tmp_path / "t")
    sizes = [path.stat().st_size for path in (tmp_path / "t").rglob(pattern)]
    assert sizes
    # Smaller files are never mapped.
    assert min(sizes) > 1 << 20
    assert run(READ, tmp_path / "t", pattern, left) in {
        "FileChangedError",
        "CorruptLogError",
        "InvalidTableError",
        "rows",
    }
