"""Base class of contenders that return a Spark DataFrame: rows are written to Spark's `noop`, aggregates and counts are
returned to the driver.

The session lives as long as the process, so that the JVM is warm.
"""

import os
import sys
from abc import abstractmethod

from versus.contenders.contender import Contender

HEAP = os.environ.get("VERSUS_HEAP", "2g")


class SparkReader(Contender):
    """Subclasses implement `frame`, and `settings` if the session needs more."""

    @abstractmethod
    def frame(self, query):
        """Returns the rows of a query."""

    def settings(self):
        """Returns further settings of the session."""
        return {}

    def start(self, cores):
        from pyspark.sql import SparkSession

        from support.find_java import use_java

        use_java()
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        settings = {
            "spark.driver.memory": HEAP,
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.executor.heartbeatInterval": "60s",
            "spark.network.timeout": "600s",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": str(cores),
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        }
        builder = SparkSession.builder.master(f"local[{cores}]")
        for name, value in (settings | self.settings()).items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("OFF")

    def version(self):
        return f"Spark {self.spark.version}"

    def result(self, query):
        """Returns the DataFrame of a query, with its aggregates."""
        from pyspark.sql import functions as f

        rows = self.frame(query)
        if query["kind"] == "count":
            return rows.agg(f.count("*").alias("rows"))
        if query["kind"] == "aggregate":
            return rows.agg(
                f.count("*").alias("rows"),
                f.sum("i0").alias("sum_i0"),
                f.min("l0").alias("min_l0"),
                f.max("l0").alias("max_l0"),
                f.min("s0").alias("min_s0"),
                f.max("t0").alias("max_t0"),
            )
        return rows.select(*query["columns"]) if query.get("columns") else rows

    def run(self, query):
        result = self.result(query)
        if query["kind"] in {"count", "aggregate", "lookup"}:
            return len(result.collect())
        result.write.format("noop").mode("overwrite").save()
        return None

    def answer(self, query, path):
        self.result(query).write.mode("overwrite").parquet(path)
