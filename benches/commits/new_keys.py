"""The cost of comparing new keys at a commit: alone, beside other writers, and beside inserts of others.

    python benches/commits/new_keys.py [--rows N] [--others N] [--repeats N] [--type TYPE]

Each commit upserts `--rows` new keys into a table that has as many. Cases:

    one writer    no lock, nothing is compared
    alone         several writers are possible, nobody else writes
    beside        another process has inserted `--others` keys into the same partition since the commit began

The other process begins once the instant of the commit is requested; a commit that is completed before the other one is
repeated. Prints the median CPU seconds of each case, and its ratio to the first.
"""

import argparse
import multiprocessing
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa

import mortice

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("note", pa.string())])
COMMON = {
    "hoodie.parquet.small.file.limit": "0",  # each commit has file groups of its own: only keys are compared
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
SEVERAL = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "StorageBasedLockProvider",
    "hoodie.time.generator.max_expected_clock_skew_ms": "1",
}
CASES = {"one writer": ({}, False), "alone": (SEVERAL, False), "beside": (SEVERAL, True)}


def batch(prefix, rows):
    ids = [f"{prefix}-{number:09d}" for number in range(rows)]
    return pa.table([ids, ["oslo"] * rows, [1] * rows, [f"row {one}" for one in ids]], schema=SCHEMA)


def write_beside(path, rows, ready):
    """Inserts keys once the instant of another commit is requested."""
    table, timeline = mortice.Table(path), Path(path, ".hoodie", "timeline")
    options, others, before = {**COMMON, **SEVERAL}, batch("other", rows), set(timeline.glob("*.requested"))
    ready.set()
    while set(timeline.glob("*.requested")) == before:
        time.sleep(0.001)
    table.upsert(others, options=options)


def commit(case, args):
    """Returns the CPU seconds of one commit; None if the other one was not completed meanwhile."""
    options, is_beside = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/table"
        table = mortice.create_table(
            path, SCHEMA, name="t", record_key="id", partition_by="city", ordering="ts", table_type=args.type
        )
        table.upsert(batch("old", args.rows), options={**COMMON, **options})
        rows, context = batch("new", args.rows), multiprocessing.get_context("spawn")
        ready = context.Event()
        other = context.Process(target=write_beside, args=(path, args.others, ready))
        if is_beside:
            other.start()
            ready.wait()
        begun = time.process_time()
        done = table.upsert(rows, options={**COMMON, **options})
        spent = time.process_time() - begun
        if not is_beside:
            return spent
        other.join()
        earlier = [one for one in mortice.Table(path).timeline.completed.active if one.requested_time > done.instant]
        return spent if any(one.completion_time < done.completion_time for one in earlier) else None


def measured(case, args):
    """Returns the CPU seconds of one commit of a case."""
    for _ in range(20):
        if (spent := commit(case, args)) is not None:
            return spent
    raise SystemExit("the other commit is never completed first: make --others smaller, or --rows greater")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--others", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--type", default="MERGE_ON_READ", choices=("MERGE_ON_READ", "COPY_ON_WRITE"))
    args = parser.parse_args()
    spent = {case: [] for case in CASES}
    for _ in range(args.repeats):
        for case in CASES:
            spent[case].append(measured(case, args))
    base = statistics.median(spent["one writer"])
    for case, seconds in spent.items():
        median = statistics.median(seconds)
        print(f"{case:12} {median:8.3f} s CPU  {median / base:5.2f}")


if __name__ == "__main__":
    main()
