"""Ordering values, as the Java values that Hudi compares (merge semantics, section 6).

| | |
|---|---|
| no ordering field, or null | the `Integer` 0, Hudi's default |
| one field | its value |
| several | all of them, compared from left to right |

Two values of different classes cannot be compared in Java. One case has an answer here all the same: null against a
value. Hudi's read may fail; the rule of this project is that null is the smallest of all.
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
    """Readers hold a date as an Integer of days and a moment as a Long of microseconds; 0.x has texts and decimals of Avro."""
    if held is None:
        return DEFAULT
    if field.kind == "date":
        return Value("Integer", (held - EPOCH.date()).days)
    if field.kind == "timestamp":
        return Value("Long", (held - EPOCH) // dt.timedelta(microseconds=1))
    if merging.semantics == "0.x" and field.kind in {"string", "decimal"}:
        return Value({"string": "Utf8", "decimal": "Fixed"}[field.kind], held)
    return Value(CLASSES[field.kind], held)


def _one_or_tuple(values):
    if not values:
        return DEFAULT
    return values[0] if len(values) == 1 else values


def of_delete(ordering, merging):
    """What an entry of a delete block is ordered by, in the classes that it has."""
    if ordering is None or not merging.ordering_in_force:
        return DEFAULT
    if isinstance(ordering, tuple):
        return tuple(DEFAULT if value is None else value for value in ordering)
    return ordering


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
    if DEFAULT in {one, other}:
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
