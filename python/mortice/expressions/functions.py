"""The functions of expressions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mortice.errors import InvalidArgumentError
from mortice.expressions.kernels import Value, arithmetic, cast, compared, negated, unified

__all__ = ["FUNCTIONS", "OPERATORS", "Function", "constant"]

MANY = 1_000


@dataclass(frozen=True)
class Function:
    """A function: what computes it, and how many arguments it takes."""

    compute: Callable[..., Value]
    least: int = 1
    most: int = 1

    @property
    def counts(self) -> str:
        """The number of arguments, for messages."""
        if self.most == MANY:
            return f"{self.least} or more"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


def constant(name: str, value: Value) -> Any:
    """Returns the Python value of an argument that must be the same in all rows."""
    if not isinstance(value, pa.Scalar):
        raise InvalidArgumentError(f"{name} takes a constant here, got a column")
    return value.as_py()


def _text(name: str, value: Value) -> Value:
    kind = value.type
    if pa.types.is_null(kind):
        return pc.cast(value, pa.string())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return value
    raise InvalidArgumentError(f"{name} takes strings, got {kind}; cast the value")


def _of_text(name: str, kernel: Callable[..., Value]) -> Function:
    return Function(lambda value: kernel(_text(name, value)))


def _pattern(name: str, kernel: Callable[..., Value]) -> Function:
    return Function(lambda value, part: _searched(name, kernel, _text(name, value), constant(name, part)), 2, 2)


def _searched(name: str, kernel: Callable[..., Value], value: Value, part: object) -> Value:
    if part is None:
        return pa.scalar(None, pa.bool_())
    if not isinstance(part, str):
        raise InvalidArgumentError(f"{name} takes a string here, got {part!r}")
    return kernel(value, part)


def _substring(value: Value, start: Value, length: Value | None = None) -> Value:
    """As in SQL: positions are counted from 1, from the end if they are negative."""
    value, first = _text("substring", value), constant("substring", start)
    count = None if length is None else constant("substring", length)
    if first is None or (length is not None and count is None):
        return pa.scalar(None, pa.string())
    if count is not None and count < 0:
        return pc.utf8_slice_codeunits(value, 0, 0)
    begin = first - 1 if first > 0 else first
    if first < 0:
        end = None if count is None or begin + count >= 0 else begin + count
        return pc.utf8_slice_codeunits(value, begin, end)
    begin = max(begin, 0)
    return pc.utf8_slice_codeunits(value, begin, None if count is None else begin + count)


def _replace(value: Value, old: Value, new: Value) -> Value:
    old, new = constant("replace", old), constant("replace", new)
    if old is None or new is None:
        return pa.scalar(None, pa.string())
    value = _text("replace", value)
    return pc.replace_substring(value, old, new) if old else value


def _concat(*values: Value) -> Value:
    strings = [_text("concat", value) for value in values]
    return pc.binary_join_element_wise(*unified(strings), "", null_handling="emit_null")


def _coalesce(*values: Value) -> Value:
    return pc.coalesce(*unified(list(values)))


def _nullif(value: Value, other: Value) -> Value:
    is_equal = pc.fill_null(compared("=", value, other), False)
    return pc.if_else(is_equal, pa.scalar(None, value.type), value)


def _extreme(kernel: Callable[..., Value]) -> Function:
    return Function(lambda *values: kernel(*unified(list(values)), skip_nulls=True), 2, MANY)


def _round(value: Value, digits: Value | None = None) -> Value:
    places = 0 if digits is None else constant("round", digits)
    if pa.types.is_integer(value.type) and places >= 0:
        return value
    return pc.round(value, places, round_mode="half_towards_infinity")


def _whole(name: str, kernel: Callable[..., Value]) -> Function:
    def compute(value: Value) -> Value:
        if pa.types.is_integer(value.type):
            return value
        if not (pa.types.is_floating(value.type) or pa.types.is_decimal(value.type)):
            raise InvalidArgumentError(f"{name} takes numbers, got {value.type}; cast the value")
        return pc.cast(kernel(value), pa.int64())

    return Function(compute)


def _part_of_time(name: str, kernel: Callable[..., Value]) -> Function:
    def compute(value: Value) -> Value:
        if not (pa.types.is_timestamp(value.type) or pa.types.is_date(value.type)):
            raise InvalidArgumentError(f"{name} takes dates and timestamps, got {value.type}; cast the value")
        return kernel(value)

    return Function(compute)


def _now() -> Value:
    return pa.scalar(dt.datetime.now(dt.timezone.utc), pa.timestamp("us", "UTC"))


FUNCTIONS: dict[str, Function] = {
    "abs": Function(pc.abs_checked),
    "ceil": _whole("ceil", pc.ceil),
    "coalesce": Function(_coalesce, 1, MANY),
    "concat": Function(_concat, 1, MANY),
    "contains": _pattern("contains", pc.match_substring),
    "current_date": Function(lambda: pa.scalar(dt.datetime.now(dt.timezone.utc).date()), 0, 0),
    "current_timestamp": Function(_now, 0, 0),
    "day": _part_of_time("day", pc.day),
    "endswith": _pattern("endswith", pc.ends_with),
    "floor": _whole("floor", pc.floor),
    "greatest": _extreme(pc.max_element_wise),
    "hour": _part_of_time("hour", pc.hour),
    "if": Function(pc.if_else, 3, 3),
    "ifnull": Function(_coalesce, 2, 2),
    "least": _extreme(pc.min_element_wise),
    "length": _of_text("length", pc.utf8_length),
    "lower": _of_text("lower", pc.utf8_lower),
    "ltrim": _of_text("ltrim", lambda value: pc.utf8_ltrim(value, " ")),
    "minute": _part_of_time("minute", pc.minute),
    "month": _part_of_time("month", pc.month),
    "nullif": Function(_nullif, 2, 2),
    "replace": Function(_replace, 3, 3),
    "round": Function(_round, 1, 2),
    "rtrim": _of_text("rtrim", lambda value: pc.utf8_rtrim(value, " ")),
    "second": _part_of_time("second", pc.second),
    "startswith": _pattern("startswith", pc.starts_with),
    "substring": Function(_substring, 2, 3),
    "trim": _of_text("trim", lambda value: pc.utf8_trim(value, " ")),
    "upper": _of_text("upper", pc.utf8_upper),
    "year": _part_of_time("year", pc.year),
}
FUNCTIONS |= {"substr": FUNCTIONS["substring"], "ceiling": FUNCTIONS["ceil"]}
"""The functions that a text can call, by name."""

OPERATORS: dict[str, Callable[..., Value]] = {
    "and": lambda one, other: pc.and_kleene(cast(one, pa.bool_()), cast(other, pa.bool_())),
    "or": lambda one, other: pc.or_kleene(cast(one, pa.bool_()), cast(other, pa.bool_())),
    "not": lambda value: pc.invert(cast(value, pa.bool_())),
    "is null": pc.is_null,
    "is true": lambda value: pc.fill_null(cast(value, pa.bool_()), False),
    "is false": lambda value: pc.invert(pc.fill_null(cast(value, pa.bool_()), True)),
    "like": _pattern("LIKE", pc.match_like).compute,
    "negate": negated,
    **{symbol: lambda one, other, symbol=symbol: arithmetic(symbol, one, other) for symbol in "+-*/%"},
    **{
        symbol: lambda one, other, symbol=symbol: compared(symbol, one, other)
        for symbol in ("=", "!=", "<", "<=", ">", ">=", "<=>")
    },
}
"""The operators, by the names of calls."""
