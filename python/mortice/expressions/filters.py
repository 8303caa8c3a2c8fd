"""Converts filters to the form that the native module accepts.

A filter is any of these, in every query, write, command and option:

- text as in SQL's WHERE: `"fare > 80 and city in ('oslo', 'lima') or rider.name like 'a%'"` (`filter_text`);
- an expression of `pyarrow.compute` or of polars;
- a term `(column, operator, literal)`, or a list of terms, strings and expressions, all of which must hold;
- a list of lists of terms, any of which must hold, as in pyarrow.

Operators of terms: `= == != <> < <= > >=`, `in` and `not in` (with a list), `like` and `not like` (with a pattern), `is
null` and `is not null` (no literal). A field of a struct is `struct.field`. A null value satisfies only `is null`.
Literals are plain Python values. The native module casts them exactly to the column's type, or raises an error; in a
comparison of order, a number may be between the values of the type.
"""

from __future__ import annotations

import datetime as dt
import decimal
import sys
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.expressions.predicate import (
    AllOf,
    AnyOf,
    Column,
    Comparison,
    FieldPath,
    Number,
    Predicate,
    Unknown,
    Word,
    disjunctive,
    rewritten,
)
from mortice.values.options import LONGEST_SHOWN, checked_string

if TYPE_CHECKING:
    import polars
    import pyarrow.compute as pc

Term = tuple[Column, str, object]
Filters: TypeAlias = "str | Sequence[object] | pc.Expression | polars.Expr | None"
"""Text, a term, an expression, a list of them, or a list of lists of terms; None for no filter."""
SchemaOf = Callable[[], pa.Schema]
"""Returns the columns that a filter is about. Called only if the form of the filter needs them."""

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
LISTS = ("in", "not in")
PATTERNS = ("like", "not like")
MOST_DIGITS = 38
LARGEST_INTEGER = 10**MOST_DIGITS - 1
NULL_TESTS = ("is null", "is not null")
OPERATORS = (*COMPARISONS, *LISTS, *PATTERNS, *NULL_TESTS)
_SYNONYMS = {"==": "=", "<>": "!="}
_LARGEST_CHARACTER, _SURROGATES, _AFTER_SURROGATES = 0x10FFFF, 0xD800, 0xE000

_SHAPE = (
    "filters must be text (\"fare > 80 and city = 'oslo'\"), an expression of pyarrow or polars, a list of (column, "
    "operator, literal) terms, all of which must hold, or a list of such lists, any of which must"
)


def _shown(value: object) -> str:
    text = repr(value)
    return f" {text}" if len(text) <= LONGEST_SHOWN else ""


def normal_form(filters: Filters, schema: SchemaOf | None = None) -> list[list[Term]] | None:
    """Returns the conjunctions of `filters`; None if there are none.

    Args:
        filters: The filters.
        schema: Returns the columns that they are about.

    Raises:
        InvalidArgumentError: The filters are malformed, too complex, or have a part that queries cannot evaluate.

    >>> normal_form([("day", "==", "2024-01-01"), ("fare", ">", 3)])
    [[('day', '=', '2024-01-01'), ('fare', '>', 3)]]
    >>> normal_form([[["fare", "in", (1, 2)]], [["rider", "IS NULL"]]])
    [[('fare', 'in', [1, 2])], [('rider', 'is null', None)]]
    >>> normal_form("fare > 3 and not (city = 'oslo' or city is null)")
    [[('fare', '>', 3), ('city', '!=', 'oslo'), ('city', 'is not null', None)]]
    """
    if filters is None:
        return None
    if _is_list(filters) and len(filters) == 0:
        return None
    if _is_condition(filters):
        return _lists(_condition(filters, schema), schema)
    if not _is_list(filters):
        raise InvalidArgumentError(f"{_SHAPE}; got {type(filters).__name__}{_shown(filters)}")
    if _is_single_term(filters):
        return [_resolved([_term(filters)], schema)]
    if any(_is_condition(item) for item in filters):
        parts = [_condition(item, schema) if _is_condition(item) else _comparison(_term(item)) for item in filters]
        return _lists(AllOf(tuple(parts)), schema)
    if all(_looks_like_term(item) for item in filters):
        return [_resolved([_term(item) for item in filters], schema)]
    return [_resolved(_conjunction(item), schema) for item in filters]


