"""hudi-rs: `hudi` of PyPI. A table is read on one core, so its slices are assigned to one thread for each core."""

from concurrent.futures import ThreadPoolExecutor

from versus.contenders.arrow_reader import ArrowReader
from versus.contenders.contender import READS


class HudiRs(ArrowReader):
    name = "hudi-rs"
    home = "rivals"
    kinds = (*READS, "plan")

    def start(self, cores):
        import hudi

        self.hudi = hudi
        self.cores = cores

    def version(self):
        from importlib.metadata import version

        return version("hudi")

    def options(self, query):
        options, kind = self.hudi.HudiReadOptions(), query["kind"]
        if query.get("columns"):
            options = options.with_projection(query["columns"])
        if kind == "as_of":
            options = options.with_as_of_timestamp(query["instant"])
        if kind == "lookup":
            options = options.with_filters([("_hoodie_record_key", "=", query["key"])])
        if kind == "incremental":
            incremental = self.hudi.HudiQueryType.Incremental
            options = options.with_query_type(incremental).with_start_timestamp(query["begin"])
        return options

    def batches(self, query):
        table, options = self.table(query), self.options(query)
        if query["kind"] == "incremental" or self.cores == 1:
            yield from table.read(options)
            return
        reader = table.create_file_group_reader_with_options(options)
        with ThreadPoolExecutor(self.cores) as pool:
            for batch in pool.map(
                lambda slice_: reader.read_file_slice(slice_, options), table.get_file_slices(options)
            ):
                yield from batch if isinstance(batch, list) else [batch]

    def table(self, query):
        metadata = {} if query.get("metadata") else {"hoodie.metadata.enable": "false"}
        return self.hudi.HudiTable(query["path"], metadata)

    def run(self, query):
        if query["kind"] == "plan":
            return len(self.table(query).get_file_slices())
        return super().run(query)
