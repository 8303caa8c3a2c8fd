"""User-defined mergers, for tables whose payload class or record merger is not one of Hudi's.

    def keep_the_higher(older: pa.RecordBatch, newer: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array]:
        higher = pc.greater_equal(newer["fare"], older["fare"])
        columns = [pc.if_else(higher, new, old) for old, new in zip(older.columns, newer.columns)]
        return pa.RecordBatch.from_arrays(columns, schema=rows_after.schema), pa.array([True] * len(newer))

    mortice.register_merger("com.example.HigherFarePayload", keep_the_higher)

A function is called for many keys at once, never for each row. Its two batches have the same number of rows and all
columns of the table. Row i of both is a record of the same key, the older one in the first batch. It returns as many
rows with the same columns, and a mask that is false for keys that are deleted. The records of a key are merged from the
oldest to the newest in the log, and the result is merged with the base row. Deletes are not passed to the function: a
delete removes all earlier records, and later records start over.

The function runs where the rows are read: in threads of this process, one at a time, and on Spark's executors, to which
it is pickled (with cloudpickle if that is installed, as it is with Spark). `format("mortice")` is planned in a separate
process, which does not know the registered functions: name the function there in the option `mortice.merger`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.values.argument_types import ArrowArray
from mortice.values.options import checked_name

__all__ = ["Merge", "Merging", "checked_merge", "imported", "merging_of", "register_merger"]

Merge = Callable[[pa.RecordBatch, pa.RecordBatch], tuple[pa.RecordBatch, pa.Array | Sequence[bool]]]

_KEEP = "keep"
_registered: dict[str, Merge] = {}


def register_merger(name: str, merge: Merge | None) -> None:
    """Registers the function that merges records of a payload class, or of a record merger.

    `name` is the class or the strategy id, as in the error that tables without a registered merger raise. Later queries
    of this process use it; None removes it.
    """
    name = checked_name("name", name)
    if merge is None:
        _registered.pop(name, None)
        return
    _registered[name] = checked_merge(merge)


def checked_merge(merge: Merge) -> Merge:
    """Returns the merger if it is callable."""
    if not callable(merge):
        raise InvalidArgumentError(f"a merger must be a function of two record batches, got {merge!r}")
    return merge


def imported(text: str) -> Merge:
    """Imports the function that `package.module:function` names."""
    module, _, name = text.partition(":")
    try:
        merge = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidArgumentError(
            f"a merger must be named as package.module:function, got {text!r}: {error}"
        ) from error
    return cast("Merge", merge)


def merging_of(name: str | None) -> Merging | None:
    """Returns the merger registered under a name, as the core calls it."""
    merge = None if name is None else _registered.get(name)
    return None if name is None or merge is None else Merging(name, merge)


class Merging:
    """A registered function and checks of its result: rows with the mask as their last column."""

    def __init__(self, name: str, merge: Merge) -> None:
        self.name = name
        self.merge = merge

    def __call__(self, older: ArrowArray, newer: ArrowArray) -> pa.RecordBatch:
        """Merges batches of the core (`__arrow_c_array__`)."""
        rows_before, rows_after = pa.record_batch(older), pa.record_batch(newer)
        answer = self.merge(rows_before, rows_after)
        if not isinstance(answer, tuple) or len(answer) != 2:  # noqa: PLR2004
            raise TypeError(f"the merger of {self.name} must return (rows, mask), got {type(answer).__name__}")
        rows, keep = answer
        if set(rows.schema.names) != set(rows_after.schema.names) or len(rows.schema) != len(rows_after.schema):
            raise ValueError(f"the merger of {self.name} must return the table's columns, got {rows.schema.names}")
        # In the table's order and types, which the function may have changed.
        columns = [_one(rows[field.name]).cast(field.type) for field in rows_after.schema]
        mask = _one(keep if isinstance(keep, (pa.Array, pa.ChunkedArray)) else pa.array(keep, pa.bool_()))
        return pa.RecordBatch.from_arrays([*columns, mask], names=[*rows_after.schema.names, _KEEP])


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
