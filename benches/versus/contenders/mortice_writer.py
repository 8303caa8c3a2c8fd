"""mortice as a writer: in Python, of Arrow data in memory, and on Spark 3.5, like Hudi."""

import pyarrow as pa
import pyarrow.parquet as pq

from versus.contenders.contender import WRITES, Contender, NotSupported
from versus.contenders.spark_writer import SparkWriter


def checked():
    """Returns the module; refuses one that was built without optimisation."""
    import mortice

    if mortice._mortice.debug_build:  # noqa: SLF001
        raise RuntimeError("this mortice was built without optimisation: nothing is measured with it")
    return mortice


def compacted(commit):
    """Makes sure that there was something to compact. The number of rows is not known."""
    if commit is None:
        raise RuntimeError("nothing was compacted")


class MorticeWriter(Contender):
    name = "mortice writer"
    kinds = WRITES

    def start(self, cores):
        self.mortice = checked()
        self.rows = None
        pa.set_cpu_count(cores)

    def version(self):
        return self.mortice.__version__

    def prepare(self, query):
        if query["kind"] == "compact":
            return
        if self.rows is None or self.rows[0] != query["rows"]:
            self.rows = query["rows"], pq.read_table(query["rows"])

    def run(self, query):
        if query["kind"] == "compact":
            return compacted(self.mortice.Table(query["path"]).compact().commit)
        rows = self.rows[1]
        if query["kind"] in {"insert", "bulk_insert"}:
            table = self.mortice.create_table(
                query["path"], rows.schema, name="versus", record_key="key", ordering="ts"
            )
            getattr(table, query["kind"])(rows)
        else:
            self.mortice.Table(query["path"]).upsert(rows)
        return rows.num_rows


class MorticeSparkWriter(SparkWriter):
    name = "mortice.spark.write"

    def version(self):
        import mortice

        return f"{mortice.__version__}, {super().version()}"

    def prepare(self, query):
        checked()
        import mortice.spark

        if not hasattr(mortice.spark, "write"):
            raise NotSupported("this mortice has no mortice.spark.write")
        super().prepare(query)

    def write(self, rows, query):
        import mortice.spark

        if query["kind"] == "compact":
            return compacted(mortice.spark.compact(self.spark, query["path"]).commit)
        options = {
            "hoodie.table.name": "versus",
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.datasource.write.recordkey.field": "key",
            "hoodie.datasource.write.precombine.field": "ts",
        }
        mortice.spark.write(rows, query["path"], operation=query["kind"], mode="append", options=options)
        return None
