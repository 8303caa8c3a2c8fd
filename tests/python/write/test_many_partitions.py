"""Bulk inserts of few rows into many partitions: one file for each, and memory that does not grow with their number."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import mortice

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64())])
MODES = ["NONE", "PARTITION_SORT", "PARTITION_PATH_REPARTITION"]

MEASURED = """
import resource, sys
import pyarrow as pa
import mortice

schema = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64())])
table = mortice.create_table(sys.argv[1], schema, name="t", record_key="id", partition_by="part", ordering="ts")
for count in (120, int(sys.argv[2])):
    parts = [f"p{number:05}" for number in range(count)]
    rows = pa.table([parts, parts, list(range(count))], schema=schema)
    table.bulk_insert(rows, options={"hoodie.bulkinsert.sort.mode": sys.argv[3]})
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def new_table(path):
    return mortice.create_table(path, SCHEMA, name="t", record_key="id", partition_by="part", ordering="ts")


@pytest.mark.parametrize("mode", MODES)
def test_each_partition_gets_one_file_although_few_are_open(tmp_path, mode):
    count = 130
    rows = [(f"k{number:04}", f"p{number % count:03}", number) for number in range(3 * count)]
    random.Random(5).shuffle(rows)
    columns = [list(column) for column in zip(*rows, strict=True)]
    table = new_table(tmp_path)
    # Rows of a partition are in several batches, which are written one after the other.
    batches = pa.table(columns, schema=SCHEMA).to_batches(max_chunksize=100)
    commit = table.bulk_insert(
        pa.RecordBatchReader.from_batches(SCHEMA, batches), options={"hoodie.bulkinsert.sort.mode": mode}
    )
    assert commit.inserts == len(rows)
    stored = mortice.Table(tmp_path).snapshot(columns=SCHEMA.names).to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in stored) == sorted(rows)
    files = [path.parent.name for path in Path(tmp_path).glob("p*/*.parquet")]
    assert sorted(files) == [f"p{number:03}" for number in range(count)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in kB on Linux")
@pytest.mark.parametrize("mode", ["NONE", "PARTITION_SORT"])
def test_an_open_file_takes_less_than_50_kb(tmp_path, mode):
    many = 350
    command = [sys.executable, "-W", "ignore", "-c", MEASURED, str(tmp_path / "t"), str(many), mode]
    paths = {"PYTHONPATH": str(Path(mortice.__file__).parents[1])}
    done = subprocess.run(command, env=os.environ | paths, capture_output=True, text=True, check=True)
    first, second = map(int, done.stdout.split())
    assert (second - first) * 1024 / (many - 120) < 50_000
