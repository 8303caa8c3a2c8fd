"""A snapshot over S3 with added latency, compared with hudi-rs: 20 file slices, each a base file with two log files.

    PYTHONPATH=python python benches/latency/bench_latency.py [--slices N] [--rounds N] [--latency-ms N] [--hudi-rs EXE]

Starts moto and a proxy that delays each request. Every round opens the table and reads it. Each contender runs in a
separate process, once without and once with the latency. `--hudi-rs` is a Python with the packages `hudi` and
`pyarrow`; without it only mortice is measured. Wall time, minimum and median of the rounds.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.object_stores import proxy, servers  # noqa: E402
from support.object_stores.uploads import new_bucket, upload  # noqa: E402
from support.oracle import DataBlock, Field, Merging  # noqa: E402
from support.tables.table_writer import Partitioning, Slice, with_meta, write_partitions  # noqa: E402

FIELDS = (Field("id", "string"), Field("part", "string"), Field("text", "string"), Field("ts", "long"))
KEYS = {"region": "us-east-1", "access_key_id": "A", "secret_access_key": "B"}
ROWS = 1000
MORTICE = """
import json, sys, time
import mortice
uri, options, rounds = json.loads(sys.argv[1])
times = []
for _ in range(rounds):
    began = time.perf_counter()
    rows = mortice.Table(uri, storage_options=options).snapshot().to_arrow().num_rows
    times.append(time.perf_counter() - began)
print(json.dumps([rows, times]))
"""
HUDI_RS = """
import json, sys, time
import pyarrow as pa
from hudi import HudiTableBuilder
uri, options, rounds = json.loads(sys.argv[1])
options = {"aws_" + name: value for name, value in options.items()} | {"aws_allow_http": "true"}
times = []
for _ in range(rounds):
    began = time.perf_counter()
    table = HudiTableBuilder.from_base_uri(uri).with_options(options).build()
    batches = table.read_snapshot() if hasattr(table, "read_snapshot") else table.read()
    rows = sum(batch.num_rows for batch in batches)
    times.append(time.perf_counter() - began)
print(json.dumps([rows, times]))
"""


def write(folder, slices):
    """Writes a table with this number of partitions, of one file slice each; each of two log files updates half of its
    keys."""

    def row(partition, number, commit):
        key = f"{partition}-{number:05}"
        return with_meta(
            {"id": key, "part": partition, "text": f"{commit}" * 50, "ts": commit}, key, commit, number, partition
        )

    def slice_of(partition):
        blocks = [DataBlock(tuple(row(partition, number, commit) for number in range(0, ROWS, 2))) for commit in (1, 2)]
        return Slice(tuple(row(partition, number, 0) for number in range(ROWS)), tuple((block,) for block in blocks))

    partitions = [f"p{number:02}" for number in range(slices)]
    partitioning = Partitioning(("part",), "SIMPLE")
    table = {partition: slice_of(partition) for partition in partitions}
    return write_partitions(folder, Merging(FIELDS, ordering=("ts",)), 6, table, partitioning)


def timed(python, code, argument):
    done = subprocess.run(
        [python, "-W", "ignore", "-c", code, json.dumps(argument)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slices", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency-ms", type=float, default=50)
    parser.add_argument("--hudi-rs", metavar="PYTHON")
    given = parser.parse_args()
    contenders = {"mortice": (sys.executable, MORTICE)}
    if given.hudi_rs:
        contenders["hudi-rs"] = (given.hudi_rs, HUDI_RS)
    print("| contender | latency | minimum | median | requests per round | ratio to none |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with servers.moto(folder) as moto, proxy.proxy(moto) as delayed:
            bucket = new_bucket(moto)
            upload(moto, bucket, write(folder / "table", given.slices), "table")
            argument = [f"s3://{bucket}/table", {"endpoint": delayed.endpoint, **KEYS}, given.rounds]
            for name, (python, code) in contenders.items():
                without = None
                for milliseconds in (0, given.latency_ms):
                    delayed.faults[:] = [proxy.Fault("delay", seconds=milliseconds / 1000)] if milliseconds else []
                    delayed.requests.clear()
                    rows, times = timed(python, code, argument)
                    assert rows == ROWS * given.slices, (name, rows)
                    middle = statistics.median(times)
                    without = without or middle
                    requests = len(delayed.requests) / given.rounds
                    figures = f"{min(times):.2f} s | {middle:.2f} s | {requests:.0f} | {middle / without:.1f}"
                    print(f"| {name} | {milliseconds:.0f} ms | {figures} |", flush=True)


if __name__ == "__main__":
    main()
