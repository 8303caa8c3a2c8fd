"""Archival: it moves old instants from the active timeline to the archive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mortice import _mortice
from mortice._mortice import ArchivedInstant, ArchiveResult
from mortice.observe import observed
from mortice.writes import checked_options

__all__ = ["ArchiveResult", "ArchivedInstant", "archive", "plan_archive"]


def archive(uri: str, storage_options: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> ArchiveResult:
    """Archives old instants of the table at `uri`.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options of the archival, by Hudi's names.

    Raises:
        MorticeError: The subclass that says what is wrong.
    """
    return _archived(uri, storage_options, options, dry_run=False)


def plan_archive(
    uri: str, storage_options: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> ArchiveResult:
    """Returns what `archive` would do. Nothing is changed. Arguments and errors are those of `archive`."""
    return _archived(uri, storage_options, options, dry_run=True)


def _archived(
    uri: str, storage_options: Mapping[str, Any], options: Mapping[str, Any] | None, *, dry_run: bool
) -> ArchiveResult:
    with observed("archive", uri, dry_run=dry_run) as observation:
        return observation.done(_mortice.archive(uri, storage_options, checked_options(options), dry_run))
