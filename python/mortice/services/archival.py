"""Archival: it moves old instants from the active timeline to the archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mortice import _mortice
from mortice.observe import observed
from mortice.writes import checked_options, warn_of

__all__ = ["ArchiveResult", "ArchivedInstant", "archive", "plan_archive"]


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


@dataclass(frozen=True)
class ArchiveResult:
    """What archival did, or would do."""

    instants: list[ArchivedInstant]
    """The archived instants, oldest first; none if there are not too many on the active timeline."""


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
        done = _mortice.archive(uri, storage_options, checked_options(options), dry_run)
        warn_of(done.warnings)
        instants = [ArchivedInstant(one.instant, one.completion_time, one.action, one.files) for one in done.instants]
        return observation.done(ArchiveResult(instants))
