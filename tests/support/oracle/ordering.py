"""Ordering values, as the Java values that Hudi compares (merge semantics, section 6).

| | |
|---|---|
| no ordering field, or null | the `Integer` 0, Hudi's default |
| one field | its value |
| several | all of them, compared from left to right |

Java cannot compare two values of different classes. There is one exception here: null is less than any value of the
column. Hudi may fail in this case; mortice defines null as the least value.
"""

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


class HudiFails(Exception):  # noqa: N818 # a result, not an error
    """Hudi cannot return a result, for instance because of a ClassCastException."""


@dataclass(frozen=True)
class Value:
    """A Java value and its class."""

    java: str
    held: Any


DEFAULT = Value("Integer", 0)
FOREIGN = "foreign"
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)

# The class of each type in delete blocks. That of a row may differ: see `of_row`.
CLASSES = {
    "boolean": "Boolean",
    "int": "Integer",
    "long": "Long",
    "float": "Float",
    "double": "Double",
    "string": "String",
    "date": "Date",
    "timestamp": "Timestamp",
    "decimal": "BigDecimal",
}


def of_row(row, merging):
    """Returns the ordering value of a row. A missing field counts as null."""
    values = tuple(_of_field(row.get(name), merging.field(name), merging) for name in merging.used_ordering)
    return _one_or_tuple(values)


def _of_field(held, field, merging):
    if held is None:
        return DEFAULT
    if field.kind == "date":
        held = (held - EPOCH.date()).days
    if field.kind == "timestamp":
        held = (held - EPOCH) // dt.timedelta(microseconds=1)
    return Value(_class_of_row(field, merging), held)


def _class_of_row(field, merging):
    """Readers represent dates as Integers of days and timestamps as Longs of microseconds; 0.x uses Avro's strings and
    decimals."""
    own = {"date": "Integer", "timestamp": "Long"}
    if merging.semantics == "0.x":
        own |= {"string": "Utf8", "decimal": "Fixed"}
    return own.get(field.kind, CLASSES[field.kind])


def _one_or_tuple(values):
    if not values:
        return DEFAULT
    return values[0] if len(values) == 1 else values


def of_delete(ordering, merging):
    """Returns the ordering value of a delete block entry, with its class."""
    fields = [merging.field(name) for name in merging.used_ordering]
    if ordering is None or not fields:
        return DEFAULT
    if isinstance(ordering, tuple):
        return tuple(_of_delete(value, field, merging) for value, field in zip(ordering, fields, strict=True))
    return _of_delete(ordering, fields[0], merging)


def _of_delete(value, field, merging):
    """Marks a value whose class differs from that of rows. Such a value cannot be compared, not even with null."""
    if value is None:
        return DEFAULT
    is_own = value == DEFAULT or value.java == _class_of_row(field, merging)
    return value if is_own else Value(f"{FOREIGN} {value.java}", value.held)


def is_default(ordering):
    return ordering == DEFAULT


def same_class(one, other):
    if isinstance(one, tuple) or isinstance(other, tuple):
        return isinstance(one, tuple) and isinstance(other, tuple)
    return one.java == other.java


def compare(one, other):
    """Returns a number less than, equal to, or greater than 0, like Java's `compareTo`."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return next((order for pair in zip(one, other, strict=True) if (order := compare(*pair))), 0)
    if isinstance(one, tuple) or isinstance(other, tuple):
        raise HudiFails("a tuple against a single value")
    if one.java == other.java:
        left, right = _orderable(one), _orderable(other)
        return (left > right) - (left < right)
    if DEFAULT in {one, other} and not any(value.java.startswith(FOREIGN) for value in (one, other)):
        return -1 if one == DEFAULT else 1
    raise HudiFails(f"{one.java} against {other.java}")


def _orderable(value):
    if isinstance(value.held, str):
        return value.held.encode()  # Spark compares UTF-8 bytes.
    if isinstance(value.held, float):
        return _java_double(value.held)
    if isinstance(value.held, Decimal):
        return value.held  # Numeric comparison: 1.0 equals 1.00.
    return value.held


def _java_double(number):
    """Orders doubles like `Double.compareTo`: -0.0 before 0.0, NaN last."""
    if math.isnan(number):
        return (1, 0.0, 0)
    return (0, number, 0 if math.copysign(1, number) < 0 else 1)
