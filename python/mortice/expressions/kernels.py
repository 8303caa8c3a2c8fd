"""Operators and casts over Arrow values: the types that they have in common, and errors instead of wrapped numbers."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mortice.errors import InvalidArgumentError

__all__ = [
    "Value",
    "arithmetic",
    "as_type",
    "assigned",
    "cast",
    "common_type",
    "compared",
    "negated",
    "row_numbers",
    "unified",
]

Value = Any
"""A pyarrow array or, for a value that is the same in all rows, a scalar."""

_COMPARISONS = {"=": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_MOST_DIGITS = 38
_DIGITS_OF_LONG = 19


def row_numbers(count: int, first: int = 0) -> pa.Array[Any]:
    """Returns `count` numbers, one after the other."""
    return pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count), start=first - 1)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Returns the type in which values of two types are compared and computed. Raises `InvalidArgumentError`."""
    if one.equals(other) or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    for is_kind, kind in ((_is_text, pa.string()), (_is_bytes, pa.binary())):
        if is_kind(one) and is_kind(other):
            return kind
    if _is_number(one) and _is_number(other):
        return _common_number(one, other)
    moments = [kind for kind in (one, other) if pa.types.is_timestamp(kind)]
    if moments and all(pa.types.is_timestamp(kind) or pa.types.is_date(kind) for kind in (one, other)):
        return pa.timestamp("us", "UTC" if any(kind.tz for kind in moments) else None)
    if pa.types.is_date(one) and pa.types.is_date(other):
        return pa.date32()
    raise InvalidArgumentError(f"{one} and {other} have no type in common; cast one of them")


