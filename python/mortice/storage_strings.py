"""Names and values of storage options as strings. No message has a value in it: values may be secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mortice.errors import InvalidArgumentError

__all__ = ["storage_strings"]


def storage_strings(options: Mapping[Any, Any]) -> dict[str, str]:
    """Returns options as strings: bools as `true` and `false`."""
    return {_name(name): _text(name, value) for name, value in options.items()}


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidArgumentError(f"the name of a storage option must be a string, got {name!r}")
    if _has_surrogates(name):
        raise InvalidArgumentError(f"the name of a storage option must be valid Unicode, got {name!r}")
    return str.__str__(name)


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        text = str(value)
        if _has_surrogates(text):
            raise InvalidArgumentError(f"the storage option {name!r} must be valid Unicode")
        return text
    kind = type(value).__name__
    raise InvalidArgumentError(f"the storage option {name!r} must be a string, a number or a bool, got {kind}")


def _has_surrogates(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)
