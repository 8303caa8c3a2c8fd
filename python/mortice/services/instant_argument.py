"""The argument of services that are about an instant: rollback, savepoints, restore."""

from __future__ import annotations

from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError
from mortice.values.timeline import Instant

__all__ = ["WRITES", "InstantOrCommit", "requested_time"]

WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
"""The actions of writes and of the services that rewrite their rows."""
InstantOrCommit = str | Instant | Commit
"""The requested time of an instant, one of the timeline, or the commit that a write returned."""


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
