"""Parses the text of a filter, written as the condition of SQL's WHERE.

    fare > 80 and city in ('oslo', 'lima') and not (note is null or note like 'x%')

The grammar is that of expressions (docs/writing.md), of which a filter is a condition that compares columns, or
fields of structs, with literals. In three ways it is meant for people who type it. A name where a literal is expected
is a string, unless it names a column, so that `city = oslo` works in a shell; a date needs no quotes; and the type of
its column decides what a literal is: a number is an exact decimal, or a string if its column is one of strings.
"""

from __future__ import annotations

from typing import Any, NoReturn

import pyarrow as pa

from mortice import _mortice
from mortice.expressions.predicate import AllOf, AnyOf, Column, Comparison, Constant, Negation, Number, Predicate, Word

__all__ = ["parse_filter"]

_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}
Node = tuple[Any, ...]
"""A part of a filter: its kind (`column`, `literal`, `number`, `in`, or the name of an operator), and what is in it."""


def parse_filter(text: str) -> Predicate:
    """Returns the predicate that a text describes. Its literals may be `Number` and `Word`.

    Raises `InvalidArgumentError`, which says where the text cannot be parsed.
    """
    return _Conditions(text).predicate(_mortice.parse_filter(text))


class _Conditions:
    """Converts what the native module has parsed to predicates.

    Args:
        text: The filter, for errors.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, at: int, what: str) -> NoReturn:
        raise _mortice.filter_error(self.text, at, what)

    def predicate(self, node: Node) -> Predicate:
        kind = node[0]
        if kind == "column":
            return Comparison(_name(node), "=", True)
        if kind in ("literal", "number") and isinstance(value := _value(node), bool | None):
            return Constant(value)
        if kind == "in":
            return self.membership(node)
        if kind in ("literal", "number"):
            self.fail(len(self.text), "has no operator (=, !=, <, in, between, like, is null)")
        if kind in ("and", "or"):
            parts = tuple(self.predicate(part) for part in node[1])
            return AllOf(parts) if kind == "and" else AnyOf(parts)
        return Negation(self.predicate(node[1][0])) if kind == "not" else self.test(node)

    def test(self, node: Node) -> Predicate:
        name, arguments, at = node
        if name in ("is true", "is false"):
            column = self.column(arguments[0], at)
            return AllOf((Comparison(column, "=", name == "is true"), Comparison(column, "is not null")))
        if name == "is null":
            return Comparison(self.column(arguments[0], at), "is null")
        if name == "between":
            value, low, high = arguments
            return AllOf((self.comparison(">=", value, low, at), self.comparison("<=", value, high, at)))
        if name != "like":
            if name not in _FLIPPED:
                self.fail(at, f"computes a value ({name}), and filters compare columns with literals")
            return self.comparison(name, arguments[0], arguments[1], at)
        pattern = self.literal(arguments[1], at)
        if not isinstance(pattern, str):
            self.fail(at, "has LIKE without a pattern in single quotes")
        return Comparison(self.column(arguments[0], at), "like", pattern)

    def comparison(self, operator: str, one: Node, other: Node, at: int) -> Predicate:
        if one[0] != "column":
            one, other, operator = other, one, _FLIPPED[operator]
        column, literal = self.column(one, at), self.literal(other, at)
        if operator == "<=>":
            is_equal = Comparison(column, "is null") if literal is None else Comparison(column, "=", literal)
            return is_equal if literal is None else AllOf((is_equal, Comparison(column, "is not null")))
        return Constant(None) if literal is None else Comparison(column, operator, literal)

    def membership(self, node: Node) -> Predicate:
        _, value, items, at = node
        column, literals = self.column(value, at), [self.literal(item, at) for item in items]
        present = [literal for literal in literals if literal is not None]
        found: Predicate = Comparison(column, "in", present)
        # Null may be the value that is looked for.
        return found if len(present) == len(literals) else AnyOf((found, Constant(None)))

    def column(self, node: Node, at: int) -> Column:
        if node[0] != "column":
            self.fail(at, "compares no column with a literal: a column is expected")
        return _name(node)

    def literal(self, node: Node, at: int) -> object:
        if node[0] == "column":
            return Word(tuple(node[1]))
        if node[0] not in ("literal", "number"):
            self.fail(at, "compares a column with no literal: a literal is expected")
        return _value(node)


def _name(node: Node) -> Column:
    return node[1][0] if len(node[1]) == 1 else tuple(node[1])


def _value(node: Node) -> object:
    return Number(node[1]) if node[0] == "number" else pa.record_batch(node[1]).column(0)[0].as_py()
