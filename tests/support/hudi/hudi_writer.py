"""Hudi on Spark as a writer, in a separate process.

    python -m support.hudi.hudi_writer <jar> <table> <commits> [option=value …]

Commit n writes every key again with the value n, and one new key, as `live_table` does. The number of each commit is
printed when it is complete. Compaction, cleaning and archiving run as often as Hudi can be configured to.
"""

import sys

from pyspark.sql import SparkSession

from support.find_java import use_java

PARTITIONS = 3
OPTIONS = {
    "hoodie.table.name": "live",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.embed.timeline.server": "false",
    "hoodie.markers.type": "DIRECT",
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.clean.automatic": "true",
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}


def session(jar, settings=()):
    """Returns a small Spark session with Hudi, with these settings besides."""
    use_java()
    builder = SparkSession.builder.master("local[1]").appName("writer")
    for name, value in {
        "spark.jars": jar,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        **dict(settings),
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(jar, table, commits, *options):
    spark = session(jar)
    spark.sparkContext.setLogLevel("OFF")
    settings = {**OPTIONS, **dict(option.split("=", 1) for option in options)}
    for commit in range(1, int(commits) + 1):
        rows = [(str(key), f"p{key % PARTITIONS}", commit, commit) for key in range(commit)]
        frame = spark.createDataFrame(rows, "id string, part string, value long, ts long").coalesce(1)
        frame.write.format("hudi").options(**settings).mode("append").save(table)
        print(commit, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
