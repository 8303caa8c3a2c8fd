"""Rollback, savepoints and restore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mortice import _mortice
from mortice._mortice import RestoreResult, RollbackResult, SavepointResult
from mortice.errors import InvalidArgumentError
from mortice.values.commit import Commit
from mortice.values.observe import observed
from mortice.values.timeline import Instant
from mortice.writing.writes import checked_options

__all__ = [
    "WRITES",
    "InstantOrCommit",
    "RestoreResult",
    "RollbackResult",
    "SavepointResult",
    "create_savepoint",
    "delete_savepoint",
    "restore",
    "rollback",
]


WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
"""The actions of writes and of the services that rewrite their rows."""
InstantOrCommit = str | Instant | Commit
"""The requested time of an instant, one of the timeline, or the commit that a write returned."""


def rollback(
    uri: str,
    storage_options: Mapping[str, Any],
    instant: InstantOrCommit,
    options: Mapping[str, Any] | None,
    *,
    dry_run: bool,
) -> RollbackResult:
    """Rolls an instant of the table at `uri` back.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        instant: The requested time.
        options: Options by Hudi's names.
        dry_run: True changes nothing.

    Raises:
        MorticeError: The subclass that says what is wrong.
    """
    given = checked_options(options)
    with observed("rollback", uri, dry_run=dry_run) as observation:
        done = _mortice.rollback(uri, storage_options, requested_time(instant), given, dry_run)
        return observation.done(done)


def restore(
    uri: str,
    storage_options: Mapping[str, Any],
    instant: InstantOrCommit,
    options: Mapping[str, Any] | None,
    *,
    dry_run: bool,
) -> RestoreResult:
    """Restores the table at `uri` to a savepoint.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        instant: The requested time of the savepoint.
        options: Options by Hudi's names.
        dry_run: True changes nothing.

    Raises as `rollback`.
    """
    given = checked_options(options)
    with observed("restore", uri, dry_run=dry_run) as observation:
        done = _mortice.restore(uri, storage_options, requested_time(instant), given, dry_run)
        return observation.done(done)


def create_savepoint(
    uri: str,
    storage_options: Mapping[str, Any],
    instant: InstantOrCommit,
    options: Mapping[str, Any] | None,
    *,
    comment: str = "",
    user: str = "",
    dry_run: bool,
) -> SavepointResult:
    """Makes a savepoint of a completed write of the table at `uri`.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        instant: The requested time of the write.
        options: Options by Hudi's names.
        comment: What it is for.
        user: Who makes it.
        dry_run: True changes nothing.

    Raises as `rollback`.
    """
    if not isinstance(user, str) or not isinstance(comment, str):
        raise InvalidArgumentError(f"user and comment must be strings, got {(user, comment)!r}")
    given = checked_options(options)
    with observed("savepoint", uri, dry_run=dry_run) as observation:
        done = _mortice.create_savepoint(
            uri, storage_options, requested_time(instant), given, user=user, comment=comment, dry_run=dry_run
        )
        return observation.done(done)


def delete_savepoint(
    uri: str,
    storage_options: Mapping[str, Any],
    instant: InstantOrCommit,
    options: Mapping[str, Any] | None,
    *,
    dry_run: bool,
) -> SavepointResult:
    """Deletes a savepoint of the table at `uri`.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        instant: The requested time of the write that it keeps.
        options: Options by Hudi's names.
        dry_run: True changes nothing.

    Returns:
        The savepoint, with those of its files that are in storage.

    Raises as `rollback`.
    """
    given = checked_options(options)
    return _mortice.delete_savepoint(uri, storage_options, requested_time(instant), given, dry_run)


def requested_time(instant: InstantOrCommit) -> str:
    """The requested time of an instant, as text. Raises `InvalidArgumentError` for what is none."""
    if isinstance(instant, Instant):
        return instant.requested_time
    if isinstance(instant, Commit) and instant.instant:
        return instant.instant
    if not isinstance(instant, str):
        raise InvalidArgumentError(
            f"instant must be a requested time, such as '20240101120000000', one of the timeline, or a commit, got "
            f"{instant!r}"
        )
    return instant
