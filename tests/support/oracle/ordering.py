"""Ordering values, as the Java values that Hudi compares (merge semantics, section 6).

| | |
|---|---|
| no ordering field, or null | the `Integer` 0, Hudi's default |
| one field | its value |
| several | all of them, compared from left to right |

Two values of different classes cannot be compared in Java. One case has an answer here all the same: null against a
value of the column. Hudi's read may fail; the rule of this project is that null is the smallest of all.
"""

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


class HudiFails(Exception):  # noqa: N818 # a finding, no mistake
    """Hudi cannot answer: a ClassCastException, say. There is nothing to compare with."""


@dataclass(frozen=True)
class Value:
    """A Java value: its class, and what it holds."""

    java: str
    held: Any


DEFAULT = Value("Integer", 0)
FOREIGN = "foreign"
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)

# What delete blocks hold of a value of each type. A row's may be of another class: see `of_row`.
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
    """What a row is ordered by. A field that the row does not have counts as null."""
    values = tuple(_of_field(row.get(name), merging.field(name), merging) for name in merging.ordering_in_force)
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
    """Readers hold dates as Integers of days and moments as Longs of microseconds; 0.x has Avro texts and decimals."""
    own = {"date": "Integer", "timestamp": "Long"}
    if merging.semantics == "0.x":
        own |= {"string": "Utf8", "decimal": "Fixed"}
    return own.get(field.kind, CLASSES[field.kind])


def _one_or_tuple(values):
    if not values:
        return DEFAULT
    return values[0] if len(values) == 1 else values


def of_delete(ordering, merging):
    """What an entry of a delete block is ordered by, in the classes that it has."""
    fields = [merging.field(name) for name in merging.ordering_in_force]
    if ordering is None or not fields:
        return DEFAULT
    if isinstance(ordering, tuple):
        return tuple(_of_delete(value, field, merging) for value, field in zip(ordering, fields, strict=True))
    return _of_delete(ordering, fields[0], merging)


def _of_delete(value, field, merging):
    """Of another class than a row's it is marked: such a value is compared with nothing, null included."""
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
    """Below 0, 0 or above 0, as Java's `compareTo`."""
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
        return value.held.encode()  # Spark compares UTF-8
    if isinstance(value.held, float):
        return _java_double(value.held)
    if isinstance(value.held, Decimal):
        return value.held  # numeric: 1.0 is 1.00
    return value.held


def _java_double(number):
    """`Double.compareTo`: -0.0 is before 0.0, NaN after everything."""
    if math.isnan(number):
        return (1, 0.0, 0)
    return (0, number, 0 if math.copysign(1, number) < 0 else 1)
