"""Mergers of one's own, for tables whose payload class or record merger is not Hudi's.

    def keep_the_higher(older: pa.RecordBatch, newer: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array]:
        higher = pc.greater_equal(newer["fare"], older["fare"])
        columns = [pc.if_else(higher, new, old) for old, new in zip(older.columns, newer.columns)]
        return pa.RecordBatch.from_arrays(columns, schema=newer.schema), pa.array([True] * len(newer))

    mortice.register_merger("com.example.HigherFarePayload", keep_the_higher)

A function is asked for many keys at once, never for each row. Its two batches have the same number of rows, all columns
of the table, and in each row two records of the same key, the older one first. It gives back as many rows, in the same
columns, and a mask: where that is false, the key is deleted. The records of a key are merged from the oldest in the log
to the newest, and what comes of that is merged over the base row. Deletes are not shown to it: a delete takes away what
came before, and later records begin anew.

It runs where the rows are read: in threads of this process, one at a time, and on the executors of Spark, to which it
travels by pickling (with cloudpickle, where that is installed, as it is with Spark). The Spark source plans in a
process of its own, which knows nothing of this one: name the function there, with the option `mortice.merger`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.options import checked_name

__all__ = ["Merge", "Merging", "checked_merge", "imported", "merging_of", "register_merger"]

Merge = Callable[[pa.RecordBatch, pa.RecordBatch], tuple[pa.RecordBatch, Any]]

_KEEP = "keep"
_registered: dict[str, Merge] = {}


def register_merger(name: str, merge: Merge | None) -> None:
    """Says how tables are merged that ask for a payload class, or for a record merger by its strategy's id.

    `name` is that class or id, as it stands in the message that refuses such a table. Later queries of this process go
    by it; None takes it back.
    """
    name = checked_name("name", name)
    if merge is None:
        _registered.pop(name, None)
        return
    _registered[name] = checked_merge(merge)


def checked_merge(merge: Merge) -> Merge:
    """The merger, if it can be called."""
    if not callable(merge):
        raise InvalidArgumentError(f"a merger must be a function of two record batches, got {merge!r}")
    return merge


def imported(text: str) -> Merge:
    """The function that `package.module:function` names."""
    module, _, name = text.partition(":")
    try:
        merge = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidArgumentError(f"a merger is named as package.module:function, not {text!r}: {error}") from error
    return cast("Merge", merge)


def merging_of(name: str | None) -> Merging | None:
    """The merger registered under a name, as the core calls it."""
    merge = None if name is None else _registered.get(name)
    return None if name is None or merge is None else Merging(name, merge)


class Merging:
    """A registered function, checked: its rows with the mask as their last column."""

    def __init__(self, name: str, merge: Merge) -> None:
        self.name = name
        self.merge = merge

    def __call__(self, older: Any, newer: Any) -> pa.RecordBatch:
        """Merges batches of the core (`__arrow_c_array__`)."""
        older, newer = pa.record_batch(older), pa.record_batch(newer)
        answer = self.merge(older, newer)
        if not isinstance(answer, tuple) or len(answer) != 2:  # noqa: PLR2004
            raise TypeError(f"the merger of {self.name} gave {type(answer).__name__}, not (rows, mask)")
        rows, keep = answer
        if set(rows.schema.names) != set(newer.schema.names) or len(rows.schema) != len(newer.schema):
            raise ValueError(f"the merger of {self.name} gave other columns than the table has: {rows.schema.names}")
        # In the table's order and types, whatever the function made of them.
        columns = [_one(rows[field.name]).cast(field.type) for field in newer.schema]
        mask = _one(keep if isinstance(keep, (pa.Array, pa.ChunkedArray)) else pa.array(keep, pa.bool_()))
        return pa.RecordBatch.from_arrays([*columns, mask], names=[*newer.schema.names, _KEEP])


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
