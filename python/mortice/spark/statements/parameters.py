"""Names, strings and values of a statement's parameters (`:name`, `?`), as Spark reads them back under all settings.

Spark replaces `${…}` in the text of a statement by settings and variables of the environment, also within strings, and
`spark.sql.parser.escapedStringLiterals` decides what a backslash is. So a string with such characters is written by its
bytes.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import re
from collections.abc import Collection, Mapping, Sequence

from mortice import _mortice
from mortice.errors import InvalidArgumentError

_PLAIN = re.compile(r"[^'\"\\$\x00-\x1f\x7f]*")
_DIGITS = 38
"""The most digits of a decimal of Spark."""
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def quoted(name: str) -> str:
    """Returns a name in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def quoted_string(text: str) -> str:
    """Returns a string in quotes, for clauses that take no expressions: options, locations and comments."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{") + "'"


def _string(text: str) -> str:
    encoded = text.encode()
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"CAST(X'{encoded.hex()}' AS STRING)"


def literal(name: str, value: object) -> str:
    """Returns a Python value as SQL; `name` is for the message of an error."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        try:
            return _string(str.__str__(value))
        except UnicodeEncodeError as error:
            raise InvalidArgumentError(f"{name} is not valid Unicode: {error}") from error
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, (datetime.date, datetime.timedelta)):
        return _time(name, value)
    if isinstance(value, Mapping):
        return f"MAP({', '.join(literal(name, one) for pair in value.items() for one in pair)})"
    if hasattr(value, "tolist") and not isinstance(value, (int, float)):
        # Arrays and scalars of NumPy.
        return literal(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return f"ARRAY({', '.join(literal(name, one) for one in value)})"
    number = _number(name, value)
    # `a -:n` would begin a comment without brackets.
    return f"({number})" if number.startswith("-") else number


def _number(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, numbers.Integral):
        number = int(value)
        if -(2**31) < number < 2**31:
            return str(number)
        return f"{number}L" if _SMALLEST <= number <= _LARGEST else _decimal(name, decimal.Decimal(number))
    if isinstance(value, float):
        return f"CAST('{float(value)!r}' AS DOUBLE)"
    if isinstance(value, decimal.Decimal):
        return _decimal(name, value)
    raise InvalidArgumentError(
        f"{name} must be a number, a string, bytes, a date, a time, an interval, None, or a list or mapping of these, "
        f"got {type(value).__name__}"
    )


def _decimal(name: str, value: decimal.Decimal) -> str:
    if not value.is_finite():
        raise InvalidArgumentError(f"{name} must be a finite decimal, got {value}; Spark's decimals have no such value")
    text = f"{value:f}"
    whole, _, fraction = text.lstrip("-").partition(".")
    if len(whole.lstrip("0")) + len(fraction) > _DIGITS:
        raise InvalidArgumentError(f"{name} has more than {_DIGITS} digits, the most that Spark has: {value}")
    return f"{text}BD"


def _time(name: str, value: datetime.date | datetime.timedelta) -> str:
    if isinstance(value, datetime.timedelta):
        seconds = decimal.Decimal(value.seconds) + decimal.Decimal(value.microseconds).scaleb(-6)
        return f"make_dt_interval({value.days}, 0, 0, {seconds:f}BD)"
    if not isinstance(value, datetime.datetime):
        return f"DATE '{value.isoformat()}'"
    if value != value:  # noqa: PLR0124 (`NaT` of pandas)
        raise InvalidArgumentError(f"{name} must be a time, got {value}")
    if value.tzinfo is None:
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return f"TIMESTAMP_LTZ '{value.astimezone(datetime.timezone.utc).isoformat(sep=' ')}'"


_ARGS = "args"
Bound = tuple[int, int, str, str, str]
"""A value in the place of a parameter: begin, end, kind, what it is for the grammar, its literal."""


def _given(given: Mapping[str, object], names: Collection[str | None]) -> Mapping[str, object] | Sequence[object]:
    """Returns the values of the parameters, of the keyword arguments of `mortice.spark.sql`.

    As with `spark.sql`, the argument `args` alone has all of them, by name or in order, unless it is itself one.
    """
    if set(given) != {_ARGS} or _ARGS in names:
        return given
    values = given[_ARGS]
    if values is None:
        return {}
    if isinstance(values, Mapping) or (isinstance(values, Sequence) and not isinstance(values, (str, bytes))):
        return values
    return given


def bound(text: str, arguments: Mapping[str, object]) -> list[Bound]:
    """Returns the values of the parameters of a statement, in order.

    Args:
        text: The statement.
        arguments: The keyword arguments of `mortice.spark.sql`.
    """
    parameters = _mortice.statement_parameters(text)
    given = _given(arguments, [name for _, _, name in parameters])
    found: list[Bound] = []
    number = 0
    for begin, end, name in parameters:
        if isinstance(given, Mapping):
            if name is not None and name in given:
                found.append((begin, end, *_value(name, given[name])))
        elif name is None:
            number += 1
            if number > len(given):
                raise InvalidArgumentError(f"the statement has more than {len(given)} parameters, and no other values")
            found.append((begin, end, *_value(f"the value {number}", given[number - 1])))
    return found


def _value(title: str, value: object) -> tuple[str, str, str]:
    """Returns the kind of a value, what it is for the grammar, and its literal."""
    text = literal(title, value)
    if isinstance(value, str):
        return "string", str.__str__(value), text
    if isinstance(value, bool):
        return "word", text, text
    return ("number", str(int(value)), text) if isinstance(value, int) else ("literal", text, text)