def conjunction(one: Filters, other: Filters, schema: SchemaOf) -> list[list[Term]] | None:
    """Returns filters that select the rows which both filters select. Raises as `normal_form`."""
    forms = [normal_form(one, schema), normal_form(other, schema)]
    parts = [_predicate(form) for form in forms if form is not None]
    if not parts:
        return None
    return [[(one.column, one.operator, one.literal) for one in terms] for terms in disjunctive(AllOf(tuple(parts)))]


def _predicate(form: list[list[Term]]) -> Predicate:
    return AnyOf(tuple(AllOf(tuple(Comparison(*term) for term in terms)) for terms in form))


def superset(filters: Filters, schema: pa.Schema) -> list[list[Term]] | None:
    """Returns filters that the native module can evaluate, and that select all rows which an expression selects and
    perhaps others; None if there are none. Nothing of an expression is refused.

    Args:
        filters: An expression of pyarrow or polars.
        schema: The columns that it is about.
    """
    predicate = rewritten(_condition(filters, lambda: schema), lambda one: _if_exact(_adapted(one, schema), schema))
    lists = disjunctive(predicate, weakened=True)
    if not lists:
        return _nothing(schema)
    terms = [[_checked(one) for one in comparisons] for comparisons in lists]
    return terms if all(terms) else None


def _lists(predicate: Predicate, schema: SchemaOf | None) -> list[list[Term]] | None:
    fields = None if schema is None else schema()
    adapted = rewritten(predicate, lambda one: _adapted(one, fields))
    lists = disjunctive(adapted)
    if not lists:
        return _nothing(fields)
    terms = [[_checked(term) for one in comparisons for term in _with_bounds(one)] for comparisons in lists]
    return terms if all(terms) else None


def _nothing(schema: pa.Schema | None) -> list[list[Term]]:
    """Returns a filter that no row satisfies."""
    if schema is None or not schema.names:
        raise InvalidArgumentError("the filter is never true; leave out the query")
    return [[(schema.names[0], "in", [])]]


def _is_condition(value: object) -> bool:
    return isinstance(value, str) or _is_arrow(value) or _is_polars(value)


def _is_arrow(value: object) -> bool:
    return type(value).__name__ == "Expression" and type(value).__module__.startswith("pyarrow.")


def _is_polars(value: object) -> TypeGuard[polars.Expr]:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(value, polars.Expr)


def _condition(filters: Filters, schema: SchemaOf | None) -> Predicate:
    # The modules need not be imported for the other forms.
    if isinstance(filters, str):
        from mortice.expressions.filter_text import parse_filter

        return parse_filter(checked_string("the filter", filters))
    if _is_polars(filters):
        from mortice.expressions.polars import polars_predicate

        return polars_predicate(filters)
    from mortice.expressions.arrow import arrow_predicate

    return arrow_predicate(filters, pa.schema([]) if schema is None else schema())


def _comparison(term: Term) -> Comparison:
    return Comparison(*term)


def _resolved(terms: Iterable[Term], schema: SchemaOf | None) -> list[Term]:
    """Returns terms, whose column `a.b` is a field of a struct if no column has that name."""
    resolved: list[Term] = []
    for name, operator, literal in terms:
        is_dotted = isinstance(name, str) and "." in name
        column = _path(name, schema()) if is_dotted and schema is not None else name
        bounded = _with_bounds(Comparison(column, operator, literal))
        resolved.extend((one.column, one.operator, one.literal) for one in bounded)
    return resolved


def _adapted(comparison: Comparison, schema: pa.Schema | None) -> Comparison:
    """Returns a comparison with the path of its column, and with literals of text as the column's type has them."""
    if schema is None:
        column = comparison.column
        column, kind = column if isinstance(column, str) else FieldPath(column), None
    else:
        column = _path(comparison.column, schema)
        kind = _type_of(column, schema)
    literal = comparison.literal
    if isinstance(literal, list):
        literal = [_of_text(one, kind, schema) for one in literal]
    else:
        literal = _of_text(literal, kind, schema)
    return Comparison(column, comparison.operator, literal)


