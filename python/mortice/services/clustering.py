"""Clustering: rows are written to new file groups, in another order and size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mortice import _mortice
from mortice._mortice import ClusteringGroup, ClusterResult
from mortice.observe import observed
from mortice.options import checked_bool
from mortice.writes import checked_options

__all__ = ["ClusterResult", "ClusteringGroup", "cluster", "plan_cluster"]


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
        return observation.done(_mortice.cluster(uri, storage_options, checked_options(options), schedule, run))


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
    return _mortice.plan_cluster(uri, storage_options, checked_options(options), schedule, run)
