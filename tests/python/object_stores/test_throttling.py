"""The number of concurrent requests decreases when the store throttles, and increases afterwards."""

import pathlib
import sys
import time

import pytest

import mortice
from support.object_stores.large_table import write_large_table
from support.object_stores.proxy import Fault
from support.object_stores.uploads import upload

ROWS, SLICES = 1000, 24
KEYS = {"access_key_id": "A", "secret_access_key": "B"}


@pytest.fixture(scope="module")
def small_files(moto, bucket, tmp_path_factory):
    """24 base files of one request each."""
    path = write_large_table(tmp_path_factory.mktemp("small"), ROWS, ROWS, SLICES)
    upload(moto, bucket, path, "lake/small_files")
    return f"s3://{bucket}/lake/small_files"


def test_concurrent_requests_are_halved_and_increase_again(small_files, fault_proxy):
    options = {"endpoint": fault_proxy.endpoint, "region": "us-east-1", "max_requests": 12, **KEYS}
    table = mortice.Table(small_files, storage_options=options, read_options=mortice.ReadOptions(threads=24))

    def most_concurrent_requests():
        scan = table.snapshot()
        scan.splits()
        fault_proxy.faults[:] = [Fault("delay", ".parquet", seconds=0.1)]
        fault_proxy.most_running = 0
        assert scan.to_arrow().num_rows == ROWS * SLICES
        return fault_proxy.most_running

    assert most_concurrent_requests() == 12
    fault_proxy.faults[:] = [Fault("status", "hoodie.properties", times=1)]
    mortice.Table(small_files, storage_options=options)
    # It grows by one each second, from 6 on.
    assert most_concurrent_requests() < 12
    deadline = time.monotonic() + 60
    while most_concurrent_requests() < 12:
        assert time.monotonic() < deadline
        time.sleep(0.5)


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize("code", [429, 503])
def test_permanent_throttling_is_an_error_and_leaves_no_thread(small_files, fault_proxy, code):
    limits = {"max_retries": 1, "retry_timeout": "5s", "max_requests": 4}
    options = {"endpoint": fault_proxy.endpoint, "region": "us-east-1", **KEYS, **limits}
    scan = mortice.Table(small_files, storage_options=options, read_options=mortice.ReadOptions(threads=8)).snapshot()
    scan.splits()
    fault_proxy.faults[:] = [Fault("status", ".parquet", code=code)]
    with pytest.raises(mortice.StorageThrottledError, match="throttles requests"):
        scan.to_arrow()
    names = [task.joinpath("comm").read_text() for task in pathlib.Path("/proc/self/task").iterdir()]
    assert not [name for name in names if name.startswith("mortice-read")]
    # The table is read as soon as the store stops throttling.
    fault_proxy.faults.clear()
    assert scan.to_arrow().num_rows == ROWS * SLICES
