"""Compactions: logs are merged into base files, or into logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mortice import _mortice
from mortice._mortice import CompactResult, PlannedCompaction, PlannedSlice
from mortice.observe import observed
from mortice.options import checked_bool
from mortice.writes import checked_options

__all__ = [
    "CompactResult",
    "PlannedCompaction",
    "PlannedSlice",
    "compact",
    "log_compact",
    "plan_compact",
    "plan_log_compact",
]


def compact(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    run: bool = True,
) -> CompactResult:
    """Executes the pending compactions of the table at `uri`, plans another one, if it is due, and executes it.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        schedule: False plans nothing.
        run: False executes nothing.

    Raises:
        MorticeError: The subclass that says what is wrong. A compaction that was planned is pending then.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    with observed("compact", uri) as observation:
        return observation.done(_mortice.compact(uri, storage_options, checked_options(options), schedule, run))


def log_compact(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    run: bool = True,
) -> CompactResult:
    """As `compact`, but merges the logs of file slices into logs.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        schedule: False plans nothing.
        run: False executes nothing.

    Raises as `compact`.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    with observed("log_compact", uri) as observation:
        return observation.done(_mortice.log_compact(uri, storage_options, checked_options(options), schedule, run))


def plan_compact(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    run: bool = True,
) -> list[PlannedCompaction]:
    """Returns what `compact` would do. Nothing is changed.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        schedule: False plans nothing.
        run: False executes nothing.

    Raises as `compact`.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    return _mortice.plan_compact(uri, storage_options, checked_options(options), schedule, run)


def plan_log_compact(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    run: bool = True,
) -> list[PlannedCompaction]:
    """Returns what `log_compact` would do. Nothing is changed.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        schedule: False plans nothing.
        run: False executes nothing.

    Raises as `log_compact`.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    return _mortice.plan_log_compact(uri, storage_options, checked_options(options), schedule, run)
