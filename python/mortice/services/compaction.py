"""Compactions: logs are merged into base files, or into logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mortice import _mortice
from mortice.commit import Commit
from mortice.options import checked_bool
from mortice.writes import checked_options, commit_of, warn_of

__all__ = [
    "PlannedCompaction",
    "PlannedSlice",
    "compact",
    "log_compact",
    "planned_compactions",
    "planned_log_compactions",
]


@dataclass(frozen=True)
class PlannedSlice:
    """A file slice that a compaction merges."""

    partition: str
    """The partition path; empty if the table is not partitioned."""
    file_id: str
    """The id of the file group."""
    base_file: str | None
    """The name of the base file; None if the slice has log files only."""
    base_bytes: int
    """The bytes of the base file; 0 if there is none. A log compaction does not read it."""
    log_files: list[str]
    """The names of the log files."""
    log_bytes: int
    """The bytes of the log files."""


@dataclass(frozen=True)
class PlannedCompaction:
    """A compaction that would be executed."""

    instant: str | None
    """Its requested time; None if it is not on the timeline yet."""
    slices: list[PlannedSlice]
    """What it merges, in the order of its plan."""


def compact(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    schedule: bool = True,
    run: bool = True,
) -> tuple[str | None, list[Commit]]:
    """Executes the pending compactions of the table at `uri`, plans another one, if it is due, and executes it.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options of the compaction, by Hudi's names.
        schedule: Whether a compaction is planned.
        run: Whether compactions are executed.

    Returns:
        The requested time of the compaction that was planned, None if there is nothing to compact; and the compactions
        that were completed.

    Raises:
        MorticeError: The subclass that says what is wrong. A compaction that was planned is pending then.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    return _executed(_mortice.compact(uri, storage_options, schedule, run, checked_options(options)))


def log_compact(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    schedule: bool = True,
    run: bool = True,
) -> tuple[str | None, list[Commit]]:
    """As `compact`, but merges the logs of file slices into logs.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options of the log compaction, by Hudi's names.
        schedule: Whether a log compaction is planned.
        run: Whether log compactions are executed.

    Returns as `compact`.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    return _executed(_mortice.log_compact(uri, storage_options, schedule, run, checked_options(options)))


def planned_compactions(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    schedule: bool = True,
    run: bool = True,
) -> list[PlannedCompaction]:
    """Returns what `compact` would do. Nothing is changed.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options of the compaction, by Hudi's names.
        schedule: Whether a compaction is planned.
        run: Whether compactions are executed.

    Raises as `compact`.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    planned = _mortice.planned_compactions(uri, storage_options, schedule, run, checked_options(options))
    return [_planned(*one) for one in planned]


def planned_log_compactions(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    schedule: bool = True,
    run: bool = True,
) -> list[PlannedCompaction]:
    """Returns what `log_compact` would do. Nothing is changed.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options of the log compaction, by Hudi's names.
        schedule: Whether a log compaction is planned.
        run: Whether log compactions are executed.

    Raises as `log_compact`.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    planned = _mortice.planned_log_compactions(uri, storage_options, schedule, run, checked_options(options))
    return [_planned(*one) for one in planned]


def _executed(done: tuple[str | None, list[_mortice._CommitOfWrite], list[str]]) -> tuple[str | None, list[Commit]]:
    scheduled, commits, warned = done
    # The caller of the method of a table.
    warn_of(warned, stacklevel=5)
    return scheduled, [commit_of(commit, stacklevel=5) for commit in commits]


def _planned(instant: str | None, slices: list[_mortice._PlannedSlice]) -> PlannedCompaction:
    return PlannedCompaction(
        instant,
        [
            PlannedSlice(
                partition,
                file_id,
                base[0] if base else None,
                base[1] if base else 0,
                [name for name, _ in logs],
                sum(length for _, length in logs),
            )
            for partition, file_id, base, logs in slices
        ],
    )
