"""Arguments checked at the border, so that a wrong one is refused by name before anything is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from mortice.credentials import CREDENTIALS, register
from mortice.errors import InvalidArgumentError
from mortice.storage_strings import storage_strings

DEFAULT_BATCH_ROWS = 65536
DEFAULT_SEMANTICS = "1.x"
DEFAULT_ON_CORRUPT = "skip"
DEFAULT_HOLES = "FAIL"
DEFAULT_POLL_SECONDS = 5.0

LARGEST_COUNT = 2**63
LONGEST_WAIT_SECONDS = 366 * 86_400


def checked_text(argument: str, text: str) -> str:
    """Text that can be written as UTF-8, as Rust holds it: without halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{argument} is not valid Unicode: {text!r}") from error
    return str.__str__(text)


def checked_uri(uri: object) -> str:
    """A path or URI as text."""
    if not isinstance(uri, (str, os.PathLike)):
        raise InvalidArgumentError(f"the table's path is text or a Path, not {type(uri).__name__} {uri!r}")
    text = os.fspath(uri)
    if not isinstance(text, str):
        raise InvalidArgumentError(f"the table's path is text, not bytes: {text!r}")
    if not text:
        raise InvalidArgumentError("the table's path is empty")
    return checked_text("the table's path", text)


def checked_storage_options(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Returns storage options as strings: bools as `true` and `false`, a function for credentials by its name.

    No message has a value in it: values may be secrets.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidArgumentError(f"storage_options is a mapping of names to values, not {type(options).__name__}")
    given = dict(options)
    if CREDENTIALS in given:
        given[CREDENTIALS] = register(given[CREDENTIALS])
    return storage_strings(given)


def checked_semantics(semantics: object) -> str:
    """Whose merging to follow: `1.x` (the newest Hudi) or `0.x` (Hudi 0.15)."""
    return _one_of("semantics", semantics, ("1.x", "0.x"), known="'1.x' and '0.x'")


def checked_on_corrupt(on_corrupt: object) -> str:
    """What happens at a corrupt log block: `skip` it, as Hudi does, or `raise`."""
    return _one_of("on_corrupt", on_corrupt, ("skip", "raise"), known="'skip' and 'raise'")


def _one_of(argument: str, value: object, choices: Sequence[str], *, known: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgumentError(f"{argument} is one of {known}, not {value!r}")
    return value


def checked_count(argument: str, value: object, *, least: int = 1) -> int:
    """A whole number, `least` or more."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < LARGEST_COUNT:
        raise InvalidArgumentError(f"{argument} is a whole number of {least} or more, not {value!r}")
    return value


def checked_seconds(argument: str, value: object) -> float | None:
    """A number of seconds above 0, a year at most; None for not waiting at all."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LONGEST_WAIT_SECONDS:
        raise InvalidArgumentError(f"{argument} is a number of seconds above 0, a year at most, or None, not {value!r}")
    return float(value)


def checked_truth(argument: str, value: object) -> bool:
    """True or False, nothing that merely counts as one."""
    if not isinstance(value, bool):
        raise InvalidArgumentError(f"{argument} is True or False, not {value!r}")
    return value


def checked_optional_truth(argument: str, value: object) -> bool | None:
    return None if value is None else checked_truth(argument, value)


def checked_optional_count(argument: str, value: object) -> int | None:
    return None if value is None else checked_count(argument, value)


def checked_columns(columns: Sequence[str] | None) -> list[str] | None:
    """The names asked for, in that order. Whether the table has them is the native module's to say."""
    if columns is None:
        return None
    if isinstance(columns, (str, bytes)) or not isinstance(columns, Sequence):
        raise InvalidArgumentError(f"columns is a list of names, such as ['fare', 'rider'], not {columns!r}")
    names = list(columns)
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"columns is a list of names; {name!r} is no name")
        checked_text("a name in columns", name)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidArgumentError(f"columns names {', '.join(map(repr, twice))} more than once")
    return names


def checked_name(argument: str, value: object) -> str:
    """Text, valid and not empty."""
    if not isinstance(value, str) or not value:
        raise InvalidArgumentError(f"{argument} is a text that is not empty, not {value!r}")
    return checked_text(argument, value)


def checked_optional_name(argument: str, value: object) -> str | None:
    return None if value is None else checked_name(argument, value)


def checked_texts(argument: str, values: Mapping[str, str] | None) -> dict[str, str]:
    """A mapping of texts to texts; nothing for None."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InvalidArgumentError(f"{argument} is a mapping of names to texts, not {type(values).__name__}")
    for name, value in values.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InvalidArgumentError(
                f"{argument} is a mapping of names to texts; {name!r}: {value!r} is none of them"
            )
        checked_text(argument, name)
        checked_text(argument, value)
    return dict(values)
