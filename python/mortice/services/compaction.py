"""Compactions: logs are merged into base files, or into logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mortice import _mortice
from mortice.commit import Commit
from mortice.observe import observed
from mortice.options import checked_bool
from mortice.writes import checked_options, commit_of, warn_of

__all__ = [
    "CompactResult",
    "PlannedCompaction",
    "PlannedSlice",
    "compact",
    "log_compact",
    "plan_compact",
    "plan_log_compact",
]


@dataclass(frozen=True)
class CompactResult:
    """What compactions, or log compactions, did."""

    scheduled: str | None
    """The requested time of the one that was planned; None if there was nothing to compact, or it was not asked for."""
    commits: list[Commit]
    """Those that were executed, oldest first."""

    @property
    def commit(self) -> Commit | None:
        """The last one that was executed; None if nothing was."""
        return self.commits[-1] if self.commits else None


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
        done = _mortice.compact(uri, storage_options, checked_options(options), schedule, run)
        return observation.done(_executed(done))


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
        done = _mortice.log_compact(uri, storage_options, checked_options(options), schedule, run)
        return observation.done(_executed(done))


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
    planned = _mortice.plan_compact(uri, storage_options, checked_options(options), schedule, run)
    return [_planned(one) for one in planned]


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
    planned = _mortice.plan_log_compact(uri, storage_options, checked_options(options), schedule, run)
    return [_planned(one) for one in planned]


def _executed(done: _mortice.ScheduledService) -> CompactResult:
    warn_of(done.warnings)
    return CompactResult(done.scheduled, [commit_of(commit) for commit in done.commits])


def _planned(plan: _mortice.PlannedCompaction) -> PlannedCompaction:
    return PlannedCompaction(
        plan.instant,
        [
            PlannedSlice(
                partition=one.partition,
                file_id=one.file_id,
                base_file=one.base_file,
                base_bytes=one.base_bytes,
                log_files=one.log_files,
                log_bytes=one.log_bytes,
            )
            for one in plan.slices
        ],
    )
