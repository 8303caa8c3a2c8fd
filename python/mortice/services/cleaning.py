"""Cleans: they delete the files of old slices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mortice import _mortice
from mortice._mortice import Clean, CleanedFile, CleanResult
from mortice.observe import observed
from mortice.writes import checked_options

__all__ = ["Clean", "CleanResult", "CleanedFile", "clean", "plan_clean"]


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
        return observation.done(_mortice.clean(uri, storage_options, checked_options(options), dry_run))
