"""Rows of a write that take more memory than they may: they are in temporary files, and the write is the same."""

import contextlib
import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import mortice
from support.tables.written import NO_METADATA, SCHEMA, content, new_table
from support.write_memory import ROW_BYTES

# Each batch is written to a file at once.
TIGHT = {"hoodie.memory.merge.max.size": "1"}
DELETED = pa.schema([*SCHEMA, ("_hoodie_is_deleted", pa.bool_())])
TEXT = pa.string()
TYPES = ["MERGE_ON_READ", "COPY_ON_WRITE"]
FEW, MANY = 50_000, 250_000


def drawn(draw, count, keys, text=TEXT):
    """Returns rows of keys that may be there several times, some of them deletes."""
    numbers = [draw.randrange(keys) for _ in range(count)]
    columns = [
        [f"key {number:05}" for number in numbers],
        [f"city {draw.randrange(3)}" if draw.random() < 0.1 else f"city {number % 3}" for number in numbers],
        [draw.randrange(50) for _ in numbers],
        [draw.choice([None, draw.random()]) for _ in numbers],
        [draw.random() < 0.1 for _ in numbers],
    ]
    schema = DELETED.set(0, pa.field("id", text)).set(1, pa.field("city", pa.dictionary(pa.int32(), pa.string())))
    arrays = [
        pa.array(values, field.type.value_type).dictionary_encode()
        if pa.types.is_dictionary(field.type)
        else pa.array(values, field.type)
        for values, field in zip(columns, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def as_stream(rows, draw):
    """Returns rows as a stream of batches of different sizes."""

    def batches():
        start = 0
        while start < rows.num_rows:
            size = draw.choice([1, 7, 300, 5000])
            yield from rows.slice(start, size).combine_chunks().to_batches()
            start += size

    return pa.RecordBatchReader.from_batches(rows.schema, batches())


@pytest.mark.parametrize("table_type", TYPES)
@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_SIMPLE", "BUCKET"])
def test_the_limit_changes_no_row(tmp_path, table_type, index):
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    options = NO_METADATA | {
        "hoodie.index.type": index,
        "hoodie.simple.index.update.partition.path": "true",
        "hoodie.bucket.index.num.buckets": "2",
    }
    contents = []
    spill = tmp_path / "spill"
    for limit in ({}, TIGHT | {"hoodie.memory.spillable.map.path": str(spill)}):
        draw = random.Random(seed)
        table = new_table(tmp_path / f"trips {len(limit)}", table_type=table_type, schema=DELETED)
        chosen = options | limit
        counts = []
        for text in (pa.string(), pa.large_string(), pa.string_view()):
            rows = drawn(draw, 3000, 2000, text)
            commit = table.upsert(as_stream(rows, draw), chosen)
            counts.append((commit.inserts, commit.updates, commit.deletes))
        more = drawn(draw, 500, 4000)
        commit = table.insert(as_stream(more, draw), chosen | {"hoodie.datasource.insert.dup.policy": "drop"})
        counts.append((commit.inserts, commit.updates))
        gone = drawn(draw, 300, 2000).select(["id", "city"])
        counts.append(table.delete(as_stream(gone, draw), chosen).deletes)
        contents.append((counts, content(table)))
    assert contents[0] == contents[1]
    assert len(contents[0][1]) > 1000
    assert not list(spill.iterdir()), "files of the rows have no names"


@pytest.mark.parametrize("operation", ["bulk_insert", "insert_overwrite", "insert"])
def test_the_limit_changes_no_inserted_row(tmp_path, operation):
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    contents = []
    for limit in ({}, TIGHT):
        draw = random.Random(seed)
        table = new_table(tmp_path / f"trips {len(limit)}")
        chosen = (
            NO_METADATA | limit | {"hoodie.combine.before.insert": "true", "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"}
        )
        for _ in range(2):
            rows = drawn(draw, 6000, 4000).select(SCHEMA.names)
            getattr(table, operation)(as_stream(rows, draw), chosen)
        contents.append(content(table))
    assert contents[0] == contents[1]


def test_a_folder_that_rows_cannot_be_written_to_ends_the_write(tmp_path):
    table = new_table(tmp_path / "trips")
    rows = drawn(random.Random(1), 100, 100).select(SCHEMA.names)
    options = NO_METADATA | TIGHT | {"hoodie.memory.spillable.map.path": "/dev/null/none"}
    with pytest.raises(mortice.StorageError, match="/dev/null/none"):
        table.upsert(rows.to_reader(), options)
    assert content(table) == []
    # Rows that the caller has in memory are not written to files.
    names = ["id", "city", "ts", "fare"]
    plain = pa.table([rows[name].cast(SCHEMA.field(name).type) for name in names], schema=SCHEMA)
    assert table.upsert(plain, options | {"hoodie.combine.before.upsert": "false"}).inserts == 100


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Has the processes that this thread starts run on one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def peak(table, rows, operation, options):
    """Returns by how many bytes the anonymous memory of a process grows as it writes a stream of rows."""
    command = [sys.executable, "-m", "support.write_memory", str(table), str(rows), operation, json.dumps(options)]
    tests = str(Path(__file__).parents[2])
    paths = os.pathsep.join([tests, str(Path(mortice.__file__).parents[1])])
    # Each core has a task with buffers of its own; how many of these are full at once depends on what else is running.
    with one_core():
        done = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=True
        )
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured on Linux")
@pytest.mark.parametrize("operation", ["insert", "upsert"])
def test_memory_does_not_grow_with_the_rows_of_a_stream(tmp_path, operation):
    small = {
        "hoodie.memory.merge.max.size": str(2 << 20),
        "hoodie.logfile.data.block.max.size": str(1 << 20),
        "hoodie.parquet.block.size": str(1 << 20),
    }
    peaks: dict[int, list[int]] = {FEW: [], MANY: []}
    # The peak of one run is some megabytes higher or lower, by what threads happen to hold: the least of two counts.
    for run, rows in itertools.product(range(2), peaks):
        table = tmp_path / f"{rows}-{run}"
        if operation == "upsert":
            peak(table, rows, "bulk_insert", small)
        peaks[rows].append(peak(table, rows, operation, small))
    grown = (min(peaks[MANY]) - min(peaks[FEW])) / (MANY - FEW)
    # The keys are in memory, and where each of them goes.
    assert grown < ROW_BYTES / 2, f"{grown:.0f} bytes of each row, peaks {peaks}"
