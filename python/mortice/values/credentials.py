"""Credentials that a user-defined function supplies: `storage_options={"credentials": function}`.

    def credentials():
        keys = vault.sign_in()
        return {
            "access_key_id": keys.id, "secret_access_key": keys.secret, "session_token": keys.token,
            "expires_at": keys.expiry,  # a datetime with a zone, seconds since 1970, or None
        }

    mortice.Table("s3://lake/trips", storage_options={"region": "eu-west-1", "credentials": credentials})

The function is called when a table is opened, again before the credentials expire (five minutes, or a quarter of their
validity if that is less), and again after the store has rejected them as expired. One thread calls it at a time; it may
be any thread. It returns storage options, which take precedence over others; later calls replace keys and tokens only.

Pickled splits contain the function, by value if `cloudpickle` or PySpark is installed, and no credentials. It is then
called in the process that reads them. The function is kept until the process ends.
"""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
import uuid
from collections.abc import Mapping

from mortice.errors import InvalidArgumentError
from mortice.values.argument_types import CredentialsFunction
from mortice.values.other_names import names_of

__all__ = ["CREDENTIALS", "adopt", "register", "storage_strings", "supplier_of", "supply"]


def storage_strings(options: Mapping[str, object]) -> dict[str, str]:
    """Returns options as strings: bools as `true` and `false`."""
    return {_name(name): _text(name, value) for name, value in options.items()}


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidArgumentError(f"the name of a storage option must be a string, got {name!r}")
    if _has_surrogates(name):
        raise InvalidArgumentError(f"the name of a storage option must be valid Unicode, got {name!r}")
    if meant := names_of("storage option").get(name):
        raise InvalidArgumentError(f"unknown storage option {name!r}; use {meant}")
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


CREDENTIALS = "credentials"
EXPIRES_AT = ("expires_at", "expiry")
REFRESHED_BEFORE_SECONDS = 300.0


class _Supplied:
    """A credential function and its last result."""

    def __init__(self, supplier: CredentialsFunction) -> None:
        self.supplier = supplier
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._options: dict[str, str] | None = None
        self._refresh_at: float | None = None
        self._version = 0

    def current(self, rejected: int | None) -> tuple[dict[str, str], float | None, int]:
        """Returns the options, the time of the next call, and their version; `rejected` is a version that the store has
        refused."""
        with self._own_lock():
            is_due = self._refresh_at is not None and self._refresh_at <= time.time()
            if self._options is None or is_due or rejected == self._version:
                self._call()
            return self._options or {}, self._refresh_at, self._version

    def _own_lock(self) -> threading.Lock:
        # A thread of the process from which this one was forked may have held the lock.
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), threading.Lock()
        return self._lock

    def _call(self) -> None:
        now = time.time()
        options, expires_at = _checked(self.supplier(), now)
        refresh_at = None
        if expires_at is not None:
            refresh_at = expires_at - min(REFRESHED_BEFORE_SECONDS, (expires_at - now) / 4)
        self._options, self._refresh_at = options, refresh_at
        self._version += 1


_known: dict[str, _Supplied] = {}


def register(supplier: object) -> str:
    """Registers a function, calls it if necessary, and returns the name that identifies it in options.

    Raises `InvalidArgumentError` if it is not callable, or if its result is not a mapping or has expired.
    """
    if not callable(supplier):
        raise InvalidArgumentError(
            f"the storage option {CREDENTIALS!r} must be callable, got an object of type {type(supplier).__name__}"
        )
    for name, known in list(_known.items()):
        if known.supplier is supplier:
            known.current(None)
            return name
    supplied = _Supplied(supplier)
    supplied.current(None)
    name = uuid.uuid4().hex
    _known[name] = supplied
    return name


def adopt(name: str, supplier: CredentialsFunction) -> None:
    """Registers a function of another process by its name there. It is not called yet."""
    _known.setdefault(name, _Supplied(supplier))


def supplier_of(name: str) -> CredentialsFunction:
    """Returns the function of this name."""
    return _of_name(name).supplier


def supply(name: str, rejected: int | None) -> tuple[dict[str, str], float | None, int]:
    """Returns storage options, the time of the next call (seconds since 1970), and their version.

    Called by the native module, from any thread. `rejected` is a version that the store has refused.
    """
    return _of_name(name).current(rejected)


def _of_name(name: str) -> _Supplied:
    supplied = _known.get(name)
    if supplied is None:
        raise InvalidArgumentError(
            f"the function in the storage option {CREDENTIALS!r} is one of another process; send splits as pickles or "
            "by to_bytes(), which contain it"
        )
    return supplied


def _checked(given: object, now: float) -> tuple[dict[str, str], float | None]:
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(
            f"the function in the storage option {CREDENTIALS!r} must return a mapping of storage options, "
            f"got an object of type {type(given).__name__}"
        )
    options = dict(given)
    moments = [_seconds(name, options.pop(name, None)) for name in EXPIRES_AT]
    expires_at = min((moment for moment in moments if moment is not None), default=None)
    if expires_at is not None and not expires_at > now:
        raise InvalidArgumentError(
            f"the function in the storage option {CREDENTIALS!r} returned credentials that have expired"
        )
    # Entries without a value, such as a missing token, are omitted.
    return storage_strings({name: value for name, value in options.items() if value is not None}), expires_at


def _seconds(name: str, moment: object) -> float | None:
    if moment is None:
        return None
    if isinstance(moment, dt.datetime) and moment.tzinfo is not None:
        return moment.timestamp()
    if isinstance(moment, (int, float)) and not isinstance(moment, bool):
        return float(moment)
    raise InvalidArgumentError(
        f"{name!r} of supplied credentials must be a datetime with a time zone or seconds since 1970, "
        f"got an object of type {type(moment).__name__}"
    )
