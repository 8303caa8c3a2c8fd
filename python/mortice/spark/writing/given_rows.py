"""The user's rows as a write takes them: timestamps of the table's kind, and shuffled by a user-defined partitioner.

A partitioner of a bulk insert runs in tasks, on the batches that Spark makes of the DataFrame. All rows with one
integer that it returns come to one task, in the order of the DataFrame, and that task writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice.errors import UnsupportedError
from mortice.spark.execution.worker import WorkerOptions
from mortice.spark.statements.parameters import quoted
from mortice.writing.user_functions import OUTPUT, Partitioner, check_partitioner, outputs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import TimestampNTZType, TimestampType


def cast_timestamps(df: DataFrame, table: pa.Schema) -> DataFrame:
    """Returns a DataFrame whose timestamps have a time zone where the table's columns have one.

    Spark converts between the two by the session's time zone, as for `INSERT INTO` (store assignment). Fields of
    structs, lists and maps are not converted.

    Returns:
        The same DataFrame if no column differs.
    """
    from pyspark.sql.types import TimestampNTZType, TimestampType

    types = {field.name: field.type for field in table}
    casts: dict[str, TimestampType | TimestampNTZType] = {}
    for field in df.schema:
        stored = types.get(field.name)
        if stored is None or not pa.types.is_timestamp(stored):
            continue
        if isinstance(field.dataType, TimestampType) and stored.tz is None:
            casts[field.name] = TimestampNTZType()
        elif isinstance(field.dataType, TimestampNTZType) and stored.tz is not None:
            casts[field.name] = TimestampType()
    if not casts:
        return df
    columns = []
    for name in df.columns:
        column = df[quoted(name)]
        columns.append(column.cast(casts[name]).alias(name) if name in casts else column)
    return df.select(*columns)


NUMBER = "_mortice_number"
"""A column that is not written: where a row is in the DataFrame."""


class AddOutputs:
    """A function for `mapInArrow` that adds the output of each row. The last column is the number, which the user's
    function does not get.
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
