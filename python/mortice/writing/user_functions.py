"""Functions of users that a write calls: validators and partitioners.

Validators check the table as a write would leave it, before the write is completed: the counterpart of Hudi's
`hoodie.precommit.validators`. One that raises an exception, or returns False, refuses the commit: the write is rolled
back, and the exception is raised again.

Partitioners of bulk inserts choose an output for each row: the counterpart of
`hoodie.bulkinsert.user.defined.partitioner.class`, on Arrow columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice.errors import InvalidArgumentError, MorticeError
from mortice.values.argument_types import ArrowRows

if TYPE_CHECKING:
    from mortice import _mortice

__all__ = [
    "OUTPUT",
    "CommitCheck",
    "Partitioner",
    "Validator",
    "check_partitioner",
    "checked_validators",
    "outputs_of",
    "partitioned",
    "validated",
]

Validator = Callable[[Any], object]
"""A function of the `Table` as the write would leave it."""


def checked_validators(validators: object) -> tuple[Validator, ...]:
    """Returns the functions. Raises `InvalidArgumentError`."""
    if not isinstance(validators, Sequence) or not all(callable(one) for one in validators):
        raise InvalidArgumentError(f"validators must be functions of a table, got {validators!r}")
    return tuple(validators)


class CommitCheck:
    """The function that the native module calls before it completes the write.

    Args:
        validators: The functions, called in this order.
        opened: Makes a `Table` of a native one.
    """

    def __init__(self, validators: Sequence[Validator], opened: Callable[[_mortice.Table], object]) -> None:
        self._validators = validators
        self._opened = opened
        self.error: BaseException | None = None

    def __call__(self, native: _mortice.Table) -> None:
        """Calls the validators. Keeps and raises the exception of the first one that refuses the commit."""
        try:
            table = self._opened(native)
            for validator in self._validators:
                _call(validator, table)
        except BaseException as error:
            self.error = error
            raise


def _call(validator: Validator, table: object) -> None:
    if validator(table) is False:
        name = getattr(validator, "__name__", repr(validator))
        raise InvalidArgumentError(f"the validator {name} refused the commit")


@contextmanager
def validated(
    validators: Sequence[Validator], opened: Callable[[_mortice.Table], object]
) -> Iterator[CommitCheck | None]:
    """Gives the function for the native module; None without validators. Raises what a validator raised.

    Args:
        validators: The functions.
        opened: As for `CommitCheck`.
    """
    if not validators:
        yield None
        return
    check = CommitCheck(validators, opened)
    try:
        yield check
    except MorticeError as error:
        if check.error is None or check.error is error:
            raise
        # The cause says so if the rollback has failed.
        raise check.error from error


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
