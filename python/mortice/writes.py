"""Writes of Arrow data to a table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from mortice import _mortice
from mortice.commit import Commit, FileGroupStats, RowError
from mortice.errors import InvalidArgumentError

__all__ = ["checked_options", "commit_of", "write"]


def write(
    uri: str, storage_options: Mapping[str, Any], operation: str, data: Any, options: Mapping[str, Any] | None
) -> Commit:
    """Writes Arrow data to the table at `uri`, or deletes its keys.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        operation: `upsert`, `insert` or `delete`.
        data: Arrow data: anything with `__arrow_c_stream__` or `__arrow_c_array__`.
        options: Options of the write, by Hudi's names.

    Raises:
        MorticeError: The subclass that says what is wrong; the table is unchanged then, unless the message says
            otherwise.
    """
    return commit_of(_mortice.write(uri, storage_options, operation, data, checked_options(options)), stacklevel=4)


def commit_of(written: _mortice._CommitOfWrite, stacklevel: int) -> Commit:
    """Returns the commit that the native module describes, and warns of options that have no effect.

    Args:
        written: What the native module returns.
        stacklevel: How far up the caller is that a warning is about, counted from here.
    """
    instant, completion_time, name, stats, errors, warned = written
    for sentence in warned:
        warnings.warn(sentence, UserWarning, stacklevel=stacklevel)
    files = [FileGroupStats(*one) for one in stats]
    return Commit(instant, completion_time, name, files, [RowError(*one) for one in errors])


def checked_options(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Options as strings: booleans in lower case, numbers as digits. Raises `InvalidArgumentError` for other values."""
    if given is not None and not isinstance(given, Mapping):
        raise InvalidArgumentError(f"options must be a mapping of names to values, got {type(given).__name__}")
    checked = {}
    for name, value in (given or {}).items():
        if not isinstance(name, str) or not isinstance(value, (str, bool, int, float)):
            raise InvalidArgumentError(f"options must map names to strings, got {name!r}: {value!r}")
        checked[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return checked
