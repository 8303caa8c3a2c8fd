"""Predicates as trees, and their disjunctive normal form, which is what the native module evaluates.

The text of a filter, expressions of pyarrow and expressions of polars become such a tree. Its logic is SQL's: a
comparison with null is neither true nor false, and only rows for which the whole predicate is true are selected. A
negation is moved to the comparisons, where it replaces the operator.
"""

from __future__ import annotations

import decimal
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from mortice.errors import InvalidArgumentError

__all__ = [
    "MOST_TERMS",
    "AllOf",
    "AnyOf",
    "Column",
    "Comparison",
    "Constant",
    "FieldPath",
    "Negation",
    "Number",
    "Predicate",
    "Unknown",
    "Word",
    "disjunctive",
    "rewritten",
]

Column = str | tuple[str, ...]
"""The name of a column, or those of a column and of fields within it, outermost first."""


class FieldPath(tuple[str, ...]):
    """The names of a column and of fields within it, resolved: a tuple that no term is mistaken for."""

    __slots__ = ()


MOST_TERMS = 4096
"""Comparisons of a normal form, which can be exponentially longer than the predicate."""

_OPPOSITES = {"=": "!=", "<": ">=", ">": "<=", "in": "not in", "like": "not like", "is null": "is not null"}
_OPPOSITES |= {negated: operator for operator, negated in _OPPOSITES.items()}


@dataclass(frozen=True)
class Comparison:
    """A comparison of a column with a literal, or a test for null."""

    column: Column
    operator: str
    """An operator of `mortice.filters`."""
    literal: object = None
    """The literal; a list for `in` and `not in`; None for tests for null."""


@dataclass(frozen=True)
class AllOf:
    """True if all parts are."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True)
class AnyOf:
    """True if any of the parts is."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True)
class Negation:
    """True if the part is false."""

    part: Predicate


@dataclass(frozen=True)
class Constant:
    """True, false, or null, which is neither."""

    value: bool | None


@dataclass(frozen=True)
class Unknown:
    """What the native module cannot evaluate."""

    reason: str


@dataclass(frozen=True)
class Number:
    """A number as it was written: the type of its column decides whether it is one or a string."""

    text: str

    @property
    def value(self) -> int | float | decimal.Decimal:
        """The number: an integer, an exact decimal, or a float if it has too many digits for a decimal."""
        if re.fullmatch(r"[+-]?\d+", self.text):
            return int(self.text)
        exact = decimal.Decimal(self.text)
        exponent = exact.as_tuple().exponent
        is_small = isinstance(exponent, int) and len(exact.as_tuple().digits) <= 38 and -38 <= exponent <= 0  # noqa: PLR2004
        return exact if is_small else float(self.text)


@dataclass(frozen=True)
class Word:
    """A name where a literal is expected: a string, unless it names a column."""

    names: tuple[str, ...]


Predicate = Comparison | AllOf | AnyOf | Negation | Constant | Unknown

_Lists = list[list[Comparison]]


def rewritten(predicate: Predicate, change: Callable[[Comparison], Predicate]) -> Predicate:
    """Returns the predicate with its comparisons replaced."""
    if isinstance(predicate, Comparison):
        return change(predicate)
    if isinstance(predicate, AllOf):
        return AllOf(tuple(rewritten(part, change) for part in predicate.parts))
    if isinstance(predicate, AnyOf):
        return AnyOf(tuple(rewritten(part, change) for part in predicate.parts))
    if isinstance(predicate, Negation):
        return Negation(rewritten(predicate.part, change))
    return predicate


def disjunctive(predicate: Predicate, *, weakened: bool = False) -> _Lists:
    """Returns lists of comparisons: a row is selected if all comparisons of any list are true.

    An empty list of comparisons selects every row; without lists no row is selected.

    Args:
        predicate: The predicate.
        weakened: True leaves out what cannot be evaluated, and what makes the normal form too long. All rows that the
            predicate selects are selected then, and perhaps others.

    Raises:
        InvalidArgumentError: The predicate cannot be evaluated, or its normal form is too long.
    """
    return _lists(predicate, negated=False, weakened=weakened)


def _lists(predicate: Predicate, *, negated: bool, weakened: bool) -> _Lists:
    if isinstance(predicate, Negation):
        return _lists(predicate.part, negated=not negated, weakened=weakened)
    if isinstance(predicate, Comparison):
        operator = _OPPOSITES[predicate.operator] if negated else predicate.operator
        return [[Comparison(predicate.column, operator, predicate.literal)]]
    if isinstance(predicate, Constant):
        return [[]] if predicate.value is not None and predicate.value != negated else []
    if isinstance(predicate, Unknown):
        if weakened:
            return [[]]
        raise InvalidArgumentError(predicate.reason)
    parts = [_lists(part, negated=negated, weakened=weakened) for part in predicate.parts]
    if isinstance(predicate, AllOf) != negated:
        return reduce(lambda one, other: _both(one, other, weakened=weakened), parts, [[]])
    return _either(parts)


def _either(parts: Iterable[_Lists]) -> _Lists:
    """Returns the lists of all parts; `a = 1 or a in (2, 3)` is one list."""
    equal: dict[Column, list[object]] = {}
    lists = []
    for terms in itertools.chain.from_iterable(parts):
        if not terms:
            return [[]]
        if len(terms) == 1 and terms[0].operator in ("=", "in"):
            term = terms[0]
            literals = term.literal if isinstance(term.literal, list) else [term.literal]
            equal.setdefault(term.column, []).extend(literals)
        else:
            lists.append(terms)
    return [
        *(
            [Comparison(column, "=", one[0])] if len(one) == 1 else [Comparison(column, "in", one)]
            for column, one in equal.items()
        ),
        *lists,
    ]


def _both(one: _Lists, other: _Lists, *, weakened: bool) -> _Lists:
    terms = sum(map(len, one)) * len(other) + sum(map(len, other)) * len(one)
    if terms > MOST_TERMS:
        if weakened:
            return min(one, other, key=len)
        raise InvalidArgumentError(
            f"the filter is too complex: as alternatives of conjunctions it has {terms} comparisons or more, and "
            f"{MOST_TERMS} are the most; use fewer `or` within `and`, or filter the rows of a simpler query"
        )
    return [_merged(mine, theirs) for mine in one for theirs in other]


def _merged(one: Sequence[Comparison], other: Sequence[Comparison]) -> list[Comparison]:
    merged = list(one)
    merged.extend(term for term in other if term not in one)
    return merged
