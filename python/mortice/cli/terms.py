"""Parses filter terms of the command line: `fare > 3`, `day in ('a', 'b')`, `rider is null`.

    term     = column operator [literal]
    literal  = 'string' | "string" | number | true | false | bare string
    list     = ( literal , literal ... )

The type of the column decides the type of a bare or numeric literal: for a string column it is a string.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from pyarrow import types as at

from mortice.errors import InvalidArgumentError
from mortice.filters import NULL_TESTS, Term

_TERM = re.compile(
    r"\s*(?P<column>\"[^\"]+\"|[^\s=!<>]+)\s*(?P<operator>==|!=|<=|>=|=|<|>|not\s+in\b|in\b|is\s+(?:not\s+)?null\b)\s*(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LITERAL = re.compile(r"\s*('(?:[^']|'')*'|\"[^\"]*\"|[^,'\"]+?)\s*(?:,|$)")


def parse_term(text: str, schema: pa.Schema) -> Term:
    """Parses a filter term.

    >>> fields = pa.schema([("fare", pa.float64()), ("day", pa.string())])
    >>> parse_term("fare>=3", fields), parse_term("day in ('a, b', 7)", fields), parse_term("day is null", fields)
    (('fare', '>=', 3), ('day', 'in', ['a, b', '7']), ('day', 'is null', None))
    """
    match = _TERM.fullmatch(text)
    if match is None:
        raise InvalidArgumentError(
            f'a filter must be like "fare > 3", "day in (\'a\', \'b\')" or "rider is null", got {text!r}'
        )
    column = match["column"].strip('"')
    operator = " ".join(match["operator"].lower().split())
    kind = schema.field(column).type if column in schema.names else pa.string()
    rest = match["rest"].strip()
    if operator in NULL_TESTS:
        if rest:
            raise InvalidArgumentError(f"{operator!r} takes no literal, got {text!r}")
        return column, operator, None
    if operator in ("in", "not in"):
        return column, operator, [_value(literal, kind) for literal in _literals(rest, text)]
    if not rest:
        raise InvalidArgumentError(f"the filter {text!r} needs a literal, as in 'fare > 3'")
    return column, operator, _value(rest, kind)


def _literals(rest: str, text: str) -> list[str]:
    if not (rest.startswith("(") and rest.endswith(")")):
        raise InvalidArgumentError(f"'in' takes a list in brackets, as in \"day in ('a', 'b')\", got {text!r}")
    inner, position, found = rest[1:-1].strip(), 0, []
    while position < len(inner):
        match = _LITERAL.match(inner, position)
        if match is None:
            raise InvalidArgumentError(
                f"the list in the filter {text!r} cannot be parsed; separate its literals by commas"
            )
        found.append(match[1])
        position = match.end()
    return found


def _value(literal: str, kind: pa.DataType) -> Any:
    if len(literal) > 1 and literal[0] == literal[-1] and literal[0] in "'\"":
        return literal[1:-1].replace("''", "'") if literal[0] == "'" else literal[1:-1]
    if at.is_string(kind):
        return literal
    if at.is_binary(kind):
        return literal.encode()
    if at.is_boolean(kind) and literal.lower() in ("true", "false"):
        return literal.lower() == "true"
    if re.fullmatch(r"[+-]?\d+", literal):
        return int(literal)
    if at.is_floating(kind):
        try:
            return float(literal)
        except ValueError:
            return literal
    return literal
