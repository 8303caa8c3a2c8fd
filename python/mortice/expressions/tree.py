"""The nodes of a parsed expression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["Call", "Case", "Cast", "Column", "InList", "Literal", "Node", "traverse"]


@dataclass(frozen=True)
class Literal:
    """A constant, with its type; in a filter a Python value, as the type of its column decides what it is."""

    value: Any


@dataclass(frozen=True)
class Column:
    """A column or a field within one, by its names; `at` is its place in the text."""

    path: tuple[str, ...]
    at: int


@dataclass(frozen=True)
class Call:
    """A function or an operator, by its name in lower case."""

    name: str
    arguments: tuple[Node, ...]
    at: int


@dataclass(frozen=True)
class Cast:
    """`CAST(value AS type)`."""

    value: Node
    type: pa.DataType


@dataclass(frozen=True)
class InList:
    """`value IN (items)`."""

    value: Node
    items: tuple[Node, ...]
    at: int


@dataclass(frozen=True)
class Case:
    """`CASE WHEN condition THEN value … ELSE otherwise END`."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node


Node = Literal | Column | Call | Cast | InList | Case


def traverse(node: Node) -> Iterator[Node]:
    """Yields a node and all nodes within it."""
    yield node
    for child in _children(node):
        yield from traverse(child)


def _children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, Cast):
        return (node.value,)
    if isinstance(node, InList):
        return (node.value, *node.items)
    if isinstance(node, Case):
        return (*(part for branch in node.branches for part in branch), node.otherwise)
    return ()
