"""mortice for PySpark.

    import mortice.spark

    # Spark 3.5 and later
    frame = mortice.spark.read(spark, "/lake/trips", columns=["rider", "fare"], filters=[("fare", ">", 3)])
    # Spark 4 and later
    frame = spark.read.format("mortice").load("/lake/trips")

Both give the same rows. `read` costs the JVM less, since Spark prunes no columns of a Python data source; name the
columns. `count` counts rows without sending them to the JVM. `merge_udf` gives a function that merges rows of Spark's
as Hudi merges them. pyspark is imported only when one of these is called.
"""

from mortice.spark.merge_udf import merge_udf
from mortice.spark.metrics import Metrics
from mortice.spark.read import count, read
from mortice.spark.register import register

__all__ = ["Metrics", "count", "merge_udf", "read", "register"]
