"""Measures what a user without Spark does with a table, beside delta-rs, pyiceberg and lancedb.

    target/engines/bin/pip install deltalake "pyiceberg[sql-sqlite]" lancedb
    PYTHONPATH=python target/engines/bin/python benches/engines/bench_tasks.py [--rows N] [--repeats N]

Each contender does all tasks in a process of its own, with its defaults; of several such runs the least CPU seconds of
user and system are printed as a table of Markdown. All contenders have the same rows in the end, or the run fails.
Contenders that are not installed are left out. The native module must be one that `make build` has optimised.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from bench_pushdown import rows

DELETED = 990.0
"""Rows with a greater fare are deleted: one in a hundred."""
READ = 980.0
"""Rows with a greater fare are read: one in a hundred is left of them."""


class Mortice:
    """A merge-on-read table with the record key `id`."""

    module = "mortice"
    kind = "MERGE_ON_READ"

    def __init__(self, folder):
        self.path = Path(folder, "mortice")

    def load(self, data):
        import mortice

        mortice.create_table(self.path, data.schema, name="t", record_key="id", table_type=self.kind).bulk_insert(data)

    def table(self):
        import mortice

        return mortice.Table(self.path)

    def append(self, data):
        self.table().insert(data)

    def upsert(self, data):
        self.table().upsert(data)

    def delete(self):
        self.table().delete_where(f"fare > {DELETED}")

    def read(self):
        return self.table().snapshot().to_arrow()

    def filtered(self):
        return self.table().snapshot(columns=["id", "fare"], filters=f"fare > {READ}").to_arrow()


class MorticeCopyOnWrite(Mortice):
    """The same, copy-on-write."""

    kind = "COPY_ON_WRITE"


class Delta:
    """A table of delta-rs."""

    module = "deltalake"

    def __init__(self, folder):
        self.path = f"{folder}/delta"

    def load(self, data):
        import deltalake

        deltalake.write_deltalake(self.path, data)

    def append(self, data):
        import deltalake

        deltalake.write_deltalake(self.path, data, mode="append")

    def table(self):
        import deltalake

        return deltalake.DeltaTable(self.path)

    def upsert(self, data):
        merge = self.table().merge(data, "t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def delete(self):
        self.table().delete(f"fare > {DELETED}")

    def read(self):
        return self.table().to_pyarrow_table()

    def filtered(self):
        return self.table().to_pyarrow_table(columns=["id", "fare"], filters=[("fare", ">", READ)])


class Pyiceberg:
    """A table of pyiceberg in a catalog of SQLite."""

    module = "pyiceberg"

    def __init__(self, folder):
        from pyiceberg.catalog.sql import SqlCatalog

        self.catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/ice")

    def load(self, data):
        self.catalog.create_namespace("n")
        self.catalog.create_table("n.t", schema=data.schema).append(data)

    def table(self):
        return self.catalog.load_table("n.t")

    def append(self, data):
        self.table().append(data)

    def upsert(self, data):
        self.table().upsert(data, join_cols=["id"])

    def delete(self):
        self.table().delete(f"fare > {DELETED}")

    def read(self):
        return self.table().scan().to_arrow()

    def filtered(self):
        return self.table().scan(row_filter=f"fare > {READ}", selected_fields=("id", "fare")).to_arrow()


class Lancedb:
    """A table of lancedb."""

    module = "lancedb"

    def __init__(self, folder):
        import lancedb

        self.database = lancedb.connect(f"{folder}/lance")

    def load(self, data):
        self.database.create_table("t", data)

    def table(self):
        return self.database.open_table("t")

    def append(self, data):
        self.table().add(data)

    def upsert(self, data):
        self.table().merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(data)

    def delete(self):
        self.table().delete(f"fare > {DELETED}")

    def read(self):
        return self.table().to_arrow()

    def filtered(self):
        return self.table().search().where(f"fare > {READ}").select(["id", "fare"]).limit(None).to_arrow()


CONTENDERS = {
    "mortice, merge-on-read": Mortice,
    "mortice, copy-on-write": MorticeCopyOnWrite,
    "delta-rs": Delta,
    "pyiceberg": Pyiceberg,
    "lancedb": Lancedb,
}


def tasks(contender, count):
    """Yields the name and the function of each task, in their order."""
    data, some = rows(count), count // 10
    added = rows(count + some).slice(count)
    upserted = rows(count + some + some // 2).slice(count + some // 2)
    yield f"create and load {count:,} rows", lambda: contender.load(data)
    yield f"append {some:,}", lambda: contender.append(added)
    yield f"upsert {some:,}, half of them new", lambda: contender.upsert(upserted)
    yield "delete one row in a hundred by predicate", contender.delete
    yield "read all", contender.read
    yield "two columns, one row in a hundred", contender.filtered


def cpu_seconds():
    """Returns the CPU seconds of this process, user and system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def worked(contender, count):
    """Returns the CPU seconds of each task, and what the rows add up to."""
    took, found = {}, []
    for name, run in tasks(contender, count):
        before = cpu_seconds()
        result = run()
        took[name] = cpu_seconds() - before
        if isinstance(result, pa.Table):
            found += [result.num_rows, pc.sum(result["id"]).as_py()]
    return {"took": took, "found": found}


def least(name, arguments):
    """Runs a contender several times; returns the least of each task, and what the rows add up to."""
    best, found = {}, None
    for _ in range(arguments.repeats):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            command = [sys.executable, __file__, "--contender", name, "--folder", folder, "--rows", str(arguments.rows)]
            run = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        best = {task: min(seconds, best.get(task, seconds)) for task, seconds in run["took"].items()}
        found = run["found"]
    return best, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where tables are written")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contender:
        print(json.dumps(worked(CONTENDERS[arguments.contender](arguments.folder), arguments.rows)), flush=True)
        # Threads of some libraries abort the process while the interpreter ends.
        os._exit(0)
    names = [name for name, kind in CONTENDERS.items() if importlib.util.find_spec(kind.module)]
    results = {name: least(name, arguments) for name in names}
    if len({json.dumps(found) for _, found in results.values()}) > 1:
        different = {name: found for name, (_, found) in results.items()}
        raise SystemExit(f"the contenders have different rows: {different}")
    print("\n".join([f"| task | {' | '.join(names)} |", f"|---{'|---' * len(names)}|"]))
    for task in results[names[0]][0]:
        print(f"| {task} | {' | '.join(f'{results[name][0][task]:.2f}' for name in names)} |")


if __name__ == "__main__":
    main()
