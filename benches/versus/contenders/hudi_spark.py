"""Hudi on Spark 3.5: its bundle's own source, the JVM warm."""

from versus.contenders.contender import READS
from versus.contenders.spark_reader import SparkReader
from versus.homes import bundle

OPTIONS = {"as_of": ("as.of.instant", "instant"), "incremental": ("hoodie.datasource.read.begin.instanttime", "begin")}


class HudiSpark(SparkReader):
    home = "spark35"
    kinds = (*READS, "plan")

    def __init__(self, release):
        self.release = release
        self.name = f"Hudi {release} on Spark"

    def refuses(self, query):
        older = _numbers(self.release) < _numbers(query["release"])
        return f"it does not read tables of Hudi {query['release']}" if older else ""

    def settings(self):
        return {
            "spark.jars": str(bundle(self.release)),
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }

    def version(self):
        return f"{self.release}, {super().version()}"

    def frame(self, query):
        kind, reader = query["kind"], self.spark.read.format("hudi")
        reader = reader.option("hoodie.datasource.query.type", "incremental" if kind == "incremental" else "snapshot")
        reader = reader.option("hoodie.metadata.enable", str(query.get("metadata", True)).lower())
        if kind in OPTIONS:
            option, value = OPTIONS[kind]
            reader = reader.option(option, query[value])
        rows = reader.load(query["path"])
        return rows.where(rows["_hoodie_record_key"] == query["key"]) if kind == "lookup" else rows

    def run(self, query):
        if query["kind"] == "plan":
            # Hudi lists files when Spark creates the physical plan and requests its partitions.
            self.frame(query).rdd.getNumPartitions()
            return None
        return super().run(query)


def _numbers(release):
    return [int(number) for number in release.split("-")[0].split(".")]
