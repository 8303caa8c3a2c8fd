"""Merges beside delta-rs and pyiceberg: CPU time and peak memory of the two workloads that users report.

    python benches/merges/merges.py [--rows N] [--given N] [--contenders mortice,delta,pyiceberg] [--python PATH]

    into a partition   1,000 rows are merged into a partition of N rows (delta-rs issue 2802 has 8,000,000)
    upsert             N rows, half of them new, are upserted into N rows (pyiceberg issue 3129 has 1,000,000)

A table is written by one process and merged into by another, of which the numbers are: CPU seconds of user and system,
wall seconds, and the greatest resident memory. All contenders have the same rows afterwards, or the run ends.
`--python` names an interpreter that has `deltalake` and `pyiceberg[pyarrow,sql-sqlite]` besides mortice.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.compute as pc

GIVEN = 1_000
CHUNK = 500_000
WORKLOADS = ("into a partition", "upsert")


def rows(first, count, fare, step=1):
    """Returns rows of the keys `first`, `first + step`, …, all of one partition."""
    numbers = pa.array(range(first, first + count * step, step), pa.int64())
    keys = pc.utf8_lpad(pc.cast(numbers, pa.string()), 10, "0")
    notes = pc.binary_join_element_wise("note of the row", keys, " ")
    city = pa.repeat("oslo", count)
    return pa.table({"id": keys, "city": city, "fare": pa.repeat(float(fare), count), "n": numbers, "note": notes})


def given(workload, count):
    """Returns the rows that are merged: half of them, or every other one, have a key of the table."""
    if workload == "upsert":
        return rows(count // 2, count, 2)
    return rows(count - GIVEN // 2, GIVEN, 2)


def chunks(count):
    """Yields the rows of the table."""
    for first in range(0, count, CHUNK):
        yield rows(first, min(CHUNK, count - first), 1)


class Mortice:
    """A copy-on-write table with the record key `id`."""

    def __init__(self, folder):
        self.path = f"{folder}/mortice"

    def prepare(self, count):
        import mortice

        table = mortice.create_table(
            self.path,
            rows(0, 1, 1).schema,
            name="trips",
            record_key="id",
            partition_by="city",
            table_type="COPY_ON_WRITE",
        )
        table.bulk_insert(pa.RecordBatchReader.from_batches(rows(0, 1, 1).schema, batches(count)))

    def merge(self, workload, data):
        import mortice

        table = mortice.Table(self.path)
        if workload == "upsert":
            table.upsert(data)
        else:
            table.merge(data, on=["id", "city"], when_matched_update="all", when_not_matched_insert="all")

    def state(self):
        import mortice

        return totals(mortice.Table(self.path).snapshot(columns=["n", "fare"]).to_arrow())


class Delta:
    """A table of delta-rs, partitioned by city."""

    def __init__(self, folder):
        self.path = f"{folder}/delta"

    def prepare(self, count):
        from deltalake import write_deltalake

        reader = pa.RecordBatchReader.from_batches(rows(0, 1, 1).schema, batches(count))
        write_deltalake(self.path, reader, partition_by=["city"])

    def merge(self, _, data):
        from deltalake import DeltaTable

        condition = "t.id = s.id AND t.city = s.city"
        merge = DeltaTable(self.path).merge(data, condition, source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def state(self):
        from deltalake import DeltaTable

        return totals(DeltaTable(self.path).to_pyarrow_table(columns=["n", "fare"]))


class Pyiceberg:
    """A table of pyiceberg in a catalog of SQLite, partitioned by city."""

    def __init__(self, folder):
        self.path = f"{folder}/iceberg"

    def _catalog(self):
        from pyiceberg.catalog.sql import SqlCatalog

        pathlib.Path(self.path).mkdir(exist_ok=True)
        return SqlCatalog("c", uri=f"sqlite:///{self.path}/catalog.db", warehouse=f"file://{self.path}")

    def prepare(self, count):
        catalog = self._catalog()
        catalog.create_namespace("n")
        table = catalog.create_table("n.trips", rows(0, 1, 1).schema)
        with table.update_spec() as spec:
            spec.add_identity("city")
        for chunk in chunks(count):
            table.append(chunk)

    def merge(self, _, data):
        self._catalog().load_table("n.trips").upsert(data, join_cols=["id", "city"])

    def state(self):
        return totals(self._catalog().load_table("n.trips").scan(selected_fields=("n", "fare")).to_arrow())


CONTENDERS = {"mortice": Mortice, "delta": Delta, "pyiceberg": Pyiceberg}


def batches(count):
    """Yields the rows of the table as record batches."""
    for chunk in chunks(count):
        yield from chunk.to_batches()


def totals(table):
    """Returns what the rows add up to."""
    return [table.num_rows, pc.sum(table["n"]).as_py(), pc.sum(table["fare"]).as_py()]


def measured(contender, workload, count):
    """Merges, and returns what that took."""
    data = given(workload, count)
    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    contender.merge(workload, data)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": cpu, "wall_s": time.monotonic() - begun, "peak_mb": after.ru_maxrss / 1024}


def step(python, what, **named):
    """Runs a step in a process of its own, and returns what it prints."""
    arguments = ["--step", what, *(text for name, value in named.items() for text in (f"--{name}", str(value)))]
    done = subprocess.run([python, __file__, *arguments], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8_000_000, help="rows of the partition")
    parser.add_argument("--given", type=int, default=1_000_000, help="rows of the upsert")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--python", default=sys.executable)
    for hidden in ("--step", "--contender", "--workload", "--folder"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        contender = CONTENDERS[args.contender](args.folder)
        if args.step == "measure":
            print(json.dumps(measured(contender, args.workload, args.rows)))
        elif args.step == "state":
            print(json.dumps(contender.state()))
        else:
            contender.prepare(args.rows)
            print("{}")
        return
    print("| workload | contender | CPU s | wall s | peak MB |\n|---|---|---|---|---|")
    for workload, count in zip(WORKLOADS, (args.rows, args.given), strict=True):
        states = {}
        for name in args.contenders.split(","):
            with tempfile.TemporaryDirectory() as folder:
                named = {"contender": name, "workload": workload, "rows": count, "folder": folder}
                step(args.python, "prepare", **named)
                took = step(args.python, "measure", **named)
                states[name] = step(args.python, "state", **named)
            numbers = f"{took['cpu_s']:.2f} | {took['wall_s']:.2f} | {took['peak_mb']:.0f}"
            print(f"| {workload}, {count:,} rows | {name} | {numbers} |", flush=True)
        if len({json.dumps(state) for state in states.values()}) > 1:
            raise SystemExit(f"the contenders have different rows: {states}")


if __name__ == "__main__":
    main()
