"""The process that `test_connect` runs: a local Spark Connect server, and both entry points over it.

    python connect_session.py <table> <partitioned table> <folder to write into>

Prints one line of JSON for each step. A Connect session and a classic one cannot be in one process.
"""

import contextlib
import io
import json
import logging
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import mortice
import mortice.spark
from support.cases import logs_of
from support.find_java import use_java

BINDING = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
QUIET = {"spark.ui.showConsoleProgress": "false"}
# The default, 200, is 200 tasks for each shuffle of a few rows.
FEW_TASKS = {"spark.sql.shuffle.partitions": "2"}
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"


def print_step(step, value):
    print(json.dumps({step: value}), flush=True)


def planned(frame):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        frame.explain()
    return output.getvalue()


def keys(frame):
    return sorted(row["trip_id"] for row in frame.select("trip_id").collect())


def failure(action):
    try:
        action()
    except Exception as error:  # noqa: BLE001
        return str(error)
    return None


def stream_to(spark, table, folder, **options):
    """Returns what a stream of the table has written to the folder when it has processed all commits."""
    stream = spark.readStream.format("mortice").options(**options).load(table)
    writer = stream.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
    query = writer.trigger(availableNow=True).start(f"{folder}/rows")
    if not query.awaitTermination(200):
        raise TimeoutError("the stream did not end")
    return keys(spark.read.parquet(f"{folder}/rows"))


def write_and_merge(spark, path):
    """Writes a new table by a bucket index and one by the simple index, updates, deletes and merges; returns their
    rows."""
    columns, found = "id string, city string, fare double, ts long", {}
    for index in ("SIMPLE", "BUCKET"):
        uri = f"{path}/{index}"
        options = {
            "hoodie.table.name": "trips",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "city",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.index.type": index,
        }
        rows = [(f"k{at}", "ab"[at % 2], float(at), 1) for at in range(20)]
        mortice.spark.write(spark.createDataFrame(rows, columns), uri, options=options)
        newer = [("k1", "b", 0.5, 2), ("k20", "a", 20.0, 1)]
        mortice.spark.write(spark.createDataFrame(newer, columns), uri, options=options)
        mortice.spark.write(spark.createDataFrame(rows[2:5], columns), uri, "delete", options=options)
        changed = [("k5", "b", -1.0, 3), ("k30", "a", 30.0, 3)]
        if index == "SIMPLE":
            options |= {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
        mortice.spark.merge_into(
            spark.createDataFrame(changed, columns), uri, when_matched_update=["fare", "ts"], options=options
        )
        found[index] = sorted((row["id"], row["fare"]) for row in mortice.spark.read(spark, uri).collect())
    print_step("read by spark", planned(mortice.spark.read(spark, f"{path}/SIMPLE")))
    timeline = mortice.Table(f"{path}/SIMPLE").timeline
    [clustered] = [one for one in map(timeline.metadata, timeline) if one and one.get("operationType") == "CLUSTER"]
    print_step("clustered", [one["path"] for of in clustered["partitionToWriteStats"].values() for one in of])
    return found


def main(table, partitioned, folder):
    use_java()
    # Workers must run the Python that has mortice.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    logging.getLogger("pyspark.sql.connect").setLevel(logging.ERROR)
    builder = SparkSession.builder.remote("local[2]")
    for name, value in (BINDING | QUIET | FEW_TASKS).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    print_step("session", type(spark).__module__)
    print_step("source", keys(spark.read.format("mortice").load(table)))
    mortice.spark.register(spark)
    print_step("registered", keys(spark.read.format("mortice").load(table)))
    options = {"columns": "fare,trip_id", "filters": '[["city", "=", "oslo"]]'}
    print_step("options", spark.read.format("mortice").options(**options).load(table).toArrow().to_pylist())
    spark.sql(f"create or replace temporary view trips using mortice options (path '{table}')")
    print_step("sql", spark.sql("select count(*) as rows from trips").first()["rows"])
    print_step("arrow", keys(mortice.spark.read(spark, table)))
    print_step("to_spark", keys(mortice.Table(table).snapshot(columns=["trip_id"]).to_spark(spark)))
    print_step("partitioned", mortice.spark.read(spark, partitioned).count())
    print_step("empty", mortice.spark.read(spark, table, as_of="20200101000000000").count())
    many = {"mortice.split.bytes": 200_000}
    found = mortice.spark.read(spark, partitioned, options=many).select(F.spark_partition_id()).distinct().count()
    print_step("tasks", found)
    other = spark.range(10**7).selectExpr("cast(id as string) as trip_id")
    print_step("small", planned(other.join(mortice.spark.read(spark, table, columns=["trip_id"]), "trip_id")))
    spark.conf.set(THRESHOLD, "1000b")
    print_step("large", planned(other.join(mortice.spark.read(spark, table, columns=["trip_id"]), "trip_id")))
    spark.conf.unset(THRESHOLD)
    spark.conf.set("hoodie.datasource.query.type", "read_optimized")
    print_step("configured", mortice.spark.read(spark, table, columns=["trip_id"]).count())
    spark.conf.unset("hoodie.datasource.query.type")
    print_step("stream", stream_to(spark, table, folder))
    print_step("stream again", stream_to(spark, table, folder))
    print_step("wrong start", failure(lambda: stream_to(spark, table, f"{folder}/wrong", start="yesterday")))
    print_step(
        "wrong option", failure(lambda: spark.read.format("mortice").option("mortice.nope", "1").load(table).schema)
    )
    print_step("written", write_and_merge(spark, f"{folder}/written"))
    raising = {"mortice.on_corrupt": "raise"}
    log = logs_of(table)[-1]
    log.write_bytes(log.read_bytes()[:-100])
    print_step("error of the source", failure(spark.read.format("mortice").options(**raising).load(table).collect))
    print_step("error of the arrow", failure(mortice.spark.read(spark, table, options=raising).collect))
    print_step("log", log.name)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
