"""hudi-rs: `hudi` of PyPI."""

from versus.contenders.arrow_reader import ArrowReader
from versus.contenders.contender import READS


class HudiRs(ArrowReader):
    name = "hudi-rs"
    home = "rivals"
    kinds = (*READS, "plan")

    def version(self):
        from importlib.metadata import version

        return version("hudi")
