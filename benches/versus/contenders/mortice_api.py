"""mortice in Python: reads the batches of a scan."""

from versus.contenders.arrow_reader import ArrowReader
from versus.contenders.contender import READS


class MorticeApi(ArrowReader):
    name = "mortice API"
    kinds = ("decode", *READS, "plan")

    def start(self, cores):
        import mortice

        self.cores = cores
        self.mortice = mortice
        if mortice._mortice.debug_build:  # noqa: SLF001
            raise RuntimeError("this mortice was built without optimisation: nothing is measured with it")

    def version(self):
        return self.mortice.__version__

    def table(self, query):
        return self.mortice.Table(
            query["path"],
            read_options=self.mortice.ReadOptions(threads=self.cores, use_metadata=query.get("metadata", True)),
        )

    def batches(self, query):
        if query["kind"] == "decode":
            return self.records(query)
        return self.scan(query).to_reader()

    def records(self, query):
        for path in query["logs"]:
            log = self.mortice.LogFile(path)
            for block in log.blocks():
                if block.type == "AVRO_DATA_BLOCK":
                    yield from log.record_batches(block)

    def scan(self, query):
        table, columns, kind = self.table(query), query.get("columns"), query["kind"]
        if kind == "incremental":
            return table.incremental(begin=query["begin"], columns=columns)
        filters = [("_hoodie_record_key", "=", query["key"])] if kind == "lookup" else None
        return table.snapshot(columns=columns, filters=filters, as_of=query.get("instant"))

    def count(self, query):
        return self.scan(query | {"columns": None}).count()

    def run(self, query):
        if query["kind"] == "plan":
            return len(self.table(query).snapshot().splits())
        return super().run(query)
