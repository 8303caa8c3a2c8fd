"""Values of options: Spark hands all of them over as text."""

from __future__ import annotations

from typing import Any

from mortice.errors import InvalidArgumentError
from mortice.options import checked_count


def whole(name: str, value: Any) -> int:
    """A number of 1 or more."""
    try:
        number = int(value.strip()) if isinstance(value, str) else value
    except ValueError:
        number = value
    return checked_count(f"the option {name}", number)


def truth(name: str, value: Any) -> bool:
    """`true` or `false`."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise InvalidArgumentError(f"the option {name} is true or false, not {value!r}")
    return text == "true"
