"""What `test_connect` has a process of its own do: a local server of Spark Connect, and both doors over it.

    python connect_session.py <table> <partitioned table> <folder to write into>

Prints one line of JSON for each step. A session of Connect and a classic one cannot be in one process.
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
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"


def tell(step, value):
    print(json.dumps({step: value}), flush=True)


def planned(frame):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        frame.explain()
    return said.getvalue()


def keys(frame):
    return sorted(row["trip_id"] for row in frame.select("trip_id").collect())


def failure(action):
    try:
        action()
    except Exception as error:  # noqa: BLE001
        return str(error)
    return None


def copied(spark, table, folder, **options):
    """What a stream of the table has copied into the folder once it is done with what there is."""
    stream = spark.readStream.format("mortice").options(**options).load(table)
    writer = stream.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
    query = writer.trigger(availableNow=True).start(f"{folder}/rows")
    if not query.awaitTermination(200):
        raise TimeoutError("the stream goes on")
    return keys(spark.read.parquet(f"{folder}/rows"))


def main(table, partitioned, folder):
    use_java()
    # The workers must be the Python that has mortice.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    logging.getLogger("pyspark.sql.connect").setLevel(logging.ERROR)
    builder = SparkSession.builder.remote("local[2]")
    for name, value in (BINDING | QUIET).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    tell("session", type(spark).__module__)
    tell("source", keys(spark.read.format("mortice").load(table)))
    mortice.spark.register(spark)
    tell("registered", keys(spark.read.format("mortice").load(table)))
    options = {"columns": "fare,trip_id", "filters": '[["city", "=", "oslo"]]'}
    tell("options", spark.read.format("mortice").options(**options).load(table).toArrow().to_pylist())
    spark.sql(f"create or replace temporary view trips using mortice options (path '{table}')")
    tell("sql", spark.sql("select count(*) as rows from trips").first()["rows"])
    tell("arrow", keys(mortice.spark.read(spark, table)))
    tell("to_spark", keys(mortice.Table(table).snapshot(columns=["trip_id"]).to_spark(spark)))
    tell("partitioned", mortice.spark.read(spark, partitioned).count())
    tell("empty", mortice.spark.read(spark, table, as_of="20200101000000000").count())
    many = {"mortice.split.bytes": 200_000}
    found = mortice.spark.read(spark, partitioned, options=many).select(F.spark_partition_id()).distinct().count()
    tell("tasks", found)
    other = spark.range(10**7).selectExpr("cast(id as string) as trip_id")
    tell("small", planned(other.join(mortice.spark.read(spark, table, columns=["trip_id"]), "trip_id")))
    spark.conf.set(THRESHOLD, "1000b")
    tell("large", planned(other.join(mortice.spark.read(spark, table, columns=["trip_id"]), "trip_id")))
    spark.conf.unset(THRESHOLD)
    spark.conf.set("hoodie.datasource.query.type", "read_optimized")
    tell("configured", mortice.spark.read(spark, table, columns=["trip_id"]).count())
    spark.conf.unset("hoodie.datasource.query.type")
    tell("stream", copied(spark, table, folder))
    tell("stream again", copied(spark, table, folder))
    tell("wrong start", failure(lambda: copied(spark, table, f"{folder}/wrong", start="yesterday")))
    tell("wrong option", failure(lambda: spark.read.format("mortice").option("mortice.nope", "1").load(table).schema))
    raising = {"mortice.on_corrupt": "raise"}
    log = logs_of(table)[-1]
    log.write_bytes(log.read_bytes()[:-100])
    tell("error of the source", failure(spark.read.format("mortice").options(**raising).load(table).collect))
    tell("error of the arrow", failure(mortice.spark.read(spark, table, options=raising).collect))
    tell("log", log.name)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
