"""Expressions of polars as predicates.

polars shows the structure of an expression as JSON, whose form may change between releases. Literals are evaluated by
polars itself. What is not recognised is `Unknown`. Comparisons are those of the native module: NaN is equal to NaN and
above all numbers.
"""

from __future__ import annotations

import io
import json
import warnings
from typing import TYPE_CHECKING, Any

from mortice.expressions.arrow import like_pattern
from mortice.expressions.predicate import AllOf, AnyOf, Column, Comparison, Constant, Negation, Predicate, Unknown

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


def _predicate(node: Any) -> Predicate:
    if "Literal" in node:
        value = _value(node)
        return Constant(value) if value is None or isinstance(value, bool) else Unknown(_refusal("such a literal"))
    if "Column" in node:
        return Comparison(_column(node), "=", True)
    if "Alias" in node:
        return _predicate(node["Alias"][0])
    if "BinaryExpr" in node:
        return _binary(node["BinaryExpr"])
    if "Function" in node:
        return _function(node)
    return Unknown(_refusal(", ".join(node)))


def _binary(node: Any) -> Predicate:
    left, right, operator = node["left"], node["right"], node["op"]
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


def _compared(left: Any, operator: str, right: Any) -> Predicate:
    if not _is_column(left) or _has_column(right):
        return Unknown(_refusal("a comparison other than that of a column with a literal"))
    value = _value(right)
    return Constant(None) if value is None else Comparison(_column(left), operator, value)


def _function(node: Any) -> Predicate:
    inputs, function = node["Function"]["input"], node["Function"]["function"]
    if "StructExpr" in function:
        return Comparison(_column(node), "=", True)
    options: dict[str, Any] = {}
    family, name = next(iter(function.items()))
    if isinstance(name, dict):
        name, options = next(iter(name.items()))
    if (family, name) == ("Boolean", "Not"):
        return Negation(_predicate(inputs[0]))
    if not _is_column(inputs[0]) or any(map(_has_column, inputs[1:])):
        return Unknown(_refusal(f"{name} of other than a column and literals"))
    if family == "Boolean":
        return _boolean(name, options, inputs)
    wildcards = {"StartsWith": ("", "%"), "EndsWith": ("%", ""), "Contains": ("%", "%")}
    if family == "StringExpr" and name in wildcards and (name != "Contains" or options["literal"]):
        before, after = wildcards[name]
        return Comparison(_column(inputs[0]), "like", f"{before}{like_pattern(_value(inputs[1]))}{after}")
    return Unknown(_refusal(f"the function {name}"))


def _boolean(name: str, options: dict[str, Any], inputs: list[Any]) -> Predicate:
    column = _column(inputs[0])
    if name in ("IsNull", "IsNotNull"):
        return Comparison(column, "is null" if name == "IsNull" else "is not null")
    if name == "IsNan":
        return Comparison(column, "=", float("nan"))
    if name == "IsBetween":
        least, greatest = _CLOSED[options["closed"]]
        return AllOf((_compared(inputs[0], least, inputs[1]), _compared(inputs[0], greatest, inputs[2])))
    values = _value(inputs[1]) if name == "IsIn" and not options["nulls_equal"] else None
    if not isinstance(values, list) or None in values:
        return Unknown(_refusal(f"the function {name}" if values is None else "is_in with null"))
    return Comparison(column, "in", values)


def _is_column(node: Any) -> bool:
    if "Column" in node:
        return isinstance(node["Column"], str)
    function = node.get("Function", {})
    is_field = set(function.get("function", ())) == {"StructExpr"} and set(function["function"]["StructExpr"]) == {
        "FieldByName"
    }
    return is_field and _is_column(function["input"][0])


def _column(node: Any) -> Column:
    if "Column" in node:
        return str(node["Column"])
    function = node["Function"]
    outer = _column(function["input"][0])
    name = function["function"]["StructExpr"]["FieldByName"]
    return (*((outer,) if isinstance(outer, str) else outer), name)


def _has_column(node: Any) -> bool:
    if isinstance(node, dict):
        return "Column" in node or "Selector" in node or any(map(_has_column, node.values()))
    return isinstance(node, list) and any(map(_has_column, node))


def _value(node: Any) -> Any:
    """Returns the value of an expression without columns."""
    import polars

    expression = polars.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")
    values = polars.select(expression).to_series()
    if isinstance(values.dtype, polars.Datetime) and values.dtype.time_unit == "ns":
        raise ValueError("Python's times have no nanoseconds")
    value = values[0]
    return value.to_list() if isinstance(value, polars.Series) else value
