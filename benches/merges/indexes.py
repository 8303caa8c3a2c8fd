"""Upserts and partial updates of a large table by index: CPU time and peak memory.

    PYTHONPATH=python python benches/merges/indexes.py [--rows N] [--given N] [--rounds N] [--folder FOLDER]

A merge-on-read table of N rows in file groups of 4 MiB is written for each index. Rows are given whose keys are in
the table, spread over all file groups; they are upserted, and change one column by `merge_into`. Each step is a process
of its own, on a copy of the table. Printed are the least CPU seconds, user and system, and the least peak of resident
memory of several rounds.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

from merges import batches, rows

SIZE = {"hoodie.parquet.max.file.size": str(4 << 20), "hoodie.parquet.small.file.limit": "0"}
INDEXES = {
    "BLOOM": {"hoodie.index.type": "BLOOM"},
    "SIMPLE": {"hoodie.index.type": "SIMPLE"},
    "RECORD_INDEX": {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.record.index.enable": "true"},
}
WORKLOADS = ("upsert", "merge_into")


def options(index):
    """Returns the options of all writes."""
    return SIZE | INDEXES[index]


def prepare(path, index, count):
    """Writes the table."""
    import mortice

    schema = rows(0, 1, 1).schema
    table = mortice.create_table(path, schema, name="trips", record_key="id", table_type="MERGE_ON_READ")
    table.bulk_insert(pa.RecordBatchReader.from_batches(schema, batches(count)), options(index))


def measured(path, index, workload, count, given):
    """Runs a workload, and returns what it took."""
    import mortice

    data = rows(0, given, 2, step=count // given)
    if workload == "merge_into":
        data = data.select(["id", "fare"])
    table = mortice.Table(path)
    before = resource.getrusage(resource.RUSAGE_SELF)
    commit = getattr(table, workload)(data, options=options(index))
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if commit.updates != given:
        raise SystemExit(f"{commit.updates} of {given} rows were updated")
    groups = len(mortice.Table(path).file_slices())
    return {"cpu_s": cpu, "peak_mb": after.ru_maxrss / 1024, "groups": groups}


def step(args, **named):
    """Runs a step in a process of its own, and returns what it prints."""
    command = [sys.executable, __file__, "--rows", str(args.rows), "--given", str(args.given)]
    command += [text for name, value in named.items() for text in (f"--{name}", str(value))]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def compared(args, folder):
    """Prints a line for each index and workload."""
    print("| index | workload | file groups | CPU s | peak MB |\n|---|---|---|---|---|")
    for index in args.indexes.split(","):
        table, copy = Path(folder, "table"), Path(folder, "copy")
        step(args, step="prepare", index=index, table=table)
        for workload in WORKLOADS:
            found = []
            for _ in range(args.rounds):
                shutil.copytree(table, copy)
                found.append(step(args, step="measure", index=index, table=copy, workload=workload))
                shutil.rmtree(copy)
            cpu, peak = (min(run[name] for run in found) for name in ("cpu_s", "peak_mb"))
            print(f"| {index} | {workload} | {found[0]['groups']} | {cpu:.2f} | {peak:.0f} |", flush=True)
        shutil.rmtree(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the table")
    parser.add_argument("--given", type=int, default=100_000, help="rows of a write")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--indexes", default=",".join(INDEXES))
    parser.add_argument("--folder", help="where tables are written")
    for hidden in ("--step", "--index", "--workload", "--table"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step == "prepare":
        prepare(args.table, args.index, args.rows)
        print("{}")
    elif args.step:
        print(json.dumps(measured(args.table, args.index, args.workload, args.rows, args.given)))
    else:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            compared(args, folder)


if __name__ == "__main__":
    main()
