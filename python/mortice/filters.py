"""Converts filters to the form that the native module accepts.

It is the disjunctive normal form of pyarrow: a list of conjunctions, each a list of terms `(column, operator,
literal)`. A flat list of terms is one conjunction. Operators: `= == != < <= > >=`, `in`, `not in` (with a list), `is
null` and `is not null` (no literal). A null value satisfies only `is null`. Literals are plain Python values. The
native module casts them exactly to the column's type, or raises an error.
"""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from mortice.errors import InvalidArgumentError
from mortice.options import checked_string

Term = tuple[str, str, Any]
Filters = Sequence[Any] | None
"""A list of terms, or a list of lists of terms."""

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
LISTS = ("in", "not in")
MOST_DIGITS = 38
LARGEST_INTEGER = 10**MOST_DIGITS - 1
NULL_TESTS = ("is null", "is not null")
OPERATORS = (*COMPARISONS, *LISTS, *NULL_TESTS)

_SHAPE = (
    "filters must be a list of (column, operator, literal) terms, all of which must hold, "
    "or a list of such lists, any of which must"
)


def normal_form(filters: Filters) -> list[list[Term]] | None:
    """Returns the conjunctions of `filters`; None if there are none.

    >>> normal_form([("day", "==", "2024-01-01"), ("fare", ">", 3)])
    [[('day', '=', '2024-01-01'), ('fare', '>', 3)]]
    >>> normal_form([[["fare", "in", (1, 2)]], [["rider", "IS NULL"]]])
    [[('fare', 'in', [1, 2])], [('rider', 'is null', None)]]
    """
    if filters is None:
        return None
    if not _is_list(filters):
        raise InvalidArgumentError(f"{_SHAPE}; got {type(filters).__name__} {filters!r}")
    if len(filters) == 0:
        return None
    if all(_looks_like_term(item) for item in filters):
        return [[_term(item) for item in filters]]
    return [_conjunction(item) for item in filters]


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _looks_like_term(item: Any) -> bool:
    return _is_list(item) and len(item) > 0 and isinstance(item[0], str)


def _conjunction(item: Any) -> list[Term]:
    if isinstance(item, str) or not _is_list(item):
        raise InvalidArgumentError(f"{_SHAPE}; got {item!r} instead of a term or a list of terms")
    if _looks_like_term(item):
        raise InvalidArgumentError(f"{_SHAPE}; got the term {item!r} next to lists of terms")
    if len(item) == 0:
        raise InvalidArgumentError(f"{_SHAPE}; one of the lists is empty")
    return [_term(term) for term in item]


def _term(term: Any) -> Term:
    if not _looks_like_term(term) or len(term) not in (2, 3) or not isinstance(term[1], str):
        raise InvalidArgumentError(f"a filter term must be (column, operator, literal), got {term!r}")
    column, operator, literals = checked_string("the column of a filter", term[0]), _operator(term), term[2:]
    if operator in NULL_TESTS:
        if literals and literals[0] is not None:
            raise InvalidArgumentError(f"{operator!r} takes no literal, got {term!r}")
        return column, operator, None
    if not literals:
        raise InvalidArgumentError(f"the filter term {term!r} needs a literal: (column, operator, literal)")
    if operator in LISTS:
        return column, operator, _literals(term)
    return column, operator, _literal(term[2], term)


def _operator(term: Any) -> str:
    operator = " ".join(term[1].lower().split())
    if operator == "==":
        return "="
    if operator not in OPERATORS:
        hint = "; write ('…', 'is null')" if operator == "is" else ""
        raise InvalidArgumentError(f"unknown operator {term[1]!r} in {term!r}; supported: {', '.join(OPERATORS)}{hint}")
    return operator


def _literals(term: Any) -> list[Any]:
    values = term[2]
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) or isinstance(values, dict):
        raise InvalidArgumentError(f"{term[1]!r} takes a list of literals, got {term!r}")
    return [_literal(value, term) for value in values]


def _literal(value: Any, term: Any) -> Any:
    """Returns `value` as one of the plain types that the native module accepts."""
    plain = _plain(value, term)
    if isinstance(plain, str):
        return checked_string(f"a literal of the filter on {term[0]!r}", plain)
    if isinstance(plain, int) and not -LARGEST_INTEGER <= plain <= LARGEST_INTEGER:
        raise _refused(value, term, f"it has more than {MOST_DIGITS} digits")
    if isinstance(plain, decimal.Decimal):
        if not plain.is_finite():
            raise _refused(value, term, "it is not a finite number")
        if len(plain.as_tuple().digits) + max(0, int(plain.as_tuple().exponent)) > MOST_DIGITS:
            raise _refused(value, term, f"it has more than {MOST_DIGITS} digits")
    return plain


def _plain(value: Any, term: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str, bytes, decimal.Decimal, dt.date, dt.datetime):
        return value
    if isinstance(value, dt.datetime):
        return _moment(value, term)
    # Subclasses: numpy's str_ and float64, enums of strings.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    return _unwrapped(value, term)


def _moment(value: dt.datetime, term: Any) -> dt.datetime:
    """Returns a plain datetime for a pandas.Timestamp, which has nanoseconds and may be NaT."""
    nanoseconds: Any = getattr(value, "nanosecond", 0)
    if nanoseconds != 0:  # NaT has NaN
        raise _refused(value, term, "it is not a whole number of microseconds")
    time = dt.time(value.hour, value.minute, value.second, value.microsecond, value.tzinfo, fold=value.fold)
    return dt.datetime.combine(dt.date(value.year, value.month, value.day), time)


def _unwrapped(value: Any, term: Any) -> Any:
    """Returns the Python value of a scalar of numpy or pyarrow."""
    for method in ("as_py", "item"):
        unwrap = getattr(value, method, None)
        if callable(unwrap):
            plain = unwrap()
            # A datetime64 of nanoseconds unwraps to an integer, whose unit would be lost.
            if type(plain) is int and type(value).__name__ in ("datetime64", "timedelta64"):
                raise _refused(value, term, "use a datetime, or datetime64[us]")
            if type(plain) is not type(value) and not _is_list(plain):
                return _plain(plain, term)
    raise _refused(value, term, "use None, bool, int, float, str, bytes, Decimal, date or datetime")


def _refused(value: Any, term: Any, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"the literal {value!r} ({type(value).__name__}) in {term!r} cannot be used; {why}")
