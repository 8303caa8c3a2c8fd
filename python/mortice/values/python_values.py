"""Values of Python as Arrow arrays of a table's types, without a change of any of them.

`pyarrow.array` cuts 1.5 to 1 for a column of integers, a time to its date and a zone to none, and leaves out the fields
of a dict that a struct does not have.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from mortice.errors import InvalidArgumentError

__all__ = ["are_kept", "array_of"]

_INFERRED = (pa.int64(), pa.float64(), pa.string(), pa.bool_())
"""Types that pyarrow gives only to values which they hold."""


def array_of(values: Iterable[object], kind: pa.DataType | None, name: str) -> pa.Array | pa.ChunkedArray:
    """Returns values as an array of a type if each of them stays what it is, and of the type that they have otherwise:
    the write refuses those that the column does not hold, and names row and column.

    A float is rounded to the nearest of a column of 32 bits, as Python has no such floats.

    Args:
        values: A list, an array of numpy or a series of pandas.
        kind: The type of the column; None for one that the table does not have.
        name: The name of the column.

    Raises:
        InvalidArgumentError: A nested value is not one of the type.
        pyarrow.ArrowException, TypeError, ValueError, OverflowError: The values have no type in common.
    """
    if str(getattr(values, "dtype", "object")) != "object":
        return pa.array(values)
    inferred = _made(values, None)
    if inferred is not None and inferred.type == kind and kind in _INFERRED:
        return inferred
    if kind is not None and (typed := _made(values, kind)) is not None:
        if inferred is not None and _holds(kind, inferred.type):
            return typed
        changed = _first_changed(values, typed)
        if changed is None:
            return typed
        if pa.types.is_nested(kind):
            # The type that pyarrow finds lacks the fields that no value has.
            value = list(values)[changed]
            raise InvalidArgumentError(
                f"row {changed}, column {name!r}: the value {value!r} is not exactly one of the table's {kind}; change "
                "the value before the write"
            )
    if inferred is not None and are_kept(values, inferred):
        return inferred
    # Raises what is wrong, unless pyarrow would change a value.
    pa.array(values)
    raise ValueError(f"the values of column {name!r} have no type in common")


def _made(values: object, kind: pa.DataType | None) -> pa.Array | None:
    try:
        return pa.array(values, type=kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _holds(kind: pa.DataType, inferred: pa.DataType) -> bool:
    """Returns true if pyarrow makes an array of a type only of values that it holds, as it refuses others.

    Args:
        kind: The type.
        inferred: The type that pyarrow finds for the values.
    """
    types = pa.types
    if types.is_struct(kind) and types.is_struct(inferred):
        known = {kind.field(at).name: kind.field(at).type for at in range(kind.num_fields)}
        fields = [inferred.field(at) for at in range(inferred.num_fields)]
        return all(field.name in known and _holds(known[field.name], field.type) for field in fields)
    if types.is_list(kind) and types.is_list(inferred):
        return _holds(kind.value_type, inferred.value_type)
    is_integer = types.is_integer(kind) and types.is_integer(inferred)
    is_decimal = types.is_decimal(kind) and types.is_decimal(inferred)
    return is_integer or is_decimal or types.is_null(inferred) or (kind == inferred and kind in _INFERRED)


def _first_changed(values: Iterable[object], array: pa.Array) -> int | None:
    pairs = zip(values, array.to_pylist(), strict=True)
    return next((at for at, pair in enumerate(pairs) if not _is_kept(*pair, array.type)), None)


def are_kept(values: Iterable[object], array: pa.Array | pa.ChunkedArray) -> bool:
    """Returns true if values of Python and those of an array are the same.

    Args:
        values: The values.
        array: What pyarrow has made of them, in a type that it found itself.
    """
    return array.type in _INFERRED or _first_changed(values, array) is None


def _is_kept(value: Any, stored: Any, kind: pa.DataType) -> bool:
    """Returns true if a value of Python and the one that pyarrow has made of it for a type are the same.

    Args:
        value: The value.
        stored: What the array has.
        kind: The type of the array.
    """
    if stored is None:
        # pyarrow makes nulls of None, NaT and NA only.
        return True
    if pa.types.is_struct(kind):
        return _are_fields_kept(value, stored, kind)
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, Mapping) else value
        return _are_pairs_kept((part for pair in pairs for part in pair), stored, (kind.key_type, kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return all(_is_kept(*pair, kind.value_type) for pair in zip(value, stored, strict=True))
    if pa.types.is_floating(kind):
        return _is_float_kept(value, stored, kind)
    if pa.types.is_timestamp(kind) and isinstance(value, dt.datetime) and (value.tzinfo is None) != (kind.tz is None):
        return False
    if pa.types.is_date(kind) and isinstance(value, dt.datetime):
        return value == dt.datetime.combine(stored, dt.time())
    return bool(value == stored)


def _are_fields_kept(value: Any, stored: dict[str, object], kind: pa.StructType) -> bool:
    fields = value if isinstance(value, Mapping) else dict(value)
    return all(name in stored and _is_kept(part, stored[name], kind.field(name).type) for name, part in fields.items())


def _are_pairs_kept(
    parts: Iterable[object], pairs: Iterable[tuple[object, object]], kinds: tuple[pa.DataType, pa.DataType]
) -> bool:
    stored = [(part, kind) for pair in pairs for part, kind in zip(pair, kinds, strict=True)]
    return all(_is_kept(part, *one) for part, one in zip(parts, stored, strict=True))


def _is_float_kept(value: object, stored: float, kind: pa.DataType) -> bool:
    if math.isnan(stored):
        return bool(value != value)  # noqa: PLR0124 (NaN, of numpy as well)
    is_rounded = kind != pa.float64() and isinstance(value, float) and math.isfinite(value) == math.isfinite(stored)
    return is_rounded or bool(value == stored)
