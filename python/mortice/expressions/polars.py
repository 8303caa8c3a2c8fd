"""Expressions of polars as predicates.

polars shows the structure of an expression as JSON, whose form may change between releases. Literals are evaluated by
polars itself. What is not recognised is `Unknown`. Comparisons are those of the native module: NaN is equal to NaN and
above all numbers.
"""

from __future__ import annotations

import io
import json
import warnings
from typing import TYPE_CHECKING

from mortice.expressions.arrow import like_pattern
from mortice.expressions.predicate import AllOf, AnyOf, Column, Comparison, Constant, Negation, Predicate, Unknown
from mortice.values.argument_types import JsonObject, JsonValue

if TYPE_CHECKING:
    import polars

__all__ = ["polars_predicate"]

_COMPARISONS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}


def polars_predicate(expression: polars.Expr) -> Predicate:
    """Returns the predicate that an expression is; `Unknown` in place of what the native module cannot evaluate."""
    import polars

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _predicate(json.loads(expression.meta.serialize(format="json")))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, polars.exceptions.PolarsError):
        return Unknown(_refusal(str(expression)))


def _refusal(what: str) -> str:
    return (
        f"a filter of a query cannot have {what}; it can compare columns with literals (==, <, is_in, is_between, "
        "is_null, starts_with, &, |, ~). mortice.scan_polars() accepts any expression of polars"
    )


def _predicate(node: JsonValue) -> Predicate:
    kinds = node if isinstance(node, dict) else {str(node): None}
    if "Literal" in kinds:
        value = _value(node)
        return Constant(value) if value is None or isinstance(value, bool) else Unknown(_refusal("such a literal"))
    if "Column" in kinds:
        return Comparison(_column(node), "=", True)
    if "Alias" in kinds:
        return _predicate(_part(node, "Alias", 0))
    if "BinaryExpr" in kinds:
        return _binary(_object(kinds["BinaryExpr"]))
    if "Function" in kinds:
        return _function(node)
    return Unknown(_refusal(", ".join(kinds)))


def _binary(node: JsonObject) -> Predicate:
    left, right, operator = node["left"], node["right"], str(node["op"])
    if operator in ("And", "LogicalAnd"):
        return AllOf((_predicate(left), _predicate(right)))
    if operator in ("Or", "LogicalOr"):
        return AnyOf((_predicate(left), _predicate(right)))
    if operator not in _COMPARISONS:
        return Unknown(_refusal(f"the operator {operator}"))
    symbol = _COMPARISONS[operator]
    if not _is_column(left):
        left, right, symbol = right, left, _FLIPPED.get(symbol, symbol)
    return _compared(left, symbol, right)


def _compared(left: JsonValue, operator: str, right: JsonValue) -> Predicate:
    if not _is_column(left) or _has_column(right):
        return Unknown(_refusal("a comparison other than that of a column with a literal"))
    value = _value(right)
    return Constant(None) if value is None else Comparison(_column(left), operator, value)


def _function(node: JsonValue) -> Predicate:
    inputs, function = _list(_part(node, "Function", "input")), _object(_part(node, "Function", "function"))
    if "StructExpr" in function:
        return Comparison(_column(node), "=", True)
    family, kind = next(iter(function.items()))
    name, options = next(iter(kind.items())) if isinstance(kind, dict) else (str(kind), {})
    if (family, name) == ("Boolean", "Not"):
        return Negation(_predicate(inputs[0]))
    if not _is_column(inputs[0]) or any(map(_has_column, inputs[1:])):
        return Unknown(_refusal(f"{name} of other than a column and literals"))
    if family == "Boolean":
        return _boolean(name, options, inputs)
    wildcards = {"StartsWith": ("", "%"), "EndsWith": ("%", ""), "Contains": ("%", "%")}
    if family == "StringExpr" and name in wildcards and (name != "Contains" or _part(options, "literal")):
        before, after = wildcards[name]
        return Comparison(_column(inputs[0]), "like", f"{before}{like_pattern(_text(inputs[1]))}{after}")
    return Unknown(_refusal(f"the function {name}"))


def _boolean(name: str, options: JsonValue, inputs: list[JsonValue]) -> Predicate:
    column = _column(inputs[0])
    if name in ("IsNull", "IsNotNull"):
        return Comparison(column, "is null" if name == "IsNull" else "is not null")
    if name == "IsNan":
        return Comparison(column, "=", float("nan"))
    if name == "IsBetween":
        least, greatest = _CLOSED[str(_part(options, "closed"))]
        return AllOf((_compared(inputs[0], least, inputs[1]), _compared(inputs[0], greatest, inputs[2])))
    values = _value(inputs[1]) if name == "IsIn" and not _part(options, "nulls_equal") else None
    if not isinstance(values, list) or None in values:
        return Unknown(_refusal(f"the function {name}" if values is None else "is_in with null"))
    return Comparison(column, "in", values)


def _is_column(node: JsonValue) -> bool:
    kinds = _object(node)
    if "Column" in kinds:
        return isinstance(kinds["Column"], str)
    function = _part(node, "Function", "function") if "Function" in kinds else None
    field = function["StructExpr"] if isinstance(function, dict) and set(function) == {"StructExpr"} else None
    is_field = isinstance(field, dict) and set(field) == {"FieldByName"}
    return is_field and _is_column(_part(node, "Function", "input", 0))


def _column(node: JsonValue) -> Column:
    if "Column" in _object(node):
        return str(_part(node, "Column"))
    outer = _column(_part(node, "Function", "input", 0))
    name = str(_part(node, "Function", "function", "StructExpr", "FieldByName"))
    return (*((outer,) if isinstance(outer, str) else outer), name)


def _has_column(node: JsonValue) -> bool:
    if isinstance(node, dict):
        return "Column" in node or "Selector" in node or any(map(_has_column, node.values()))
    return isinstance(node, list) and any(map(_has_column, node))


def _value(node: JsonValue) -> object:
    """Returns the value of an expression without columns."""
    import polars

    expression = polars.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")
    values = polars.select(expression).to_series()
    if isinstance(values.dtype, polars.Datetime) and values.dtype.time_unit == "ns":
        raise ValueError("Python's times have no nanoseconds")
    value = values[0]
    return value.to_list() if isinstance(value, polars.Series) else value


def _text(node: JsonValue) -> str:
    value = _value(node)
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _part(node: JsonValue, *path: str | int) -> JsonValue:
    """Returns what is at a path of names and positions. Raises `KeyError`, `IndexError`, `TypeError`."""
    for step in path:
        node = _list(node)[step] if isinstance(step, int) else _object(node)[step]
    return node


def _object(node: JsonValue) -> JsonObject:
    if not isinstance(node, dict):
        raise TypeError(f"{node!r} is not an object")
    return node


def _list(node: JsonValue) -> list[JsonValue]:
    if not isinstance(node, list):
        raise TypeError(f"{node!r} is not a list")
    return node
