"""INSERT with a policy for keys that are in the table: few rows, which the driver writes as `Table.insert` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice.commit import Commit
from mortice.errors import UnsupportedError
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.merge_frame import persisted
from mortice.spark.settings.write_options import DRIVER_BYTES
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["insert_in_driver"]

_CONTENT = "content"


class _Serialized:
    """A function for `mapInArrow` that makes each batch one row, in Arrow's IPC format."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            content = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.record_batch([content], names=[_CONTENT])


def insert_in_driver(rows: DataFrame, table: Table, most: int, options: Mapping[str, Any]) -> Commit:
    """Inserts rows by one process. Spark's tasks do not look for keys when they insert.

    Args:
        rows: The rows, in the types of the table.
        table: The table.
        most: The most bytes of rows.
        options: Options of the write.

    Raises:
        UnsupportedError: The rows have more bytes.
    """
    with typed_errors(), persisted(rows.mapInArrow(_Serialized(), f"{_CONTENT} binary")) as batches:
        size = batches.selectExpr(f"sum(length({_CONTENT}))").collect()[0][0] or 0
        if size > most:
            raise UnsupportedError(
                f"an INSERT of {size} bytes of rows with a policy for keys that are in the table; the driver writes "
                f"{most} at most ({DRIVER_BYTES}): insert fewer rows, or MERGE them",
                path=table.uri,
            )
        contents = [bytes(row[0]) for row in batches.collect()]
    read = [pa.ipc.open_stream(content).read_all() for content in contents]
    data = pa.concat_tables(read) if read else pa.schema([]).empty_table()
    return table.insert(data, options)
