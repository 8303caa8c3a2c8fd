"""Checks arguments of the public API before anything is read, so that an error names the argument."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence

from mortice.errors import InvalidArgumentError
from mortice.values.credentials import CREDENTIALS, register, storage_strings

DEFAULT_BATCH_ROWS = 65536
DEFAULT_SEMANTICS = "1.x"
DEFAULT_ON_CORRUPT = "skip"
DEFAULT_HOLES = "fail"
DEFAULT_POLL_SECONDS = 5.0

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")

_OPERATOR = re.compile(r"[<>=]")
"""What no name of a column has: names are those of Avro."""

LARGEST_COUNT = 2**63
LONGEST_SHOWN = 80
LONGEST_WAIT_SECONDS = 366 * 86_400


def checked_string(argument: str, text: str) -> str:
    """Returns a string that can be encoded as UTF-8, as Rust requires: one without lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{argument} must be valid Unicode, got {text!r}") from error
    return str.__str__(text)


def checked_uri(uri: object) -> str:
    """Returns a path or URI as a string."""
    if not isinstance(uri, (str, os.PathLike)):
        shown = repr(uri)
        of_it = f" {shown}" if len(shown) <= LONGEST_SHOWN else ""
        raise InvalidArgumentError(f"the path must be a string or a Path, got {type(uri).__name__}{of_it}")
    text = os.fspath(uri)
    if not isinstance(text, str):
        raise InvalidArgumentError(f"the path must be a string, got bytes: {text!r}")
    if not text:
        raise InvalidArgumentError("the path must be a non-empty string, got ''")
    return checked_string("the path", text)


def absolute_uri(uri: object) -> str:
    """Returns a URI, or a path from the root of the file system: one that stays the same in another directory."""
    text = checked_uri(uri)
    if _SCHEME.match(text):
        return text
    return os.path.abspath(os.path.expanduser(text))  # noqa: PTH100, PTH111 (links are kept)


def checked_storage_options(options: Mapping[str, object] | None) -> dict[str, str]:
    """Returns storage options as strings: bools as `true` and `false`, a function for credentials by its name.

    No message has a value in it: values may be secrets.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidArgumentError(
            f"storage_options must be a mapping of names to values, got {type(options).__name__}"
        )
    given = dict(options)
    if CREDENTIALS in given:
        given[CREDENTIALS] = register(given[CREDENTIALS])
    return storage_strings(given)


def checked_semantics(semantics: object) -> str:
    """Returns the release whose merge rules apply: `1.x` (the newest Hudi) or `0.x` (Hudi 0.15)."""
    return _one_of("semantics", semantics, "1.x", "0.x")


def checked_on_corrupt(on_corrupt: object) -> str:
    """Returns what happens at a corrupt log block: `skip` it, as Hudi does, or `raise`."""
    return _one_of("on_corrupt", on_corrupt, "skip", "raise")


def checked_on_damage(on_damage: object) -> str | None:
    """Returns what happens at a damaged log file: `warn`, `raise`, `ignore`; None for the default of each operation."""
    return None if on_damage is None else _one_of("on_damage", on_damage, "warn", "raise", "ignore")


def checked_holes(holes: object) -> str:
    """Returns the policy for pending commits in a range, as Hudi's constant: `fail` or `block`, in any case."""
    name = checked_name("holes", holes).upper()
    # The core rejects the third policy of Hudi by name.
    if name not in ("FAIL", "BLOCK", "USE_TRANSITION_TIME"):
        raise InvalidArgumentError(f"holes must be 'fail' or 'block', got {holes!r}")
    return name


def _one_of(argument: str, value: object, *choices: str) -> str:
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(map(repr, choices[:-1]))
        raise InvalidArgumentError(f"{argument} must be {known} or {choices[-1]!r}, got {value!r}")
    return value