def _path(column: Column, schema: pa.Schema) -> Column:
    names = column.split(".") if isinstance(column, str) else list(column)
    whole = ".".join(names)
    if whole in schema.names:
        return whole
    return whole if len(names) == 1 or names[0] not in schema.names else FieldPath(names)


def _type_of(column: Column, schema: pa.Schema) -> pa.DataType | None:
    first, *rest = (column,) if isinstance(column, str) else column
    kind = schema.field(first).type if schema.names.count(first) == 1 else None
    for name in rest:
        if kind is None or not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            return None
        kind = kind.field(name).type
    return kind


def _of_text(literal: object, kind: pa.DataType | None, schema: pa.Schema | None) -> object:
    if isinstance(literal, Number):
        is_text = kind is not None and (pa.types.is_string(kind) or pa.types.is_large_string(kind))
        return literal.text if is_text else literal.value
    if isinstance(literal, Word):
        if schema is not None and literal.names[0] in schema.names:
            name = ".".join(literal.names)
            raise InvalidArgumentError(
                f"a filter compares a column with a literal, not with the column {name}; the string is '{name}'"
            )
        return ".".join(literal.names)
    return literal


def _if_exact(comparison: Comparison, schema: pa.Schema) -> Predicate:
    """Returns a comparison if the native module evaluates it as every other engine does, by its types."""
    kind = _type_of(comparison.column, schema)
    literals = comparison.literal if isinstance(comparison.literal, list) else [comparison.literal]
    if kind is None or (comparison.operator not in NULL_TESTS and not all(_fits(one, kind) for one in literals)):
        return Unknown("a literal of another type")
    return comparison


def _fits(literal: object, kind: pa.DataType) -> bool:
    is_integer = isinstance(literal, int) and not isinstance(literal, bool)
    if pa.types.is_integer(kind):
        return is_integer and -(2 ** (kind.bit_width - 1)) <= literal < 2 ** (kind.bit_width - 1)
    if pa.types.is_float64(kind):
        return isinstance(literal, float) or (isinstance(literal, int) and is_integer and abs(literal) <= 2**53)
    if pa.types.is_boolean(kind):
        return isinstance(literal, bool)
    if pa.types.is_string(kind):
        return isinstance(literal, str)
    if pa.types.is_binary(kind):
        return isinstance(literal, bytes)
    if pa.types.is_date32(kind):
        return isinstance(literal, dt.date) and not isinstance(literal, dt.datetime)
    if pa.types.is_timestamp(kind):
        if not isinstance(literal, dt.datetime) or getattr(literal, "nanosecond", 0) != 0:
            return False
        return bool((kind.unit, literal.tzinfo is None) == ("us", kind.tz is None))
    if pa.types.is_decimal128(kind) and isinstance(literal, decimal.Decimal) and literal.is_finite():
        _, digits, exponent = literal.as_tuple()
        return bool(-int(exponent) <= kind.scale and len(digits) + int(exponent) <= kind.precision - kind.scale)
    return False


def _with_bounds(comparison: Comparison) -> list[Comparison]:
    """Returns a comparison together with bounds that follow from a pattern with a constant beginning: statistics of
    files exclude by them."""
    prefix = (
        _prefix(comparison.literal) if comparison.operator == "like" and isinstance(comparison.literal, str) else ""
    )
    if not prefix:
        return [comparison]
    bounds = [Comparison(comparison.column, ">=", prefix)]
    after = _after(prefix)
    if after:
        bounds.append(Comparison(comparison.column, "<", after))
    return [comparison, *bounds]


def _prefix(pattern: str) -> str:
    prefix, characters = [], iter(pattern)
    for character in characters:
        if character in "%_":
            break
        prefix.append(next(characters, "\\") if character == "\\" else character)
    return "".join(prefix)


def _after(prefix: str) -> str:
    """Returns the first string after all that begin with a prefix; an empty one if there is none."""
    while prefix:
        last = ord(prefix[-1]) + 1
        if last <= _LARGEST_CHARACTER:
            return prefix[:-1] + chr(_AFTER_SURROGATES if last == _SURROGATES else last)
        prefix = prefix[:-1]
    return ""


