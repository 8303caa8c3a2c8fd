"""What columns get, as the native module takes it: expressions, and other Python values as Arrow data."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mortice.errors import InvalidArgumentError

__all__ = ["NewValues", "Values", "new_values"]

PLAIN = (bool, int, float, bytes, decimal.Decimal, dt.date, dt.datetime)

Values = Mapping[str, Any]
"""What columns get: expressions as strings, or other Python values."""
NewValues = list[tuple[str, "str | tuple[pa.RecordBatch, str]"]]
"""The same for the native module: of a Python value, a batch of it alone, and how messages show it."""


def new_values(values: Values | str) -> NewValues:
    """Returns what columns get.

    Args:
        values: The columns, and expressions as strings or other Python values.

    Raises `InvalidArgumentError` for anything else; the native module checks columns and expressions.
    """
    if not isinstance(values, Mapping) or not values:
        raise InvalidArgumentError(f"values must map columns to expressions, got {values!r}")
    return [(_name(name), _value(value)) for name, value in values.items()]


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidArgumentError(f"values name {name!r}, which the table does not have")
    return name


def _value(value: object) -> str | tuple[pa.RecordBatch, str]:
    return value if isinstance(value, str) else (_constant_rows(value), repr(value))


def _constant_rows(value: object) -> pa.RecordBatch:
    """Returns a batch of a Python value alone. Raises `InvalidArgumentError` for one that is not plain."""
    if value is not None and not isinstance(value, PLAIN):
        raise InvalidArgumentError(f"a value must be an expression as a string, or a plain value, got {value!r}")
    try:
        return pa.record_batch([pa.array([value])], names=["value"])
    except (pa.ArrowException, OverflowError) as error:
        raise InvalidArgumentError(f"{value!r} is no value of a column: {error}") from error