def checked_count(argument: str, value: object, *, least: int = 1) -> int:
    """Returns an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < LARGEST_COUNT:
        raise InvalidArgumentError(f"{argument} must be an integer of {least} or more, got {value!r}")
    return value


def checked_seconds(argument: str, value: object) -> float | None:
    """Returns a number of seconds above 0 and up to a year; None for not waiting at all."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LONGEST_WAIT_SECONDS:
        raise InvalidArgumentError(
            f"{argument} must be a number of seconds above 0 and up to a year, or None, got {value!r}"
        )
    return float(value)


def checked_bool(argument: str, value: object) -> bool:
    """Returns True or False. Other values are rejected, even if they are true or false in a condition."""
    if not isinstance(value, bool):
        raise InvalidArgumentError(f"{argument} must be True or False, got {value!r}")
    return value


def checked_optional_bool(argument: str, value: object) -> bool | None:
    return None if value is None else checked_bool(argument, value)


def checked_optional_count(argument: str, value: object) -> int | None:
    return None if value is None else checked_count(argument, value)


def checked_columns(columns: Sequence[str] | str | None) -> list[str] | None:
    """Returns the requested column names in their order; a string is one name. The native module checks whether the
    table has them.
    """
    if columns is None:
        return None
    if isinstance(columns, str):
        if _OPERATOR.search(columns):
            raise InvalidArgumentError(f"columns must be names of columns, got {columns!r}; a condition is filters=…")
        columns = [columns]
    if not isinstance(columns, Sequence) or isinstance(columns, bytes):  # type: ignore[unreachable]
        raise InvalidArgumentError(f"columns must be a list of names, such as ['fare', 'rider'], got {columns!r}")
    names = list(columns)
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"columns must be a list of names, got {name!r} in it")
        checked_string("a name in columns", name)
    if names == ["*"]:
        raise InvalidArgumentError("columns are names of columns, got '*'; leave the argument out for all of them")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidArgumentError(
            f"columns must name each column once, got {', '.join(map(repr, twice))} more than once"
        )
    return names


def checked_name(argument: str, value: object) -> str:
    """Returns a valid, non-empty string."""
    if not isinstance(value, str) or not value:
        raise InvalidArgumentError(f"{argument} must be a non-empty string, got {value!r}")
    return checked_string(argument, value)


def checked_names(argument: str, given: object) -> list[str]:
    """Returns names of columns: of one, of a list, or none of None. None of them is empty, or there twice."""
    if not isinstance(given, (str, Sequence, type(None))) or isinstance(given, (bytes, bytearray)):
        raise InvalidArgumentError(f"{argument} must be a column name or a list of them, got {given!r}")
    names = [given] if isinstance(given, str) else list(given or ())
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError(f"{argument} must be a column name or a list of them, got {given!r}")
        checked_string(argument, name)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidArgumentError(f"{argument} names {', '.join(map(repr, twice))} more than once")
    return names


def checked_avro_schema(argument: str, schema: object) -> str | None:
    """Returns the JSON of an Avro schema, given as a string or a mapping; None for None."""
    if schema is None:
        return None
    if isinstance(schema, str):
        return checked_string(argument, schema)
    if not isinstance(schema, Mapping):
        raise InvalidArgumentError(
            f"{argument} must be an Avro schema as a JSON string or a mapping, got {type(schema).__name__}"
        )
    try:
        return json.dumps(schema)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{argument} must be an Avro schema that can be written as JSON") from error


def checked_optional_name(argument: str, value: object) -> str | None:
    return None if value is None else checked_name(argument, value)


def checked_string_mapping(argument: str, values: Mapping[str, str] | None) -> dict[str, str]:
    """Returns a mapping of strings to strings; an empty one for None."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InvalidArgumentError(f"{argument} must be a mapping of strings to strings, got {type(values).__name__}")
    for name, value in values.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InvalidArgumentError(
                f"{argument} must be a mapping of strings to strings, got {name!r}: {value!r} in it"
            )
        checked_string(argument, name)
        checked_string(argument, value)
    return dict(values)
