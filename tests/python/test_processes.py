"""Reads under an address-space limit, after a fork, and with other Python threads."""

import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import pytest

import mortice
from support.cases import assert_same_result, hudi_result
from support.tables.log_writer import AVRO_DATA_BLOCK, INSTANT_TIME, SCHEMA, avro_block, frame
from support.tables.written import NO_METADATA, NO_SMALL_FILES, content, new_table, rows

NAME = "h11_event_time_deletes"


@pytest.mark.parametrize("mmap", [True, False])
def test_rows_do_not_depend_on_mmap(table_of, mmap):
    table = mortice.Table(table_of(NAME), read_options=mortice.ReadOptions(mmap=mmap))
    assert_same_result(hudi_result(NAME), table.snapshot().to_arrow())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS is Linux's")
def test_a_file_too_large_to_map_is_read_in_windows(tmp_path):
    """PySpark's workers run under RLIMIT_AS. Here it is smaller than the first block, a hole of 1.5 GiB."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "k", "type": "string"}]}
    path = tmp_path / ".x_001.log.1_0-0-0"
    hole = 3 << 29
    before, after = frame(AVRO_DATA_BLOCK, {INSTANT_TIME: "001", SCHEMA: json.dumps(schema)}, hole)
    with path.open("wb") as file:
        file.write(before)
        file.seek(hole, os.SEEK_CUR)
        file.write(after + avro_block(schema, [{"k": "found"}], "002"))
    code = f"""
import resource, pyarrow.parquet, mortice
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), used + (256 << 20)))
log = mortice.LogFile({str(path)!r})
blocks = list(log.blocks())
print(len(blocks), log.records(blocks[1]).to_pylist()[0]["k"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout.split(), done.stderr) == (["2", "found"], "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS is Linux's")
def test_a_table_is_read_within_a_small_address_space(table_of):
    code = f"""
import resource
import pyarrow.parquet, mortice
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (96 << 20), used + (96 << 20)))
options = mortice.ReadOptions(threads=1)
print(mortice.Table({str(table_of(NAME))!r}, read_options=options).snapshot().to_arrow().num_rows)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout.split(), done.stderr) == ([str(hudi_result(NAME).num_rows)], "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_forked_child_reads_after_its_parent(table_of):
    """As in Spark's daemon: it imports, may read, and forks its workers."""
    table = mortice.Table(table_of(NAME), read_options=mortice.ReadOptions(threads=2))
    scan = table.snapshot()
    assert scan.count() == hudi_result(NAME).num_rows
    context = multiprocessing.get_context("fork")
    results = context.Queue()

    def child():
        results.put(
            (scan.to_arrow().num_rows, table.read_optimized().count(), mortice.Table(table.uri).snapshot().count())
        )

    process = context.Process(target=child)
    process.start()
    counts = results.get(timeout=60)
    process.join(timeout=60)
    assert process.exitcode == 0
    assert counts == (
        hudi_result(NAME).num_rows,
        hudi_result(NAME, "read_optimized").num_rows,
        hudi_result(NAME).num_rows,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_forked_children_create_different_file_groups(tmp_path, operation):
    """If they inherited the state of a random number generator, a later row would replace the earlier ones."""
    keys = [f"k{number}" for number in range(8)]
    table = new_table(tmp_path / "trips", 9, "COPY_ON_WRITE")
    assert table.snapshot().count() == 0
    context = multiprocessing.get_context("fork")

    def child(key):
        getattr(mortice.Table(table.uri), operation)(rows((key, "x", 1, 1.0)), NO_METADATA | NO_SMALL_FILES)

    for key in keys:
        process = context.Process(target=child, args=(key,))
        process.start()
        process.join(timeout=60)
        assert process.exitcode == 0
    names = [path.name for path in (tmp_path / "trips" / "x").glob("*.parquet")]
    assert len({name.split("_")[0] for name in names}) == len(keys)
    assert [row[0] for row in content(mortice.Table(table.uri))] == keys


def test_other_python_threads_run_during_a_read(tmp_path):
    """One long call of the native module, while a thread counts. It could not count if the GIL were held."""
    schema = {"type": "record", "name": "r", "fields": [{"name": f"c{i}", "type": "string"} for i in range(8)]}
    record = {f"c{i}": "some text of a few words " * 4 for i in range(8)}
    path = tmp_path / ".x_001.log.1_0-0-0"
    path.write_bytes(avro_block(schema, [record] * 20_000, "001"))
    log = mortice.LogFile(path)
    (block,) = log.blocks()
    counted, started, stopped = 0, threading.Event(), threading.Event()

    def count():
        nonlocal counted
        while not stopped.is_set():
            counted += 1
            started.set()
            time.sleep(0)

    # Threads switch only where one releases the GIL: otherwise time slices would let the counter run while it is held.
    interval = sys.getswitchinterval()
    counter = threading.Thread(target=count)
    counter.start()
    try:
        started.wait()
        sys.setswitchinterval(60)
        before = counted
        assert log.records(block).num_rows == 20_000
        after = counted
    finally:
        sys.setswitchinterval(interval)
        stopped.set()
        counter.join()
    assert after > before


def test_many_threads_can_read_one_table(table_of):
    table = mortice.Table(table_of(NAME))
    found = []

    def read():
        found.append(table.snapshot().to_arrow().num_rows)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [hudi_result(NAME).num_rows] * 8


def test_no_thread_outlives_a_read(table_of):
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("counts threads by /proc")
    code = f"""
import os, pyarrow.parquet, mortice
table = mortice.Table({str(table_of(NAME))!r}, read_options=mortice.ReadOptions(threads=4))
before = set(os.listdir("/proc/self/task"))
stream = table._native.snapshot(None, None, None, True, False).scan().stream()
rows = sum(batch.num_rows for batch in stream)
stream.close()
print(rows, len(set(os.listdir("/proc/self/task")) - before))
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert output.split() == [str(hudi_result(NAME).num_rows), "0"]
