"""Hudi on Spark, in a process of its own that takes commands.

    python -m support.hudi.hudi_on_spark <jar> [setting=value …]

reads commands from standard input, a JSON object on each line, and answers each with a line:

    {"read": table, "out": parquet folder, "options": {…}}            reads a table, or rows by "where", into it
    {"write": parquet file, "table": table, "options": {…}}           writes the rows of a file to a table
    {"sql": text}                                                     runs a statement
"""

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]


class HudiOnSpark:
    """The other end: starts the process, and waits for its answers."""

    def __init__(self, jar, settings=()):
        paths = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.hudi.hudi_on_spark", str(jar), *settings],
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self):
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def read(self, table, out, where=None, **options):
        self._do(read=str(table), out=str(out), where=where, options=options)

    def write(self, rows, table, options):
        self._do(write=str(rows), table=str(table), options=options)

    def sql(self, text):
        self._do(sql=text)

    def _do(self, **command):
        print(json.dumps(command), file=self._process.stdin, flush=True)
        # Java has things to say, too.
        while not (line := self._process.stdout.readline()).startswith("{"):
            assert line, "Hudi's process has ended"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]


def run(spark, command):
    options = command.get("options", {})
    if "read" in command:
        frame = spark.read.format("hudi").options(**options).load(command["read"])
        if command.get("where"):
            frame = frame.where(command["where"])
        frame.coalesce(1).write.mode("overwrite").parquet(command["out"])
    elif "write" in command:
        frame = spark.read.parquet(command["write"])
        frame.write.format("hudi").options(**options).mode("append").save(command["table"])
    else:
        spark.sql(command["sql"]).collect()


def main(jar, *settings):
    from support.hudi.hudi_writer import session

    spark = session(jar, [setting.split("=", 1) for setting in settings])
    spark.sparkContext.setLogLevel("OFF")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    # Else Hudi fails on lists with null elements.
    spark._jsc.hadoopConfiguration().set("parquet.avro.write-old-list-structure", "false")
    for line in sys.stdin:
        try:
            run(spark, json.loads(line))
            answer = {}
        except Exception as error:  # noqa: BLE001 - the other end raises it
            answer = {"error": str(error)[:4000]}
        print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
