"""A query that writes the rows of files to a table, and, run as a script, is killed in a batch.

python -m support.stream_copy <folder> <batch> <point> [<operation>]

The point is `before commit` or `after commit` of the batch, or a number of seconds after the batch has begun, wherever
the process is then.
"""

import json
import os
import signal
import sys
import threading

import mortice.spark
from mortice.spark.writing import write_stream as module

CHECKPOINT = "_hudi_streaming_sink_checkpoint"
DDL = "id string, city string, fare double, ts bigint"
OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
}


def write_rows(folder, number, rows):
    """Writes rows to a file, which becomes a batch."""
    file = folder / "files" / f"{number}.json"
    file.parent.mkdir(exist_ok=True)
    lines = [json.dumps(dict(zip(("id", "city", "fare", "ts"), row, strict=True))) for row in rows]
    file.write_text("\n".join(lines), encoding="utf-8")
    # Spark reads files in the order of their times.
    os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def copy_files(spark, folder, operation, checkpoint="checkpoint", **options):
    """Runs a query over the files that are there, one in a batch, to its end."""
    files = spark.readStream.schema(DDL).option("maxFilesPerTrigger", "1").json(str(folder / "files"))
    writer = mortice.spark.stream_writer(folder / "table", operation, {**OPTIONS, **options})
    query = files.coalesce(1).writeStream.foreachBatch(writer)
    query = query.option("checkpointLocation", str(folder / checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(120)


def kill_in(batch, point):
    """Has the process killed, and Spark's with it, when the batch is about to be committed or was, or after a time."""
    real, batches = module.write_frame, []
    seconds = None if point.endswith(" commit") else float(point)

    def kill():
        from pyspark import SparkContext

        os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    class KilledCommit:
        """The native part of a write, without its last step."""

        def __init__(self, native):
            self.native = native

        def commit(self, *_given):
            kill()

        def __getattr__(self, name):
            return getattr(self.native, name)

    def write_frame(*arguments):
        batches.append(arguments)
        if len(batches) == batch + 1 and point == "before commit":
            write = sys.modules["mortice.spark.writing.write"]
            planned = write._planned
            write._planned = lambda *given: KilledCommit(planned(*given))
        if len(batches) == batch + 1 and seconds is not None:
            timer = threading.Timer(seconds, kill)
            timer.daemon = True
            timer.start()
        real(*arguments)
        if len(batches) == batch + 1 and seconds is None:
            kill()

    module.write_frame = write_frame


def main(folder, batch, point, operation="insert"):
    import pathlib

    from pyspark.sql import SparkSession

    from support.find_java import use_java

    use_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    kill_in(int(batch), point)
    copy_files(spark, pathlib.Path(folder), operation)


if __name__ == "__main__":
    main(*sys.argv[1:])
