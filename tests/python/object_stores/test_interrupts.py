"""Ctrl-C interrupts waits for a store that stalls: during opening, planning and reading, with any number of threads."""

import json
import signal
import subprocess
import sys
import time

import pytest

from support.object_stores.proxy import Fault

MOR = "h11_event_time_deletes"
WAITING = """
import json, signal, sys
import mortice

# A process that was begun in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
uri, options, threads = json.loads(sys.argv[1])
try:
    table = mortice.Table(uri, storage_options=options, read_options=mortice.ReadOptions(threads=threads))
    print("opened", flush=True)
    table.snapshot().to_arrow()
    print("read", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("stalled", ["hoodie.properties", "list-type=2", ".parquet", ".log."])
def test_an_interrupt_ends_the_wait_for_a_request_that_stalls(on_s3, fault_proxy, stalled, threads):
    stored = on_s3(MOR, fault_proxy.endpoint)
    fault_proxy.faults[:] = [Fault("stall", stalled)]
    # Only the signal ends the wait.
    options = {**stored.options, "read_timeout": "60s", "timeout": "60s"}
    argument = json.dumps([stored.uri, options, threads])
    command = [sys.executable, "-W", "ignore", "-c", WAITING, argument]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while fault_proxy.stalled == 0:
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=20)
        finally:
            process.kill()
    assert out.splitlines()[-1] == "interrupted"
    assert process.returncode == 0
