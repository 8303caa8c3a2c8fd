"""Clustering: rows are written to new file groups, in another order and size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mortice import _mortice
from mortice.commit import Commit
from mortice.observe import observed
from mortice.options import checked_bool
from mortice.writes import checked_options, commit_of, warn_of

__all__ = ["ClusterResult", "ClusteringGroup", "cluster", "plan_cluster"]


@dataclass(frozen=True)
class ClusterResult:
    """What clustering did."""

    scheduled: str | None
    """The requested time of the plan that was made; None if there was nothing to cluster, or it was not asked for."""
    commits: list[Commit]
    """Those of the plans that were executed, oldest first."""

    @property
    def commit(self) -> Commit | None:
        """The last commit; None if nothing was executed."""
        return self.commits[-1] if self.commits else None


@dataclass(frozen=True)
class ClusteringGroup:
    """File groups of a partition that are rewritten together."""

    instant: str | None
    """The requested time of the pending plan; None of a plan that would be made."""
    partition: str
    """The partition path; empty if the table is not partitioned."""
    file_ids: list[str]
    """The ids of the file groups."""
    files: int
    """The number of their files: base files and log files."""
    file_bytes: int
    """The size of these files, in bytes."""
    outputs: int
    """The number of new files that is expected."""


def cluster(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    run: bool = True,
) -> ClusterResult:
    """Plans a clustering of the table at `uri`, and executes what is planned.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        schedule: False plans nothing.
        run: False executes nothing.

    Raises:
        MorticeError: The subclass that says what is wrong. A plan whose execution fails stays pending.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    with observed("cluster", uri) as observation:
        done = _mortice.cluster(uri, storage_options, checked_options(options), schedule, run)
        warn_of(done.warnings)
        commits = [commit_of(commit) for commit in done.commits]
        return observation.done(ClusterResult(done.scheduled, commits))


def plan_cluster(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    *,
    schedule: bool = True,
    run: bool = True,
) -> list[ClusteringGroup]:
    """Returns the groups of the plans that `cluster` would execute now, and of the one that it would make.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        schedule: False plans nothing.
        run: False executes nothing.

    Raises as `cluster`.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    groups = _mortice.plan_cluster(uri, storage_options, checked_options(options), schedule, run)
    return [
        ClusteringGroup(
            instant=group.instant,
            partition=group.partition,
            file_ids=group.file_ids,
            files=group.files,
            file_bytes=group.file_bytes,
            outputs=group.outputs,
        )
        for group in groups
    ]
