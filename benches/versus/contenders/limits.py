"""Lower bounds for all contenders: a copy of the bytes, decoding of the base files only, Spark's own scan of them.

They merge nothing, so their rows are not compared.
"""

from versus.contenders.contender import Contender, NotSupported
from versus.contenders.spark_reader import SparkReader

CHUNK = 1 << 20
BATCH_ROWS = 65_536


class Memcpy(Contender):
    """Copies the bytes of the log files in memory."""

    name = "memcpy of the log"
    kinds = ("decode", "read")
    is_limit = True

    def start(self, _cores):
        import numpy

        self.numpy = numpy

    def version(self):
        return f"numpy {self.numpy.__version__}"

    def prepare(self, query):
        if not query["logs"]:
            raise NotSupported("there is no log")
        self.bytes = [self.numpy.fromfile(path, dtype=self.numpy.uint8) for path in query["logs"]]
        self.copies = [self.numpy.empty_like(bytes_) for bytes_ in self.bytes]

    def run(self, query):  # noqa: ARG002 (uses what `prepare` stored)
        for copy, bytes_ in zip(self.copies, self.bytes, strict=True):
            self.numpy.copyto(copy, bytes_)


class PyarrowParquet(Contender):
    """pyarrow decodes the base files only."""

    name = "base files by pyarrow"
    kinds = ("read",)
    is_limit = True

    def start(self, cores):
        import pyarrow
        import pyarrow.parquet

        self.pyarrow = pyarrow
        pyarrow.set_cpu_count(cores)

    def version(self):
        return self.pyarrow.__version__

    def run(self, query):
        rows = 0
        for path in query["bases"]:
            with self.pyarrow.parquet.ParquetFile(path) as file:
                rows += sum(batch.num_rows for batch in file.iter_batches(BATCH_ROWS, columns=query.get("columns")))
        return rows


class SparkParquet(SparkReader):
    """Spark's Parquet source reads the base files only."""

    name = "base files by Spark"
    home = "spark35"
    kinds = ("read",)
    is_limit = True

    def frame(self, query):
        return self.spark.read.parquet(*query["bases"])

    def answer(self, query, path):
        return Contender.answer(self, query, path)
