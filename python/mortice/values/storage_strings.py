"""Names and values of storage options as strings. No message has a value in it: values may be secrets."""

from __future__ import annotations

from collections.abc import Mapping

from mortice.errors import InvalidArgumentError

__all__ = ["storage_strings"]

OTHER_NAMES = {
    "anon": "skip_signature",
    "client_kwargs": "endpoint, region and the other options by their names",
    "connection_string": "account_name and account_key",
    "endpoint_override": "endpoint",
    "key": "access_key_id",
    "profile": "the environment variable AWS_PROFILE",
    "profile_name": "the environment variable AWS_PROFILE",
    "region_name": "region",
    "s3.access-key-id": "access_key_id",
    "s3.endpoint": "endpoint",
    "s3.region": "region",
    "s3.secret-access-key": "secret_access_key",
    "s3.session-token": "session_token",
    "secret": "secret_access_key",
    "secret_key": "secret_access_key",
}
"""What boto, s3fs, pyarrow and pyiceberg call options: names that no storage has here."""


def storage_strings(options: Mapping[str, object]) -> dict[str, str]:
    """Returns options as strings: bools as `true` and `false`."""
    return {_name(name): _text(name, value) for name, value in options.items()}


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidArgumentError(f"the name of a storage option must be a string, got {name!r}")
    if _has_surrogates(name):
        raise InvalidArgumentError(f"the name of a storage option must be valid Unicode, got {name!r}")
    if name in OTHER_NAMES:
        raise InvalidArgumentError(f"unknown storage option {name!r}; use {OTHER_NAMES[name]}")
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
