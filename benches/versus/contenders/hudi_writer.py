"""Hudi's own writer on Spark 3.5, the JVM warm."""

from versus.contenders.spark_writer import SparkWriter
from versus.homes import bundle

DEFAULTS = ("hoodie.parquet.small.file.limit", "hoodie.parquet.max.file.size")
"""Options of prepared tables whose defaults hold for the write."""


class HudiWriter(SparkWriter):
    def __init__(self, release):
        self.release = release
        self.name = f"Hudi {release} writer"

    def settings(self):
        return super().settings() | {
            "spark.jars": str(bundle(self.release)),
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }

    def version(self):
        return f"{self.release}, {super().version()}"

    def write(self, rows, query):
        from versus import writing
        from versus.tables import Table

        options = writing.options(Table(**query["table"]))
        if query["kind"] == "compact":
            return self.compact(query["path"], options)
        options = {name: value for name, value in options.items() if name not in DEFAULTS}
        options["hoodie.datasource.write.operation"] = query["kind"]
        rows.write.format("hudi").options(**options).mode("append").save(query["path"])
        return None

    def compact(self, path, options):
        """Plans a compaction of all slices with logs, and executes it."""
        given = {name: value for name, value in options.items() if name.startswith("hoodie.metadata.")}
        given["hoodie.compact.inline.max.delta.commits"] = "1"
        text = ",".join(f"{name}={value}" for name, value in given.items())
        call = f"call run_compaction(op => 'scheduleandexecute', path => '{path}', options => '{text}')"
        if not self.spark.sql(call).collect():
            raise RuntimeError("nothing was compacted")
