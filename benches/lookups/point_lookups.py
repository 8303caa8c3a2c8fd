"""Point lookups by the record index and by a secondary index: wall time, and requests to an object store.

    PYTHONPATH=python python benches/lookups/point_lookups.py [--rows N] [--groups N] [--keys N] [--rounds N] [--s3]

A copy-on-write table of N rows in so many file groups is written, with a record index and a secondary index. Keys are
looked up that are all in one file group, and keys of as many file groups as there are keys. `cold` opens the table and
plans and reads the query in a new process, `warm` repeats the query in it: the median of the rounds. Requests are those
of the cold query, to plan it (with opening the table) and to read its rows; `--s3` counts them at a server of S3 (moto)
that has a copy of the table.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

KEYS = {"region": "us-east-1", "access_key_id": "A", "secret_access_key": "B"}
INDEX = "secondary_index_by_code"
LOOK_UP = """
import json, statistics, sys, time
import mortice
uri, options, filters, rounds, expected = json.loads(sys.argv[1])
began = time.perf_counter()
table = mortice.Table(uri, storage_options=options)
filters = [tuple(term) for term in filters]
scan = table.snapshot(columns=["id", "code"], filters=filters)
scan.splits()
planned = time.perf_counter() - began
rows = scan.to_arrow().num_rows
cold = time.perf_counter() - began
assert rows == expected, (rows, expected)
times = []
for _ in range(rounds):
    began = time.perf_counter()
    table.snapshot(columns=["id", "code"], filters=filters).to_arrow()
    times.append(time.perf_counter() - began)
used = next((line.strip() for line in scan.explain().splitlines() if "file groups" in line), "no index")
print(json.dumps([cold, planned, statistics.median(times or [0]), used, table.storage_requests]))
"""


def key(number):
    """Keys that are not in the order of the rows, as those of most tables."""
    return f"{number * 2_654_435_761 % (1 << 32):08x}-{number:08x}"


def rows(first, count):
    """The rows of a table, beginning with this one."""
    numbers = range(first, first + count)
    columns = {
        "id": [key(number) for number in numbers],
        "code": [f"code-{number}" for number in numbers],
        "amount": [number * 0.5 for number in numbers],
        "ts": list(numbers),
    }
    return pa.table(columns)


def write(path, count, groups):
    """Writes the table, and its indexes."""
    import mortice

    each = count // groups
    schema = rows(0, 1).schema
    table = mortice.create_table(path, schema, name="lookups", record_key="id", table_type="COPY_ON_WRITE")
    batches = (batch for at in range(groups) for batch in rows(at * each, each).to_batches())
    options = {
        "hoodie.copyonwrite.insert.auto.split": "false",
        "hoodie.copyonwrite.insert.split.size": str(each),
        "hoodie.parquet.small.file.limit": "0",
    }
    table.insert(pa.RecordBatchReader.from_batches(schema, batches), options)
    table.build_metadata(add=["record_index", f"{INDEX}(code)"])
    return len(mortice.Table(path).snapshot().splits())


def looked_up(uri, options, filters, rounds, expected):
    """What a process that looks rows up has measured."""
    argument = json.dumps([str(uri), options, filters, rounds, expected])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOOK_UP, argument], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def measure(uri, options, given, requests=None):
    """Prints a line for each index and for each spread of the keys."""
    each = given.rows // given.groups
    for column, name in (("id", "record index"), ("code", "secondary index")):
        for groups in (1, min(given.keys, given.groups)):
            step = 1 if groups == 1 else each
            numbers = [(number * step) % (each * given.groups) for number in range(min(given.keys, each * groups))]
            values = [key(number) if column == "id" else f"code-{number}" for number in numbers]
            if requests is not None:
                requests.clear()
            rounds = given.rounds if requests is None else 0
            cold, planned, warm, used, counted = looked_up(uri, options, [(column, "in", values)], rounds, len(values))
            figures = f"{warm:.3f} s | {cold:.3f} s | {planned:.3f} s" if requests is None else f"{len(requests)}"
            print(f"| {name} | {groups} | {figures} | {used} | {counted} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--s3", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "table"
        print(f"{write(path, given.rows, given.groups)} file groups", flush=True)
        print("| index | groups of the keys | warm | cold | planned | used | planning's requests |")
        print("|---|---|---|---|---|---|---|")
        measure(path, None, given)
        if given.s3:
            from support.object_stores import proxy, servers
            from support.object_stores.uploads import new_bucket, upload

            print("| index | groups of the keys | requests at the server | used | planning's requests |")
            print("|---|---|---|---|---|")
            with servers.moto(Path(made)) as moto, proxy.proxy(moto) as counted:
                bucket = new_bucket(moto)
                upload(moto, bucket, path, "table")
                measure(f"s3://{bucket}/table", {"endpoint": counted.endpoint, **KEYS}, given, counted.requests)


if __name__ == "__main__":
    main()
