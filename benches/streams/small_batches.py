"""The time of each batch of a stream by the number of batches before it, with the table services on.

    python benches/streams/small_batches.py [--batches N] [--rows N] [--keys N] [--way foreachBatch|format]
        [--out RECORD.csv]

A query of Spark writes one file of JSON lines a batch to one merge-on-read table: upserts by `foreachBatch` and
`mortice.spark.stream_writer`, or appends by `df.write.format("mortice")` in a function of `foreachBatch` (Spark 4).
The table of upserts has all keys from the start: a batch with new keys would rewrite small base files, as Hudi's
assignment does, and leave no logs to compact. Compaction (of upserts) and clustering (of appends) are inline, cleaning
and archival automatic.

Every batch is a line of the record: seconds of the batch as Spark reports them, seconds of Spark's own that are not the
write (`triggerExecution` less `addBatch`), and jobs of Spark. The program prints the median of each tenth of the
batches, the jobs of a batch and how often each service ran. It fails if a service that is asked for did not run, or if
a batch with services has more jobs than others.
"""

import argparse
import csv
import itertools
import json
import random
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

import mortice
import mortice.spark

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.find_java import use_java

COLUMNS = "id string, city string, ts bigint, fare double"
OPTIONS = {
    "hoodie.table.name": "batches",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.keep.min.commits": "20",
    "hoodie.keep.max.commits": "30",
    "hoodie.clean.commits.retained": "10",
}
UPSERTS = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "5"}
APPENDS = {
    "hoodie.datasource.write.operation": "insert",
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "10",
}
CITIES = 4


def write_batches(folder, batches, rows, keys):
    """Writes the files of all batches."""
    dice = random.Random(batches)
    for number in range(batches):
        ids = sorted(dice.sample(range(keys), rows)) if keys else range(number * rows, (number + 1) * rows)
        lines = [{"id": f"key-{one:09d}", "city": f"city-{one % CITIES}", "ts": number + 1, "fare": 1.5} for one in ids]
        (folder / f"{number:06d}.json").write_text("\n".join(map(json.dumps, lines)))


def load(spark, table, keys):
    """Makes the table with all keys that batches update."""
    rows = spark.range(keys).selectExpr(
        "format_string('key-%09d', id) as id",
        f"format_string('city-%d', id % {CITIES}) as city",
        "0L as ts",
        "1.5D as fare",
    )
    mortice.spark.write(rows, table, "bulk_insert", options=OPTIONS)


def writer_of(way, table):
    """Returns the function of each batch."""
    if way == "foreachBatch":
        return mortice.spark.stream_writer(table, "upsert", {**OPTIONS, **UPSERTS})

    def append(frame, _):
        frame.write.format("mortice").options(**OPTIONS, **APPENDS).mode("append").save(table)

    return append


def run(spark, source, folder, write, jobs):
    """Writes all batches, and returns what Spark reports of each; adds the number of Spark's jobs so far to `jobs`."""

    def counted(frame, batch):
        write(frame, batch)
        context = spark.sparkContext
        group = context.getLocalProperty("spark.jobGroup.id")
        # The public method fetches each number by itself, which at 2,000 jobs takes as long as the batch.
        jobs.append(len(context.statusTracker()._jtracker.getJobIdsForGroup(group)))  # noqa: SLF001

    events = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(source))
    query = (
        events.writeStream.foreachBatch(counted)
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [json.loads(one.json) if hasattr(one, "json") else one for one in query.recentProgress]


def services_of(timeline):
    """How often each service ran, by the operation of its commit or its action."""
    found = Counter()
    for instant in timeline.completed:
        if instant.action in {"clean", "commit", "replacecommit", "deltacommit"}:
            metadata = timeline.metadata(instant) if instant.action != "clean" else {}
            found[metadata.get("operationType", instant.action)] += 1
    return found


def main():
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--keys", type=int, default=20_000, help="of upserts")
    parser.add_argument("--way", choices=("foreachBatch", "format"), default="foreachBatch")
    parser.add_argument("--out", default="small-batches.csv")
    given = parser.parse_args()
    use_java()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.retainedJobs", "1000000")
        .config("spark.sql.streaming.numRecentProgressUpdates", str(given.batches + 10))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    if given.way == "format":
        mortice.spark.register(spark)
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary, "source")
        source.mkdir()
        write_batches(source, given.batches, given.rows, given.keys if given.way == "foreachBatch" else 0)
        path = f"{temporary}/table"
        if given.way == "foreachBatch":
            load(spark, path, given.keys)
        jobs = [0]
        progress = run(spark, source, temporary, writer_of(given.way, path), jobs)
        report(progress, [after - before for before, after in itertools.pairwise(jobs)], mortice.Table(path), given)
    spark.stop()


def report(progress, jobs, table, given):
    """Writes the record, and prints what it says."""
    lines = [
        (one["batchId"], one["durationMs"]["addBatch"] / 1000, one["durationMs"]["triggerExecution"] / 1000)
        for one in progress
        if one["numInputRows"]
    ]
    if not len(lines) == len(jobs) == given.batches:
        raise SystemExit(f"{len(lines)} of {given.batches} batches are reported")
    with Path(given.out).open("w", newline="") as file:
        record = csv.writer(file)
        record.writerow(("batch", "write_s", "spark_s", "jobs"))
        record.writerows(
            (batch, f"{write:.3f}", f"{whole - write:.3f}", count)
            for (batch, write, whole), count in zip(lines, jobs, strict=True)
        )
    tenth = max(1, given.batches // 10)
    for start in range(0, given.batches, tenth):
        near = [write for _, write, _ in lines[start : start + tenth]]
        print(
            f"batches {start} to {start + len(near) - 1}: median {statistics.median(near):.3f} s, "
            f"mean {statistics.mean(near):.3f} s"
        )
    print(f"jobs of a batch: {dict(sorted(Counter(jobs).items()))} (jobs: batches)")
    services, active = services_of(table.timeline), services_of(table.timeline.active)
    print(f"{table.count()} rows; timeline: {dict(services)}; of these active: {dict(active)}")
    wanted = {"clean", "COMPACT"} if given.way == "foreachBatch" else {"clean", "CLUSTER"}
    missing = [name for name in wanted if not services[name]] + ["archival"] * (active == services)
    if given.batches > 2 * int(OPTIONS["hoodie.keep.max.commits"]) and missing:
        raise SystemExit(f"services that did not run: {', '.join(missing)}")
    if len(set(jobs[1:])) > 1:
        raise SystemExit("services of small batches start jobs of Spark")


if __name__ == "__main__":
    main()
