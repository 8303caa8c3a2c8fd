"""Clustering: rows are written to new file groups, in another order and size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mortice import _mortice
from mortice.commit import Commit
from mortice.options import checked_bool
from mortice.writes import checked_options, commit_of, warn_of

__all__ = ["ClusteringGroup", "cluster", "clustering_preview"]


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
    uri: str, storage_options: Mapping[str, Any], options: Mapping[str, Any] | None, schedule: bool, run: bool
) -> Commit | None:
    """Plans a clustering of the table at `uri`, and executes what is planned.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        schedule: False makes no new plan.
        run: False executes no plan.

    Returns:
        The last commit; None if nothing was executed.

    Raises:
        MorticeError: The subclass that says what is wrong. A plan whose execution fails stays pending.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    _, commits, warned = _mortice.cluster(uri, storage_options, checked_options(options), schedule, run)
    warn_of(warned, stacklevel=4)
    return commit_of(commits[-1], stacklevel=4) if commits else None


def clustering_preview(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    schedule: bool = True,
    run: bool = True,
) -> list[ClusteringGroup]:
    """Returns the groups of the plans that `cluster` would execute now, and of the one that it would make.

    Nothing is changed.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        schedule: False makes no new plan.
        run: False executes no plan.

    Raises as `cluster`.
    """
    schedule, run = checked_bool("schedule", schedule), checked_bool("run", run)
    groups = _mortice.clustering_preview(uri, storage_options, checked_options(options), schedule, run)
    return [
        ClusteringGroup(
            instant,
            partition,
            [file_id for file_id, _, _ in slices],
            sum(files for _, files, _ in slices),
            sum(size for _, _, size in slices),
            outputs,
        )
        for instant, partition, outputs, slices in groups
    ]