def _checked(comparison: Comparison) -> Term:
    return _term((comparison.column, comparison.operator, comparison.literal))


def _is_single_term(filters: Sequence[object]) -> bool:
    """Returns true for a term. A list of strings is none, unless the second is an operator."""
    if len(filters) not in (2, 3) or not all(isinstance(item, str) for item in filters[:2]):
        return False
    if isinstance(filters, tuple) or not all(isinstance(item, str) for item in filters):
        return True
    return " ".join(str(filters[1]).lower().split()) in (*OPERATORS, *_SYNONYMS)


def _is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(value, (list, tuple))


def _looks_like_term(item: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    if not _is_list(item) or len(item) == 0:
        return False
    return isinstance(item[0], (str, FieldPath))


def _conjunction(item: object) -> list[Term]:
    if isinstance(item, str) or not _is_list(item):
        raise InvalidArgumentError(f"{_SHAPE}; got {item!r} instead of a term or a list of terms")
    if _looks_like_term(item):
        raise InvalidArgumentError(f"{_SHAPE}; got the term {item!r} next to lists of terms")
    if len(item) == 0:
        raise InvalidArgumentError(f"{_SHAPE}; one of the lists is empty")
    return [_term(term) for term in item]


def _term(term: object) -> Term:
    if (
        not _is_list(term)
        or len(term) not in (2, 3)
        or not isinstance(of := term[0], (str, FieldPath))
        or not isinstance(name := term[1], str)
    ):
        raise InvalidArgumentError(f"a filter term must be (column, operator, literal), got {term!r}")
    column, operator, literals = _checked_column(of), _operator(name, term), term[2:]
    if operator in NULL_TESTS:
        if literals and literals[0] is not None:
            raise InvalidArgumentError(f"{operator!r} takes no literal, got {term!r}")
        return column, operator, None
    if not literals:
        raise InvalidArgumentError(f"the filter term {term!r} needs a literal: (column, operator, literal)")
    if operator in LISTS:
        return column, operator, _literals(term)
    if operator in PATTERNS and not isinstance(literals[0], str):
        raise InvalidArgumentError(f"{operator!r} takes a pattern, such as 'os%', got {term!r}")
    return column, operator, _literal(term[2], term)


def _checked_column(column: Column) -> Column:
    if isinstance(column, str):
        return checked_string("the column of a filter", column)
    return FieldPath(checked_string("the column of a filter", name) for name in column)


def _operator(name: str, term: object) -> str:
    operator = " ".join(name.lower().split())
    operator = _SYNONYMS.get(operator, operator)
    if operator not in OPERATORS:
        hint = "; write ('…', 'is null')" if operator == "is" else ""
        raise InvalidArgumentError(f"unknown operator {name!r} in {term!r}; supported: {', '.join(OPERATORS)}{hint}")
    return operator


def _literals(term: Sequence[object]) -> list[object]:
    values = term[2]
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable) or isinstance(values, dict):
        raise InvalidArgumentError(f"{term[1]!r} takes a list of literals, got {term!r}")
    return [_literal(value, term) for value in values]


def _literal(value: object, term: Sequence[object]) -> object:
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


def _plain(value: object, term: Sequence[object]) -> object:
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


def _moment(value: dt.datetime, term: Sequence[object]) -> dt.datetime:
    """Returns a plain datetime for a pandas.Timestamp, which has nanoseconds and may be NaT."""
    nanoseconds: object = getattr(value, "nanosecond", 0)
    if nanoseconds != 0:  # NaT has NaN
        raise _refused(value, term, "it is not a whole number of microseconds")
    time = dt.time(value.hour, value.minute, value.second, value.microsecond, value.tzinfo, fold=value.fold)
    return dt.datetime.combine(dt.date(value.year, value.month, value.day), time)


def _unwrapped(value: object, term: Sequence[object]) -> object:
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


def _refused(value: object, term: object, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"the literal {value!r} ({type(value).__name__}) in {term!r} cannot be used; {why}")
