"""Writers that share no lock, as one that is configured to be the only one beside another: what is committed stays."""

import os
import random
import subprocess
import sys
import threading
from collections import Counter

import pyarrow as pa
import pytest

import mortice
from mortice import WriteConflictError

SCHEMA = pa.schema([("id", pa.string()), ("v", pa.int64()), ("ts", pa.int64())])
SEED = int(os.environ.get("MORTICE_SEED", random.randrange(1 << 32)))


def created(path, kind, version):
    mortice.create_table(path, SCHEMA, name="t", record_key="id", ordering="ts", table_type=kind, version=version)
    return path


def work(path, name, steps, acknowledged, errors):
    """Writes rows, and runs services in between; a key is acknowledged if its write has returned."""
    random_steps = random.Random(f"{SEED}-{name}")
    services = ("clean", "cluster", *(["compact"] if mortice.Table(path).table_type == "MERGE_ON_READ" else []))
    for step in range(steps):
        key = f"{name}-{step}"
        try:
            if random_steps.random() < 0.3:
                getattr(mortice.Table(path), random_steps.choice(services))()
            write = getattr(mortice.Table(path), random_steps.choice(["upsert", "insert", "bulk_insert"]))
            write([{"id": key, "v": step, "ts": step}, {"id": f"{key}-2", "v": step, "ts": step}])
            acknowledged.append(key)
        except mortice.MorticeError as error:
            errors[type(error)] += 1


def check(path, acknowledged):
    rows = {row["id"] for row in mortice.Table(path).to_arrow().to_pylist()}
    assert rows == {key for one in acknowledged for key in (one, f"{one}-2")}
    assert mortice.Table(path, read_options=mortice.ReadOptions(use_metadata=False)).count() == len(rows)
    assert not mortice.Table(path).verify(keys=True).findings


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("kind", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_what_was_acknowledged_stays(tmp_path, kind, version):
    print(f"MORTICE_SEED={SEED}")
    path = created(tmp_path / "t", kind, version)
    acknowledged, errors = [], Counter()
    threads = [threading.Thread(target=work, args=(path, n, 8, acknowledged, errors)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert acknowledged
    assert set(errors) <= {WriteConflictError}, errors
    # What conflicts last is rolled back by the next write.
    work(path, "last", 1, acknowledged, errors)
    check(path, acknowledged)


def test_processes_are_as_threads(tmp_path):
    path = created(tmp_path / "t", "MERGE_ON_READ", 9)
    code = (
        "import sys, mortice\n"
        "for step in range(6):\n"
        "    key = f'{sys.argv[2]}-{step}'\n"
        "    try:\n"
        "        rows = [{'id': one, 'v': 1, 'ts': 1} for one in (key, f'{key}-2')]\n"
        "        mortice.Table(sys.argv[1]).upsert(rows)\n"
        "        print(key, flush=True)\n"
        "    except mortice.WriteConflictError:\n"
        "        pass\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, str(path)]
    writers = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in "abc"]
    outputs = [writer.communicate(timeout=120)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    acknowledged = [key for output in outputs for key in output]
    assert acknowledged
    mortice.Table(path).upsert([{"id": "last", "v": 1, "ts": 1}, {"id": "last-2", "v": 1, "ts": 1}])
    check(path, [*acknowledged, "last"])


def test_retries_get_every_write_in(tmp_path):
    path = created(tmp_path / "t", "MERGE_ON_READ", 9)
    options = {
        "hoodie.write.num.retries.on.conflict.failures": "50",
        "hoodie.write.lock.wait_time_ms_between_retry": "20",
    }

    def upsert(name):
        for step in range(3):
            mortice.Table(path).upsert([{"id": f"{name}-{step}", "v": step, "ts": step}], options)

    threads = [threading.Thread(target=upsert, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mortice.Table(path).count() == 6
