"""The process that `test_kafka` runs: the recipe's block on events of a broker, twice, with other events between.

    python kafka_session.py <address of the broker> <folder>

Prints one line of JSON for each step: the rows of the table.
"""

import json
import pathlib
import sys

from pyspark.sql import SparkSession

import mortice
import mortice.spark
from support import kafka
from support.find_java import use_java

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "recipes-spark.md"
OPTIONS = {
    "hoodie.table.name": "events",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
}
FIRST = [("a", 1, 1.0), ("b", 1, 2.0), ("c", 1, 3.0)]
LATER = [("a", 2, 9.0), ("b", 0, 0.0), ("d", 2, 4.0)]


def block():
    """Returns the block of the page that reads from Kafka."""
    blocks = [part.split("```")[0] for part in PAGE.read_text(encoding="utf-8").split("```py\n")[1:]]
    (found,) = [text for text in blocks if '.format("kafka")' in text]
    return found


def main(address, folder):
    use_java()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(kafka.source_jars()))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    code = block().replace("kafka:9092", address).replace("/lake/", f"{folder}/lake/")
    code = code.replace("/checkpoints/", f"{folder}/checkpoints/")
    for step, events in (("first", FIRST), ("later", LATER), ("nothing new", [])):
        if events:
            frame = spark.createDataFrame(events, "id string, ts bigint, fare double")
            frame = frame.selectExpr("id AS key", "to_json(struct(*)) AS value")
            frame.write.format("kafka").option("kafka.bootstrap.servers", address).option("topic", "events").save()
        names = {"spark": spark, "mortice": mortice, "options": OPTIONS}
        exec(code, names)
        names["query"].awaitTermination()
        table = mortice.Table(f"{folder}/lake/events")
        rows = table.snapshot(columns=["id", "ts", "fare"]).to_arrow().to_pylist()
        found = sorted([row["id"], row["ts"], row["fare"]] for row in rows)
        print(json.dumps({step: {"rows": found, "commits": len(table.timeline.completed)}}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
