"""Cleans: they delete the files of old slices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mortice import _mortice
from mortice.observe import observed
from mortice.visible_text import visible_text
from mortice.writes import checked_options, warn_of

__all__ = ["Clean", "CleanResult", "CleanedFile", "clean", "plan_clean"]


@dataclass(frozen=True)
class CleanedFile:
    """A file that a clean deleted, or would delete."""

    path: str
    """The file's path, relative to the table."""
    bytes: int
    """The size of the file."""


@dataclass(frozen=True)
class Clean:
    """A clean that was completed, or that would be run."""

    instant: str | None
    """The requested time; None of one that is not on the timeline: a dry run."""
    files: list[CleanedFile] = field(repr=False)
    """The files that were deleted."""
    partitions: list[str]
    """Partitions that were deleted, as they had no files any more."""
    earliest: str | None
    """The earliest write that queries can still go back to; None by file versions."""

    def __repr__(self) -> str:
        size = sum(file.bytes for file in self.files)
        parts = [f"{len(self.files):,} files, {size:,} bytes"]
        parts += [f"{len(self.partitions):,} partitions"] if self.partitions else []
        parts += [f"earliest {self.earliest}"] if self.earliest else []
        return visible_text(f"Clean({self.instant or 'not run'}: {'; '.join(parts)})")


@dataclass(frozen=True)
class CleanResult:
    """What cleaning did, or would do."""

    cleans: list[Clean]
    """The cleans that were completed, or would be, oldest first; none if there is nothing to delete."""
    reason: str | None = None
    """Why nothing is deleted; None if something is."""


def clean(uri: str, storage_options: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> CleanResult:
    """Completes pending cleans of the table at `uri`, then runs a new one.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options of the clean, by Hudi's names.

    Raises:
        MorticeError: The subclass that says what is wrong.
    """
    return _cleaned(uri, storage_options, options, dry_run=False)


def plan_clean(uri: str, storage_options: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> CleanResult:
    """Returns what `clean` would do. Nothing is changed. Arguments and errors are those of `clean`."""
    return _cleaned(uri, storage_options, options, dry_run=True)


def _cleaned(
    uri: str, storage_options: Mapping[str, Any], options: Mapping[str, Any] | None, *, dry_run: bool
) -> CleanResult:
    with observed("clean", uri, dry_run=dry_run) as observation:
        done = _mortice.clean(uri, storage_options, checked_options(options), dry_run)
        warn_of(done.warnings)
        cleans = [
            Clean(one.instant, [CleanedFile(path, size) for path, size in one.files], one.partitions, one.earliest)
            for one in done.cleans
        ]
        return observation.done(CleanResult(cleans))
