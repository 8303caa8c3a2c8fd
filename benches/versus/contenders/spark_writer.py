"""Base class of contenders that write on Spark. The rows of a write are in Spark's cache before they are timed."""

import os
from abc import abstractmethod

from versus.contenders.contender import WRITES
from versus.contenders.spark_reader import SparkReader
from versus.homes import local_files

HEAP = os.environ.get("VERSUS_WRITER_HEAP", "6g")


class SparkWriter(SparkReader):
    """Subclasses implement `write`."""

    home = "spark35"
    kinds = WRITES

    def settings(self):
        return {
            "spark.driver.memory": HEAP,
            "spark.driver.extraClassPath": str(local_files()),
            "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        }

    def start(self, cores):
        super().start(cores)
        self.cached = None

    def frame(self, query):
        """The rows to write; None for compactions."""
        if query["kind"] == "compact":
            return None
        if self.cached is None or self.cached[0] != query["rows"]:
            if self.cached:
                self.cached[1].unpersist(blocking=True)
            rows = self.spark.read.parquet(query["rows"]).persist()
            rows.count()
            self.cached = query["rows"], rows
        return self.cached[1]

    def prepare(self, query):
        self.frame(query)

    @abstractmethod
    def write(self, rows, query):
        """Writes the rows, or compacts the table; returns how many rows, or None if that is unknown."""

    def run(self, query):
        return self.write(self.frame(query), query)
