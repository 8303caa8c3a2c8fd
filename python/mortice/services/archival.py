"""Archival: it moves old instants from the active timeline to the archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mortice import _mortice
from mortice.writes import checked_options, warn_of

__all__ = ["ArchivedInstant", "archive"]


@dataclass(frozen=True)
class ArchivedInstant:
    """An instant that was archived, or would be."""

    instant: str
    """The requested time."""
    completion_time: str | None
    """The completion time; None up to table version 7."""
    action: str
    """The action, as Hudi's name: `deltacommit`, `clean`, …."""
    files: list[tuple[str, int]] = field(repr=False)
    """Its files on the active timeline, which are deleted: paths relative to the table, and bytes."""


def archive(
    uri: str, storage_options: Mapping[str, Any], options: Mapping[str, Any] | None, *, dry_run: bool = False
) -> list[ArchivedInstant]:
    """Archives old instants of the table at `uri`.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options of the archival, by Hudi's names.
        dry_run: Whether nothing is to be done but to say what would be.

    Returns:
        The instants, oldest first; none if there are not too many on the active timeline.

    Raises:
        MorticeError: The subclass that says what is wrong.
    """
    archived, warned = _mortice.archive(uri, storage_options, checked_options(options), dry_run)
    warn_of(warned, stacklevel=4)
    return [ArchivedInstant(*instant) for instant in archived]
