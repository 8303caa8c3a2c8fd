"""User-defined partitioners of bulk inserts: functions that choose an output for each row.

They are the counterpart of Hudi's `hoodie.bulkinsert.user.defined.partitioner.class`, as Python functions on Arrow
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from mortice.errors import InvalidArgumentError, MorticeError
from mortice.values.argument_types import ArrowRows

__all__ = ["OUTPUT", "Partitioner", "check_partitioner", "outputs_of", "partitioned"]

Partitioner = Callable[[pa.RecordBatch], pa.Array | pa.ChunkedArray | Sequence[int]]
"""A function of a batch of rows. Returns an integer for each row: the number of its output."""

OUTPUT = "_mortice_output"
"""A column that is not written: the output of each row (`client/schema.rs`)."""


@contextmanager
def partitioned(data: ArrowRows, partitioner: Partitioner) -> Iterator[pa.RecordBatchReader]:
    """Yields the rows with their outputs, as a stream.

    An exception of the function ends the stream, which would lose its class, and is raised again.

    Args:
        data: Rows: anything with `__arrow_c_stream__` or `__arrow_c_array__`.
        partitioner: The function.

    Raises `InvalidArgumentError` if it is not callable.
    """
    check_partitioner(partitioner)
    is_stream = hasattr(data, "__arrow_c_stream__")
    reader = pa.RecordBatchReader.from_stream(data) if is_stream else pa.table(data).to_reader()
    failures: list[Exception] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for batch in reader:
                yield batch.append_column(OUTPUT, outputs_of(partitioner, batch))
        except Exception as error:
            failures.append(error)
            raise

    try:
        yield pa.RecordBatchReader.from_batches(reader.schema.append(pa.field(OUTPUT, pa.int64())), batches())
    except (MorticeError, pa.ArrowException):
        if failures:
            raise failures[0] from None
        raise


def check_partitioner(partitioner: Partitioner) -> None:
    """Raises `InvalidArgumentError` if it is not callable."""
    if not callable(partitioner):
        raise InvalidArgumentError(f"partitioner must be a function of a record batch, got {partitioner!r}")


def outputs_of(partitioner: Partitioner, batch: pa.RecordBatch) -> pa.Array:
    """Returns the outputs of the rows of a batch.

    Raises `InvalidArgumentError` if the function does not return an integer for each row; what the function raises.
    """
    found = partitioner(batch)
    name = getattr(partitioner, "__name__", repr(partitioner))
    try:
        outputs = found if isinstance(found, pa.Array | pa.ChunkedArray) else pa.array(found)
        outputs = outputs.cast(pa.int64())
    except (pa.ArrowException, TypeError) as error:
        raise InvalidArgumentError(f"the partitioner {name} must return integers: {error}") from error
    if isinstance(outputs, pa.ChunkedArray):
        outputs = outputs.combine_chunks()
    if len(outputs) != batch.num_rows or outputs.null_count:
        raise InvalidArgumentError(
            f"the partitioner {name} must return an integer for each of {batch.num_rows} rows, "
            f"got {len(outputs)} values and {outputs.null_count} nulls"
        )
    return outputs
