"""Parses values of options, which Spark passes as strings."""

from __future__ import annotations

from typing import Any

from mortice.errors import InvalidArgumentError
from mortice.values.options import checked_count


def parse_count(name: str, value: Any) -> int:
    """Returns the value as an integer of 1 or more. Raises `InvalidArgumentError`."""
    try:
        number = int(value.strip()) if isinstance(value, str) else value
    except ValueError:
        number = value
    return checked_count(f"the option {name}", number)


def parse_bool(name: str, value: Any) -> bool:
    """Returns the value of `true` or `false`, in any case. Raises `InvalidArgumentError`."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise InvalidArgumentError(f"the option {name} must be true or false, got {value!r}")
    return text == "true"
