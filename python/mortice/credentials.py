"""Credentials that a user-defined function supplies: `storage_options={"credentials": function}`.

    def credentials():
        keys = vault.sign_in()
        return {
            "access_key_id": keys.id, "secret_access_key": keys.secret, "session_token": keys.token,
            "expires_at": keys.expiry,  # a datetime with a zone, seconds since 1970, or None
        }

    mortice.Table("s3://lake/trips", storage_options={"region": "eu-west-1", "credentials": credentials})

The function is called when a table is opened. It returns storage options, which take precedence over others.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping
from typing import Any

from mortice.errors import InvalidArgumentError

__all__ = ["CREDENTIALS", "EXPIRES_AT", "supplied"]

CREDENTIALS = "credentials"
EXPIRES_AT = "expires_at"

Supplier = Callable[[], Mapping[str, Any]]


def supplied(supplier: object) -> dict[str, Any]:
    """Calls a supplier of credentials and returns its storage options.

    Raises `InvalidArgumentError` if it is not callable, or if its result is not a mapping or has expired.
    """
    if not callable(supplier):
        raise InvalidArgumentError(
            f"the storage option {CREDENTIALS!r} must be callable, got an object of type {type(supplier).__name__}"
        )
    given = supplier()
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(
            f"the function in the storage option {CREDENTIALS!r} must return a mapping of storage options, "
            f"got an object of type {type(given).__name__}"
        )
    options = dict(given)
    expires_at = _seconds(options.pop(EXPIRES_AT, None))
    if expires_at is not None and expires_at <= time.time():
        raise InvalidArgumentError(
            f"the function in the storage option {CREDENTIALS!r} returned credentials that have expired"
        )
    # Entries without a value, such as a missing token, are left out.
    return {name: value for name, value in options.items() if value is not None}


def _seconds(moment: object) -> float | None:
    if moment is None:
        return None
    if isinstance(moment, dt.datetime) and moment.tzinfo is not None:
        return moment.timestamp()
    if isinstance(moment, (int, float)) and not isinstance(moment, bool):
        return float(moment)
    raise InvalidArgumentError(
        f"{EXPIRES_AT!r} of supplied credentials must be a datetime with a time zone or seconds since 1970, "
        f"got an object of type {type(moment).__name__}"
    )
