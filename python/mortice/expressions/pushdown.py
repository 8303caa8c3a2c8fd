"""The part of a condition that a query of the table decides, as filters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from mortice.expressions.columns import Columns
from mortice.expressions.evaluate import Expression
from mortice.expressions.tree import Call, Column, InList, Literal, Node
from mortice.filters import Term

__all__ = ["conjuncts", "pushed_terms"]

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def conjuncts(node: Node) -> Iterator[Node]:
    """Yields the conditions that must all be true for a condition to be true."""
    if isinstance(node, Call) and node.name == "and":
        for argument in node.arguments:
            yield from conjuncts(argument)
    else:
        yield node


def pushed_terms(expression: Expression, columns: Columns, side: str) -> list[Term]:
    """Returns filters that all rows satisfy for which a condition is true. They need not be all of the condition.

    Args:
        expression: The condition.
        columns: The columns that it was parsed with.
        side: The side whose rows the filters select.
    """
    terms = (_term(node, expression, columns.sides[side], side) for node in conjuncts(expression.tree))
    return [term for term in terms if term is not None]


def _term(node: Node, expression: Expression, schema: pa.Schema, side: str) -> Term | None:
    if isinstance(node, InList):
        name, found = _name(node.value, expression, side), [_literal(item) for item in node.items]
        values = [value for value in found if value is not None]
        if name is None or len(values) < len(found):
            return None
        kind = schema.field(name).type
        return (name, "in", [value.as_py() for value in values]) if all(_fits(v, kind) for v in values) else None
    if not isinstance(node, Call):
        return None
    if node.name == "is null":
        name = _name(node.arguments[0], expression, side)
        return None if name is None else (name, "is null", None)
    if node.name not in _COMPARISONS:
        return None
    (one, other), symbol = node.arguments, node.name
    if isinstance(one, Literal):
        one, other, symbol = other, one, _TURNED.get(symbol, symbol)
    name, value = _name(one, expression, side), _literal(other)
    if name is None or value is None or not _fits(value, schema.field(name).type):
        return None
    return name, symbol, value.as_py()


def _name(node: Node, expression: Expression, side: str) -> str | None:
    if not isinstance(node, Column):
        return None
    of, path = expression.found(node)
    return path[0] if of == side and len(path) == 1 else None


def _literal(node: Node) -> pa.Scalar[Any] | None:
    return node.value if isinstance(node, Literal) and node.value.is_valid else None


def _fits(value: pa.Scalar[Any], kind: pa.DataType) -> bool:
    """Returns whether a filter compares as the expression does: values of the same kind."""
    types, own = pa.types, value.type
    if types.is_integer(own) and types.is_integer(kind):
        return bool(-(2 ** (kind.bit_width - 1)) <= value.as_py() < 2 ** (kind.bit_width - 1))
    return bool(
        (types.is_string(own) and types.is_string(kind))
        or (types.is_boolean(own) and types.is_boolean(kind))
        or (types.is_date(own) and types.is_date(kind))
        or (types.is_timestamp(own) and types.is_timestamp(kind) and bool(own.tz) == bool(kind.tz))
        or (types.is_integer(own) and types.is_float64(kind) and abs(value.as_py()) < 2**53)
    )
