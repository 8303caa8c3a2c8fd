"""The process that `test_write_failures` runs: writes on sessions of their own, in which attempts of tasks fail.

    python write_session.py <master> <folder>

Prints one line of JSON for each step.
"""

import json
import os
import pathlib
import sys

from pyspark.sql import SparkSession

import mortice
import mortice.spark
from mortice.spark.writing import write_stages
from support.find_java import use_java

DDL = "id string, city string, fare double, ts bigint"
OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    # So few rows would be written by the driver.
    "mortice.write.driver.bytes": "0",
}
# Without a metadata table readers list the folders: a file too many would be read.
LISTED = {"hoodie.metadata.enable": "false"}


Stage = write_stages.RunStage


class FailsFirst(Stage):
    """The first attempt of each task of each stage fails after it has done all its work."""

    def __call__(self, batches):
        from pyspark import TaskContext

        yield from super().__call__(batches)
        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("the first attempt fails")


class FailsAlways(Stage):
    """Attempts of the stages that write fail after they have written."""

    def __call__(self, batches):
        yield from super().__call__(batches)
        # The state of the write, and what the stage does.
        if any(stage in self.stage for stage in (b'},{"Write":', b'},{"Service":')):
            raise RuntimeError("every attempt fails")


def print_step(step, value):
    print(json.dumps({step: value}), flush=True)


def state(path):
    rows = mortice.Table(path).snapshot(columns=["id", "city", "fare"]).to_arrow().to_pylist()
    files = [file for file in pathlib.Path(path).rglob("*") if file.is_file()]
    hoodie = [str(file) for file in files if "/.hoodie/.temp/" in str(file) or "open_writes" in str(file)]
    data = [
        file.name for file in files if ".hoodie" not in str(file.parent) and file.name != ".hoodie_partition_metadata"
    ]
    data = [name for name in data if not name.endswith(".crc")]
    return {"rows": sorted(map(list, map(dict.values, rows))), "files": sorted(data), "left": hoodie}


def committed(*commits):
    return sorted(pathlib.Path(stats.path).name for commit in commits for stats in commit.stats if stats.path)


def main(master, folder):
    use_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    first = [(f"k{n:03}", ["oslo", "rome"][n % 2], float(n), 1) for n in range(50)]
    second = [(f"k{n:03}", ["oslo", "rome"][n % 2], n + 0.5, 2) for n in range(0, 60, 3)]
    path = f"{folder}/retried"
    write_stages.RunStage = FailsFirst
    options = OPTIONS | LISTED
    commits = [mortice.spark.write(spark.createDataFrame(rows, DDL), path, options=options) for rows in (first, second)]
    print_step("retried", state(path) | {"committed": committed(*commits)})
    write_stages.RunStage = FailsAlways
    try:
        mortice.spark.write(spark.createDataFrame(first, DDL), path, options=options)
        print_step("failure", None)
    except Exception as error:  # noqa: BLE001
        print_step("failure", str(error)[:2000])
    print_step("after failure", state(path))
    cluster(spark, f"{folder}/clustered", (first, second))
    compact_inline(spark, f"{folder}/compacted", (first, second))
    spark.stop()


def cluster(spark, path, batches):
    """Clusters a table of several file groups, while tasks fail once, and while they fail always."""
    write_stages.RunStage = Stage
    groups = LISTED | {"hoodie.parquet.small.file.limit": "0"}
    for rows in (*batches, [(f"n{n}", "oslo", float(n), 3) for n in range(9)]):
        mortice.spark.write(spark.createDataFrame(rows, DDL), path, options=OPTIONS | groups)
    print_step("before clustering", state(path))
    write_stages.RunStage = FailsAlways
    try:
        mortice.spark.cluster(spark, path, LISTED)
        print_step("failed clustering", None)
    except Exception as error:  # noqa: BLE001
        print_step("failed clustering", str(error)[:2000])
    print_step("after failed clustering", state(path) | {"pending": pending(path)})
    write_stages.RunStage = FailsFirst
    commit = mortice.spark.cluster(spark, path, LISTED, schedule=False).commit
    print_step("clustered", state(path) | {"committed": committed(commit), "pending": pending(path)})


def compact_inline(spark, path, batches):
    """Writes with inline compaction, which is due with the second one, while its tasks fail always, then once."""
    write_stages.RunStage = Stage
    compacting = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
    # Few rows are written by the driver: no other task fails. A base file has more bytes, for its Bloom filter alone:
    # tasks execute the plan. Updates are in logs, inserts in files of their own.
    by_driver = {"mortice.write.driver.bytes": "50000", "hoodie.parquet.small.file.limit": "0"}
    options = OPTIONS | LISTED | compacting | by_driver
    first, second = (spark.createDataFrame(rows, DDL) for rows in batches)
    mortice.spark.write(first, path, options=options)
    write_stages.RunStage = FailsAlways
    try:
        mortice.spark.write(second, path, options=options)
        print_step("failed compaction", None)
    except mortice.TableServiceError as error:
        print_step("failed compaction", str(error)[:2000])
    print_step("after failed compaction", state(path) | {"pending": pending(path)})
    write_stages.RunStage = FailsFirst
    mortice.spark.write(second, path, options=options)
    print_step("compacted", state(path) | {"pending": pending(path)})


def pending(path):
    return [f"{instant.action} {instant.state}" for instant in mortice.Table(path).timeline.pending]


if __name__ == "__main__":
    main(*sys.argv[1:])
