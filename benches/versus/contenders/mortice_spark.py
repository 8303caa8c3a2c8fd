"""mortice on Spark: `mortice.spark.read` (mapInArrow) on Spark 3.5, like Hudi, and the data source on Spark 4."""

from versus.contenders.contender import READS
from versus.contenders.spark_reader import SparkReader


class MorticeOnSpark(SparkReader):
    """Base class of both entry points."""

    kinds = READS

    def version(self):
        import mortice

        return f"{mortice.__version__}, {super().version()}"


class MorticeMapInArrow(MorticeOnSpark):
    name = "mortice mapInArrow"
    home = "spark35"

    def frame(self, query):
        import mortice.spark

        kind, columns = query["kind"], query.get("columns")
        if kind == "aggregate":
            columns = ["i0", "l0", "s0", "t0"]
        return mortice.spark.read(
            self.spark,
            query["path"],
            columns=["_hoodie_record_key"] if kind == "count" else columns,
            filters=[("_hoodie_record_key", "=", query["key"])] if kind == "lookup" else None,
            query_type="incremental" if kind == "incremental" else "snapshot",
            as_of=query.get("instant"),
            begin=query["begin"] if kind == "incremental" else None,
        )


class MorticeDataSource(MorticeOnSpark):
    name = "mortice data source"
    home = "main"

    def frame(self, query):
        import json

        kind, columns = query["kind"], query.get("columns")
        options = {}
        if kind in {"aggregate", "count"}:
            columns = ["i0", "l0", "s0", "t0"] if kind == "aggregate" else ["_hoodie_record_key"]
        if columns:
            options["columns"] = ",".join(columns)
        if kind == "lookup":
            options["filters"] = json.dumps([["_hoodie_record_key", "=", query["key"]]])
        if kind == "as_of":
            options["as.of.instant"] = query["instant"]
        if kind == "incremental":
            options["hoodie.datasource.query.type"] = "incremental"
            options["hoodie.datasource.read.begin.instanttime"] = query["begin"]
        return self.spark.read.format("mortice").options(**options).load(query["path"])