def _common_number(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if pa.types.is_floating(one) or pa.types.is_floating(other):
        return pa.float32() if one == other == pa.float32() else pa.float64()
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return pa.int64()
    parts = [_digits(kind) for kind in (one, other)]
    whole, scale = max(digits - scale for digits, scale in parts), max(scale for _, scale in parts)
    return pa.decimal128(min(_MOST_DIGITS, whole + scale), scale)


def _digits(kind: pa.DataType) -> tuple[int, int]:
    return (kind.precision, kind.scale) if pa.types.is_decimal(kind) else (_DIGITS_OF_LONG, 0)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def as_type(value: Value, kind: pa.DataType) -> Value:
    """Returns values in a type that holds all of them."""
    if value.type.equals(kind):
        return value
    if pa.types.is_timestamp(kind) and kind.tz and not (pa.types.is_timestamp(value.type) and value.type.tz):
        return pc.assume_timezone(pc.cast(value, pa.timestamp("us")), "UTC")
    return pc.cast(value, kind)


def unified(values: list[Value]) -> list[Value]:
    """Returns values in the type that they have in common."""
    values = _as_floats(values)
    kind = reduce(common_type, (value.type for value in values))
    return [as_type(value, kind) for value in values]


def _as_floats(values: list[Value]) -> list[Value]:
    """Returns values of which numbers that are constants have 32 bits, if all others have."""
    columns = [value.type for value in values if not isinstance(value, pa.Scalar)]
    if not columns or any(kind != pa.float32() for kind in columns):
        return values
    return [pc.cast(v, pa.float32(), safe=False) if _is_number(v.type) else v for v in values]


def compared(symbol: str, one: Value, other: Value) -> Value:
    """Compares values. A string constant is read as the date or time that it is compared with."""
    one, other = _moment(one, other.type), _moment(other, one.type)
    one, other = unified([one, other])
    if symbol != "<=>":
        return getattr(pc, _COMPARISONS[symbol])(one, other)
    both, either = pc.and_(pc.is_null(one), pc.is_null(other)), pc.fill_null(pc.equal(one, other), False)
    return pc.or_(both, either)


def _moment(value: Value, other: pa.DataType) -> Value:
    is_constant_text = isinstance(value, pa.Scalar) and _is_text(value.type)
    if is_constant_text and (pa.types.is_timestamp(other) or pa.types.is_date(other)):
        return cast(value, other)
    return value


def arithmetic(symbol: str, one: Value, other: Value) -> Value:
    """Computes a sum, difference, product, quotient or remainder."""
    kinds = (one.type, other.type)
    if symbol in "+-" and any(pa.types.is_duration(kind) for kind in kinds):
        return _moved(symbol, one, other)
    if not all(_is_number(kind) or pa.types.is_null(kind) for kind in kinds):
        raise InvalidArgumentError(f"{kinds[0]} {symbol} {kinds[1]} is not defined; cast the values")
    if all(pa.types.is_null(kind) for kind in kinds):
        return one
    if symbol == "/":
        return pc.divide_checked(as_type(one, pa.float64()), as_type(other, pa.float64()))
    one, other = _as_floats([one, other])
    kind = common_type(one.type, other.type)
    if symbol == "%":
        if not pa.types.is_integer(kind):
            raise InvalidArgumentError(f"% takes integers, got {kinds[0]} and {kinds[1]}")
        one, other = as_type(one, pa.int64()), as_type(other, pa.int64())
        return pc.subtract_checked(one, pc.multiply_checked(pc.divide_checked(one, other), other))
    if pa.types.is_decimal(kind):
        # pyarrow gives the result the digits that it needs.
        one, other = (_as_decimal(value) for value in (one, other))
    else:
        one, other = as_type(one, kind), as_type(other, kind)
    return {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}[symbol](one, other)


def _as_decimal(value: Value) -> Value:
    return value if pa.types.is_decimal(value.type) else as_type(value, pa.decimal128(_DIGITS_OF_LONG, 0))


def _moved(symbol: str, one: Value, other: Value) -> Value:
    """Moves a date or a time by an interval. A date becomes a time."""
    if pa.types.is_duration(one.type) and not pa.types.is_duration(other.type):
        if symbol == "-":
            raise InvalidArgumentError("INTERVAL - value is not defined; write value - INTERVAL")
        one, other = other, one
    if pa.types.is_date(one.type):
        one = pc.cast(one, pa.timestamp("us"))
    if not (pa.types.is_timestamp(one.type) and pa.types.is_duration(other.type)):
        raise InvalidArgumentError(f"{one.type} {symbol} {other.type} is not defined; cast the values")
    return (pc.add_checked if symbol == "+" else pc.subtract_checked)(one, other)


def negated(value: Value) -> Value:
    """Returns values with the other sign."""
    if not (_is_number(value.type) or pa.types.is_null(value.type)):
        raise InvalidArgumentError(f"-{value.type} is not defined; cast the value")
    return value if pa.types.is_null(value.type) else pc.negate_checked(value)


def assigned(value: Value, column: pa.Field) -> Value:
    """Returns values in the type of a column that they are assigned to.

    A string constant becomes the date or time that it says; a decimal becomes the nearest number of a column of
    floating-point numbers. Other values are cast only if the column holds them exactly. Raises
    `InvalidArgumentError`, naming column and value, otherwise.
    """
    value, kind = _exact_moment(value, column), column.type
    source = value.type
    if source.equals(kind):
        return value
    if pa.types.is_null(source):
        return pa.scalar(None, kind) if isinstance(value, pa.Scalar) else pa.nulls(len(value), kind)
    if not _is_assignable(source, kind):
        raise InvalidArgumentError(f"column {column.name!r} is {kind}, and the value {source}; cast it")
    try:
        converted = _exactly(value, kind)
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"column {column.name!r} is {kind}, which does not hold a value: {error}") from error
    if pa.types.is_floating(kind) and not pa.types.is_decimal(source):
        differs = pc.not_equal(pc.cast(converted, source, safe=False), value)
        if pc.any(pc.and_(differs, pc.equal(value, value))).as_py():
            lost = value if isinstance(value, pa.Scalar) else pc.filter(value, pc.fill_null(differs, False))[0]
            message = f"column {column.name!r} is {kind}, which does not hold {lost.as_py()!r} exactly"
            raise InvalidArgumentError(message)
    return converted


