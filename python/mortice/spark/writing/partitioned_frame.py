"""A user-defined partitioner of a bulk insert on Spark: rows are shuffled by the integers that it returns.

The function runs in tasks, on the batches that Spark makes of the DataFrame. All rows with one integer come to one
task, in the order of the DataFrame, and that task writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice.errors import UnsupportedError
from mortice.spark.execution.worker import WorkerOptions
from mortice.writing.partitioner import OUTPUT, Partitioner, check_partitioner, outputs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["AddOutputs", "partitioned_frame"]

NUMBER = "_mortice_number"
"""A column that is not written: where a row is in the DataFrame."""


class AddOutputs:
    """A function for `mapInArrow` that adds the output of each row. The last column is the number, which the user's
    function does not get.

    Args:
        partitioner: The user's function.
    """

    def __init__(self, partitioner: Partitioner) -> None:
        self.partitioner = partitioner

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        WorkerOptions().prepare()
        for batch in batches:
            rows = batch.select(range(batch.num_columns - 1))
            yield batch.append_column(OUTPUT, outputs_of(self.partitioner, rows))


def partitioned_frame(df: DataFrame, partitioner: Partitioner, operation: str) -> DataFrame:
    """Returns the rows with their outputs, those of an output in one partition and in their order.

    Args:
        df: The user's rows.
        partitioner: The function.
        operation: The operation of the write.

    Raises:
        InvalidArgumentError: The partitioner is not callable.
        UnsupportedError: The operation is not `bulk_insert`.
    """
    from pyspark.sql.functions import monotonically_increasing_id
    from pyspark.sql.types import LongType, StructField, StructType

    check_partitioner(partitioner)
    if operation != "bulk_insert":
        raise UnsupportedError(f"a user-defined partitioner with the operation {operation} (supported: bulk_insert)")
    numbered = df.select("*", monotonically_increasing_id().alias(NUMBER))
    schema = StructType([*numbered.schema.fields, StructField(OUTPUT, LongType(), nullable=False)])
    rows = numbered.mapInArrow(AddOutputs(partitioner), schema)
    return rows.repartition(OUTPUT).sortWithinPartitions(OUTPUT, NUMBER).drop(NUMBER)
