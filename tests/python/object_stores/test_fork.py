"""Object stores after a fork: a child does not use connections and threads of its parent."""

import multiprocessing
import os
import signal
import sys
import threading
import time

import pytest

import mortice
from mortice import _mortice
from support.cases import hudi_result

needs_hdfs = pytest.mark.skipif(not _mortice.has_hdfs, reason="built without HDFS: maturin develop --features hdfs")
MOR = "h11_event_time_deletes"
SECONDS = 60

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="forks are Linux's default"),
    # The test is about threads during a fork.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def _rows(table):
    return table.snapshot().to_arrow().num_rows


def _in_child(work):
    """Runs work in a forked child, which is killed at its deadline; returns its exit status."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


def _marked(name, *reasons):
    return pytest.param(name, marks=[pytest.mark.object_stores, *reasons])


@pytest.fixture(params=["on_s3", _marked("on_azure"), _marked("on_hdfs", needs_hdfs)])
def stored(request):
    return request.getfixturevalue(request.param)(MOR)


@pytest.fixture
def table(stored):
    return mortice.Table(stored.uri, storage_options=stored.options)


def test_a_table_that_the_parent_has_read_is_read_in_a_child(table):
    rows = hudi_result(MOR).num_rows
    assert _rows(table) == rows
    assert _in_child(lambda: _rows(table) == rows) == 0
    # The parent's connections still work.
    assert _rows(table) == rows


def test_a_child_opens_a_table(table, stored):
    rows = hudi_result(MOR).num_rows
    assert _rows(table) == rows
    assert _in_child(lambda: _rows(mortice.Table(stored.uri, storage_options=stored.options)) == rows) == 0


def test_a_child_of_a_child(table):
    rows = hudi_result(MOR).num_rows
    assert _rows(table) == rows
    assert _in_child(lambda: _rows(table) == rows and _in_child(lambda: _rows(table) == rows) == 0) == 0


def test_the_parents_stream_is_not_affected_by_a_child(table):
    reader = table.snapshot().to_reader()
    first = reader.read_next_batch().num_rows
    rows = hudi_result(MOR).num_rows
    assert _in_child(lambda: _rows(table) == rows) == 0
    assert first + sum(batch.num_rows for batch in reader) == rows


def _count(split):
    return sum(batch.num_rows for batch in split.to_reader())


def test_a_pool_of_forked_processes_reads_splits(table):
    scan = table.snapshot()
    assert _rows(table) == hudi_result(MOR).num_rows
    with multiprocessing.get_context("fork").Pool(2) as pool:
        counts = pool.map_async(_count, list(scan.splits())).get(SECONDS)
    assert sum(counts) == hudi_result(MOR).num_rows


def test_many_children_while_the_parent_reads(table):
    """A child never uses connections of the parent, idle or not."""
    rows = hudi_result(MOR).num_rows
    for _ in range(5):
        assert _rows(table) == rows
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if all(_rows(table) == rows for _ in range(3)) else 1)
            finally:
                os._exit(2)
        assert [_rows(table) for _ in range(3)] == [rows] * 3
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_children_forked_while_other_threads_read(table, on_s3):
    rows, stored, done = hudi_result(MOR).num_rows, on_s3(MOR), threading.Event()

    def keep_reading():
        while not done.is_set():
            mortice.Table(
                stored.uri, storage_options=stored.options, read_options=mortice.ReadOptions(threads=2)
            ).snapshot().to_arrow()

    readers = [threading.Thread(target=keep_reading) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(15):
            assert _in_child(lambda: _rows(table) == rows) == 0
            assert _in_child(lambda: _rows(mortice.Table(stored.uri, storage_options=stored.options)) == rows) == 0
    finally:
        done.set()
        for reader in readers:
            reader.join(SECONDS)


def test_a_child_calls_the_credential_function_itself(on_s3, clock):
    rows, stored = hudi_result(MOR).num_rows, on_s3(MOR)
    processes = []

    def credentials():
        processes.append(os.getpid())
        return {"access_key_id": "A", "secret_access_key": "B", "expires_at": time.time() + 200}

    options = {"endpoint": stored.endpoint, "credentials": credentials}
    clock.ahead = -1000
    table = mortice.Table(stored.uri, storage_options=options)
    assert _rows(table) == rows
    # The first ones are due now.
    clock.ahead = 0
    assert _in_child(lambda: _rows(table) == rows and processes[-1] == os.getpid()) == 0
    assert _rows(table) == rows
