"""Parses the text of a filter, written as the condition of SQL's WHERE.

    fare > 80 and city in ('oslo', 'lima') and not (note is null or note like 'x%')

The grammar is that of expressions (`mortice.expressions`), of which a filter is a condition that compares columns, or
fields of structs, with literals. In three ways it is meant for people who type it. A name where a literal is expected
is a string, unless it names a column, so that `city = oslo` works in a shell; a date needs no quotes; and the type of
its column decides what a literal is: a number is an exact decimal, or a string if its column is one of strings.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.expressions.parse import OPERATORS, Parser
from mortice.expressions.tokens import Text
from mortice.expressions.tree import Call, Column, InList, Literal, Node
from mortice.predicate import AllOf, AnyOf, Comparison, Constant, Negation, Number, Predicate, Word
from mortice.predicate import Column as Name

__all__ = ["parse_filter"]

_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}


def parse_filter(text: str) -> Predicate:
    """Returns the predicate that a text describes. Its literals may be `Number` and `Word`.

    Raises `InvalidArgumentError`, which says where the text cannot be parsed.
    """
    parser = _FilterParser(Text(text, is_filter=True))
    try:
        return _Conditions(parser.text).predicate(parser.parsed())
    except RecursionError as error:
        raise InvalidArgumentError(f"the filter {text[:200]!r} is nested too deeply; use fewer parentheses") from error


class _FilterParser(Parser):
    """Parses the expressions that filters are. Its literals are Python values."""

    reserved = OPERATORS

    def primary(self) -> Node:
        token = self.token
        if token.kind != "date":
            return super().primary()
        self.place += 1
        return Literal(token.text)

    def number(self, text: str) -> Node:
        self.place += 1
        return Literal(Number(text))

    def typed_literal(self, word: str) -> Node:
        if word in ("DATE", "X"):
            return super().typed_literal(word)
        if word == "INTERVAL":
            self.fail("has an INTERVAL, and filters compare columns with literals")
        # The text is cast to the type of the column, which has a zone or has none.
        self.place += 2
        return Literal(self.tokens[self.place - 1].text)

    def form(self) -> Node | None:
        if self.tokens[self.place + 1].word == "(":
            self.fail(f"calls {self.token.text!r}, and filters compare columns with literals")
        return None


class _Conditions:
    """Converts trees to predicates.

    Args:
        text: The filter, for errors.
    """

    def __init__(self, text: Text) -> None:
        self.text = text

    def predicate(self, node: Node) -> Predicate:
        if isinstance(node, Column):
            return Comparison(_name(node), "=", True)
        if isinstance(node, Literal) and (_value(node) is None or isinstance(_value(node), bool)):
            return Constant(_value(node))
        if isinstance(node, InList):
            return self.membership(node)
        if not isinstance(node, Call):
            raise self.text.refused(len(self.text.whole), "has no operator (=, !=, <, in, between, like, is null)")
        if node.name in ("and", "or"):
            parts = tuple(self.predicate(part) for part in _parts(node))
            return AllOf(parts) if node.name == "and" else AnyOf(parts)
        return Negation(self.predicate(node.arguments[0])) if node.name == "not" else self.test(node)

    def test(self, node: Call) -> Predicate:
        if node.name in ("is true", "is false"):
            column = self.column(node.arguments[0], node.at)
            return AllOf((Comparison(column, "=", node.name == "is true"), Comparison(column, "is not null")))
        if node.name == "is null":
            return Comparison(self.column(node.arguments[0], node.at), "is null")
        if node.name != "like":
            return self.comparison(node)
        pattern = self.literal(node.arguments[1], node.at)
        if not isinstance(pattern, str):
            raise self.text.refused(node.at, "has LIKE without a pattern in single quotes")
        return Comparison(self.column(node.arguments[0], node.at), "like", pattern)

    def comparison(self, node: Call) -> Predicate:
        operator = node.name
        if operator not in _FLIPPED:
            raise self.text.refused(
                node.at, f"computes a value ({operator}), and filters compare columns with literals"
            )
        one, other = node.arguments
        if not isinstance(one, Column):
            one, other, operator = other, one, _FLIPPED[operator]
        column, literal = self.column(one, node.at), self.literal(other, node.at)
        if operator == "<=>":
            is_equal = Comparison(column, "is null") if literal is None else Comparison(column, "=", literal)
            return is_equal if literal is None else AllOf((is_equal, Comparison(column, "is not null")))
        return Constant(None) if literal is None else Comparison(column, operator, literal)

    def membership(self, node: InList) -> Predicate:
        column, literals = self.column(node.value, node.at), [self.literal(item, node.at) for item in node.items]
        present = [literal for literal in literals if literal is not None]
        found: Predicate = Comparison(column, "in", present)
        # Null may be the value that is looked for.
        return found if len(present) == len(literals) else AnyOf((found, Constant(None)))

    def column(self, node: Node, at: int) -> Name:
        if not isinstance(node, Column):
            raise self.text.refused(at, "compares no column with a literal: a column is expected")
        return _name(node)

    def literal(self, node: Node, at: int) -> Any:
        if isinstance(node, Column):
            return Word(node.path)
        if not isinstance(node, Literal):
            raise self.text.refused(at, "compares a column with no literal: a literal is expected")
        return _value(node)


def _name(node: Column) -> Name:
    return node.path[0] if len(node.path) == 1 else node.path


def _value(node: Literal) -> Any:
    return node.value.as_py() if isinstance(node.value, pa.Scalar) else node.value


def _parts(node: Call) -> list[Node]:
    """Returns the operands of a chain of the same operator, which can be longer than recursion is deep."""
    parts: list[Node] = []
    rest: Node = node
    while isinstance(rest, Call) and rest.name == node.name:
        rest, last = rest.arguments
        parts.append(last)
    return [rest, *reversed(parts)]
