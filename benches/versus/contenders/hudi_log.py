"""Hudi's reader of log files in Java, without Spark: every record is decoded by Avro's GenericDatumReader, without
columns. The JVM is warm; py4j passes the file, and the loop over records runs in Java.
"""

import os
import sys

from versus.contenders.contender import Contender
from versus.homes import REPOSITORY, bundle

RELEASE = "1.2.0"


class HudiLog(Contender):
    name = "Hudi's log reader"
    home = "spark35"
    kinds = ("decode",)

    def start(self, _cores):
        sys.path.insert(0, os.fspath(REPOSITORY / "tests"))
        from support.hudi.hudi_reader import HudiReader

        self.reader = HudiReader(bundle(RELEASE))

    def version(self):
        return RELEASE

    def run(self, query):
        return sum(self.reader.decode(path) for path in query["logs"])

    def answer(self, query, path):
        (log,) = query["logs"]
        self.reader.write_records(log, path)
