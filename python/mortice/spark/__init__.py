"""mortice for PySpark.

    import mortice.spark

    # Spark 3.5 and later
    frame = mortice.spark.read(spark, "/lake/trips", columns=["rider", "fare"], filters=[("fare", ">", 3)])
    # Spark 4 and later
    frame = spark.read.format("mortice").load("/lake/trips")

Both return the same rows; `read` needs less CPU time in the JVM. Spark does not prune columns of a Python data source:
name the columns that the query needs. `count` counts rows without sending them to the JVM. `write` writes a DataFrame
to a table, `stream_writer` the batches of a stream; `merge_into` merges one by key, `merge` by any condition with
several clauses; `update_where` updates rows, `delete_where` deletes them, `erase` also from all files. `compact` merges
log files of a table into base files, `log_compact` into log files; `cluster` writes small file groups to larger ones;
`build_metadata` builds a metadata table, also with a record index; `verify` looks for what is wrong with a table and
its record keys. `merge_udf` returns a function that merges rows of DataFrames by Hudi's rules. `sql` runs SQL
statements, also those that Spark does not run on a Python data source.
pyspark is imported only when one of these is called.
"""

from typing import TYPE_CHECKING, NoReturn

from mortice.spark.execution.data_frame import Metrics
from mortice.spark.merge_udf import merge_udf
from mortice.spark.merges import merge, merge_into, update_where
from mortice.spark.reading.read import count, read
from mortice.spark.register import register
from mortice.spark.statements.run import sql
from mortice.spark.writing.deletes import delete_where, erase
from mortice.spark.writing.services import build_metadata, cluster, compact, log_compact, verify
from mortice.spark.writing.write import write
from mortice.spark.writing.write_stream import stream_writer
from mortice.values import other_names

__all__ = [
    "Metrics",
    "build_metadata",
    "cluster",
    "compact",
    "count",
    "delete_where",
    "erase",
    "log_compact",
    "merge",
    "merge_into",
    "merge_udf",
    "read",
    "register",
    "sql",
    "stream_writer",
    "update_where",
    "verify",
    "write",
]


if not TYPE_CHECKING:  # which must go on to report unknown names

    def __getattr__(name: str) -> NoReturn:
        """Raises the error for a name that does not exist."""
        raise other_names.missing_attribute("module 'mortice.spark'", name, other_names.names_of("spark"), __all__)
