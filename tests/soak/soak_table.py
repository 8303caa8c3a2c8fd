"""mortice and Hudi write, compact, cluster, clean and archive one table while both read it.

    python tests/soak/soak_table.py [--minutes N] [--readers N] [--hudi-readers N] [--seed N] [--version N]

Commit n, by either, writes each key below n again, with the value n, and one new key. So an answer is the state of
exactly one commit if and only if all rows have one value, and the keys are those below it. It must not be older than
the commits that were reported before the read began, nor newer than those that had begun when it ended. Services of
mortice run beside all writes; clustering, and the services that Hudi runs inline, between them. Queries use the
metadata table and list the storage in turns. At the end both readers must agree, and a verification find nothing.

Run by `make soak-table` on Spark 3.5, with Hudi's bundle (`make hudi-jar`, or MORTICE_HUDI_JAR). Hudi reads in
processes of 2 GB each.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import mortice
from support.hudi import fetch_hudi
from support.hudi.hudi_on_spark import HudiOnSpark

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("value", pa.int64()), ("ts", pa.int64())])
PARTITIONS = 3
SHARED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.wait_time_ms": "120000",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.clean.commits.retained": "2",
    "hoodie.keep.min.commits": "4",
    "hoodie.keep.max.commits": "6",
    "hoodie.metadata.enable": "true",
}
HUDI = {
    "hoodie.table.name": "soak",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.datasource.compaction.async.enable": "false",
}
PASSING = (mortice.FileCleanedError, mortice.FileChangedError)


def rows_of(commit):
    keys = range(commit)
    columns = [
        [str(key) for key in keys],
        [f"p{key % PARTITIONS}" for key in keys],
        [commit] * commit,
        [commit] * commit,
    ]
    return pa.table(columns, schema=SCHEMA)


def state_of(rows):
    """Returns the commit whose state the rows are."""
    values = set(rows["value"].to_pylist())
    if len(values) != 1:
        raise AssertionError(f"rows of several commits: {sorted(values)}")
    (commit,) = values
    if sorted(map(int, rows["id"].to_pylist())) != list(range(commit)):
        raise AssertionError(f"commit {commit} has {rows.num_rows} rows")
    return commit


class Soak:
    def __init__(self, args, folder):
        self.args, self.folder = args, Path(folder)
        self.path = str(self.folder / "table")
        self.end = time.monotonic() + 60 * args.minutes
        self.begun = self.reported = 0
        self.counts, self.faults = Counter(), []
        self.guard = threading.Lock()

    def is_over(self):
        return bool(self.faults) or time.monotonic() > self.end

    def count(self, what):
        with self.guard:
            self.counts[what] += 1

    def fault(self, what, error):
        with self.guard:
            self.faults.append(f"{what}: {type(error).__name__}: {error}")

    def read(self, what, query):
        """Reads once, and compares with the commits before and after."""
        reported = self.reported
        try:
            state = state_of(query())
        except PASSING:
            self.count(f"{what} whose files were cleaned meanwhile")
            return
        except Exception as error:  # noqa: BLE001 - every other one is a fault
            # Hudi's queries fail, too, if files are cleaned meanwhile.
            if "FileNotFound" in str(error) or "does not exist" in str(error):
                self.count(f"{what} whose files were cleaned meanwhile")
            else:
                self.fault(what, error)
            return
        self.count(what)
        if not reported <= state <= self.begun:
            self.fault(what, AssertionError(f"state of commit {state}, between {reported} and {self.begun}"))

    def read_mortice(self, number):
        while not self.is_over():
            options = mortice.ReadOptions(use_metadata=self.counts["reads by mortice"] % 2 == number % 2)
            query = lambda: mortice.Table(self.path, read_options=options).snapshot().to_arrow()  # noqa: B023, E731
            self.read("reads by mortice", query)

    def read_hudi(self, number, hudi):
        out = self.folder / f"answer-{number}"

        def query():
            use_metadata = str(self.counts["reads by Hudi"] % 2 == 0).lower()
            hudi.read(self.path, out, **{"hoodie.metadata.enable": use_metadata})
            return pq.read_table(out, columns=["id", "value"])

        while not self.is_over():
            self.read("reads by Hudi", query)

    def serve(self, dice):
        """Services of mortice, beside writes of both."""
        while not self.is_over():
            table, what = mortice.Table(self.path), dice.choice(["compact", "clean", "archive"])
            if what == "compact" and self.args.type == "COPY_ON_WRITE":
                continue
            self.run(f"services of mortice ({what})", lambda: getattr(table, what)(options=SHARED))  # noqa: B023
            time.sleep(dice.random() * 3)

    def run(self, what, action):
        """Does something that may conflict with another writer. Returns true if it did it."""
        try:
            action()
        except (mortice.WriteConflictError, mortice.TableServiceError):
            self.count(f"conflicts of {what}")
        except Exception as error:  # noqa: BLE001 - every other one is a fault
            if "WriteConflict" in str(error) or "ConcurrentModification" in str(error):
                self.count(f"conflicts of {what}")
                return False
            self.fault(what, error)
        else:
            self.count(what)
            return True
        return False

    def write_mortice(self, _):
        options = {**SHARED, "hoodie.write.num.retries.on.conflict.failures": "5"}
        mortice.Table(self.path).upsert(rows_of(self.begun), options=options)

    def write_hudi(self, hudi):
        given = self.folder / "rows.parquet"
        pq.write_table(rows_of(self.begun), given)
        inline = str(self.args.type == "MERGE_ON_READ").lower()
        own = {
            "hoodie.datasource.write.table.type": self.args.type,
            "hoodie.write.table.version": str(self.args.version),
            "hoodie.compact.inline": inline,
            "hoodie.compact.inline.max.delta.commits": "3",
        }
        hudi.write(given, self.path, {**SHARED, **HUDI, **own})

    def write(self, hudi, dice):
        while not self.is_over():
            who, write = dice.choice([("mortice", self.write_mortice), ("Hudi", self.write_hudi)])
            self.begun += 1
            while not self.run(f"commits by {who}", lambda: write(hudi)):  # noqa: B023
                if self.is_over():
                    return
            self.reported = self.begun
            if dice.random() < 0.2:
                self.run("services of mortice (cluster)", lambda: mortice.Table(self.path).cluster(SHARED))

    def finish(self, hudi):
        """After all: both readers agree, and nothing is wrong with the table."""
        table = mortice.Table(self.path)
        for use_metadata in (True, False):
            self.read(
                "reads by mortice",
                mortice.Table(self.path, read_options=mortice.ReadOptions(use_metadata=use_metadata))
                .snapshot()
                .to_arrow,
            )
        hudi.read(self.path, self.folder / "last")
        self.read("reads by Hudi", lambda: pq.read_table(self.folder / "last", columns=["id", "value"]))
        found = [one for one in table.verify(keys=True).findings if one.kind not in ("stale_markers", "dead_heartbeat")]
        if found:
            self.faults.append(f"verify finds {found[:5]}")

    def main(self):
        dice = random.Random(self.args.seed)
        mortice.create_table(
            self.path,
            SCHEMA,
            name="soak",
            record_key="id",
            partition_by="part",
            ordering="ts",
            table_type=self.args.type,
            version=self.args.version,
        )
        self.begun = 1
        mortice.Table(self.path).upsert(rows_of(1), options=SHARED)
        self.reported = 1
        jar = fetch_hudi.jar()
        writer, *readers = [HudiOnSpark(jar) for _ in range(1 + self.args.hudi_readers)]
        work = [(self.read_mortice, (number,)) for number in range(self.args.readers)]
        work += [(self.read_hudi, (number, hudi)) for number, hudi in enumerate(readers)]
        work += [(self.serve, (random.Random(self.args.seed + 1),)), (self.write, (writer, dice))]
        threads = [threading.Thread(target=function, args=given) for function, given in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if not self.faults:
            self.finish(writer)
        for hudi in (writer, *readers):
            hudi.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--readers", type=int, default=8, help="threads that read with mortice")
    parser.add_argument("--hudi-readers", type=int, default=1, help="processes that read with Hudi")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", type=int, default=9, choices=(6, 8, 9))
    parser.add_argument("--type", default="MERGE_ON_READ", choices=("MERGE_ON_READ", "COPY_ON_WRITE"))
    parser.add_argument("--keep", action="store_true", help="keep the table")
    args = parser.parse_args()
    if fetch_hudi.jar() is None:
        parser.error("no bundle of Hudi: make hudi-jar fetches it, or name it in MORTICE_HUDI_JAR")
    folder = tempfile.mkdtemp(prefix="soak-table-")
    soak = Soak(args, folder)
    soak.main()
    for what, count in sorted(soak.counts.items()):
        print(f"{count:8} {what}")
    for fault in soak.faults:
        print("FAULT", fault)
    if args.keep:
        print("kept", folder)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(soak.faults)} faults")
    sys.exit(bool(soak.faults))


if __name__ == "__main__":
    main()