def _exact_moment(value: Value, column: pa.Field) -> Value:
    """Returns a string constant as the date or time of a column, unless it says another one, or more."""
    kind = column.type
    try:
        read = _moment(value, kind)
        if read is value or _says(value, read):
            return read
    except pa.ArrowInvalid:
        pass
    raise InvalidArgumentError(f"column {column.name!r} is {kind}, which does not hold {value.as_py()!r} exactly")


def _says(text: Value, read: Value) -> bool:
    """Returns true if text has no time besides a date, and no zone besides a time without one.

    Raises `ArrowInvalid` for text of another form.
    """
    if pa.types.is_date(read.type):
        time = pc.cast(pc.utf8_trim_whitespace(text), pa.timestamp("us"))
        return bool(as_type(read, time.type).equals(time))
    return read.type.tz is not None or bool(pc.cast(text, read.type).equals(read))


def _is_assignable(source: pa.DataType, kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_timestamp(source) and types.is_timestamp(kind):
        return bool(source.tz) == bool(kind.tz)
    if types.is_floating(source) and types.is_decimal(kind):
        return False
    pairs = ((_is_number, _is_number), (_is_text, _is_text), (_is_bytes, _is_bytes))
    is_nested = types.is_nested(source) and type(source) is type(kind)
    return is_nested or any(of_source(source) and of_kind(kind) for of_source, of_kind in pairs)


def _exactly(value: Value, kind: pa.DataType) -> Value:
    if pa.types.is_decimal(kind) and pa.types.is_integer(value.type):
        value = pc.cast(value, pa.decimal128(_DIGITS_OF_LONG, 0))
    if pa.types.is_decimal(kind) and pa.types.is_decimal(value.type):
        value = pc.cast(value, pa.decimal256(76, max(value.type.scale, kind.scale)))
    return pc.cast(value, kind, safe=not pa.types.is_floating(kind))


def cast(value: Value, kind: pa.DataType) -> Value:
    """Casts as SQL does: fractions are cut off for integers, and rounded half away from zero for decimals."""
    source = value.type
    if source.equals(kind):
        return value
    if pa.types.is_integer(kind) and (pa.types.is_floating(source) or pa.types.is_decimal(source)):
        return pc.cast(pc.trunc(value), kind)
    if pa.types.is_decimal(kind) and _is_text(source):
        value = pc.cast(value, pa.decimal128(_MOST_DIGITS, max(kind.scale, _MOST_DIGITS // 2)))
        source = value.type
    if pa.types.is_decimal(kind) and pa.types.is_decimal(source) and source.scale > kind.scale:
        value = pc.round(value, kind.scale, round_mode="half_towards_infinity")
    if pa.types.is_timestamp(kind):
        return _to_timestamp(value, kind)
    if pa.types.is_date(kind) and pa.types.is_timestamp(source):
        return pc.cast(pc.floor_temporal(value, unit="day"), kind)
    if pa.types.is_date(kind) and _is_text(source):
        return pc.cast(pc.cast(pc.utf8_trim_whitespace(value), pa.timestamp("s")), kind)
    return pc.cast(value, kind, safe=not pa.types.is_floating(kind))


def _to_timestamp(value: Value, kind: pa.DataType) -> Value:
    if not _is_text(value.type):
        return as_type(value, kind)
    try:
        return pc.cast(value, kind)
    except pa.ArrowInvalid:
        # Without a zone it is UTC; with one, a time without zone takes what the clock shows there in UTC.
        if kind.tz:
            return pc.assume_timezone(pc.cast(value, pa.timestamp("us")), "UTC")
        return pc.cast(pc.cast(value, pa.timestamp("us", "UTC")), kind)
