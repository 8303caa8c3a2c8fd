"""The process that `test_local_cluster` runs: writes and services on executors that are processes of their own.

    python cluster_session.py <rows> <folder>

Prints one line of JSON for each table: of so many rows, of eight times as many, and of so many while an executor dies.
"""

import json
import os
import pathlib
import signal
import sys

from pyspark.sql import SparkSession

import mortice
import mortice.spark
from mortice.spark.writing import write_stages
from support.find_java import use_java

OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "mortice.write.driver.bytes": "0",
}
GROUPS = {"hoodie.clustering.plan.strategy.sort.columns": "fare"}
Stage, reports = write_stages.RunStage, write_stages._reports
TAKEN = []
"""The bytes that came to the driver."""


class KillsItsExecutor(Stage):
    """The first task to run ends its executor when it has done its work, as if the machine was lost."""

    def __init__(self, stage, folder):
        super().__init__(stage)
        self.mark = f"{folder}/killed"

    def __call__(self, batches):
        found = list(super().__call__(batches))
        try:
            pathlib.Path(self.mark).touch(exist_ok=False)
        except FileExistsError:
            return iter(found)
        # The worker is a child of PySpark's daemon, and that of the executor.
        status = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text(encoding="utf-8")
        os.kill(int(status.rpartition(") ")[2].split()[1]), signal.SIGKILL)
        signal.pause()
        return iter(())


def counted(frame):
    """Counts the bytes that tasks report, beside what it does else."""
    found = reports(frame)
    TAKEN.append(sum(map(len, found)))
    return found


def trips(spark, first, last, ts):
    columns = ("cast(id as string) as id", "id % 7 as city", f"{ts} as ts", f"cast(id + {ts} as double) as fare")
    return spark.range(first, last, 1, 4).selectExpr(*columns)


def worked(spark, path, count):
    """Loads, updates, merges, compacts and clusters a table. Returns what came to the driver of each, and the rows."""
    steps = {
        "load": lambda: mortice.spark.write(trips(spark, 0, count, 1), path, "bulk_insert", options=OPTIONS),
        "upsert": lambda: mortice.spark.write(trips(spark, 0, count // 4, 2), path, options=OPTIONS),
        "merge": lambda: mortice.spark.merge_into(
            trips(spark, count - count // 8, count + count // 8, 3),
            path,
            when_matched_update=["fare", "ts"],
            options={name: value for name, value in OPTIONS.items() if name.startswith("mortice.")},
        ),
        "compact": lambda: mortice.spark.compact(spark, path),
        "cluster": lambda: mortice.spark.cluster(spark, path, GROUPS),
    }
    found = {}
    for name, step in steps.items():
        TAKEN.clear()
        step()
        found[name] = sum(TAKEN)
    total = mortice.spark.read(spark, path, columns=["id", "fare", "ts"]).selectExpr(
        "count(*) as rows", "count(distinct id) as ids", "sum(ts) as ts", "sum(fare) as fare"
    )
    timeline = mortice.Table(path).timeline
    files = {
        str(pathlib.Path(stats["path"]).name)
        for one in timeline
        for of in (timeline.metadata(one) or {}).get("partitionToWriteStats", {}).values()
        for stats in of
        if stats.get("path")
    }
    names = (file.name for file in pathlib.Path(path).iterdir())
    stored = {name for name in names if name.endswith(".parquet") or ".log." in name}
    left = stored - files
    return {"driver": found, "total": total.first().asDict(), "left": sorted(left)}


def main(rows, folder):
    use_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,2048]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    spark = builder.config("spark.executor.memory", "1g").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    write_stages._reports = counted
    for name, count in (("few", rows), ("many", 8 * rows)):
        print(json.dumps({name: worked(spark, f"{folder}/{name}", count)}), flush=True)
    write_stages.RunStage = lambda stage: KillsItsExecutor(stage, folder)
    print(json.dumps({"killed": worked(spark, f"{folder}/killed_once", rows)}), flush=True)
    print(json.dumps({"died": pathlib.Path(folder, "killed").exists()}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
