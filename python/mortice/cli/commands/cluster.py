"""`mortice cluster`: plans clustering and executes plans."""

from __future__ import annotations

import click

from mortice._mortice import ClusteringGroup
from mortice.cli.parameters import Target, on_tables, service_options, steps
from mortice.cli.progress import service_progress

__all__ = ["cluster"]


@click.command()
@steps("clustering")
@service_options("hoodie.clustering.plan.strategy.sort.columns=city")
@on_tables
def cluster(
    target: Target, *, schedule: bool, run: bool, dry_run: bool, progress: bool, options: tuple[tuple[str, str], ...]
) -> None:
    """Rewrite small file groups as larger ones, in another order."""
    table = target.table()
    if dry_run:
        _show_groups(target, table.plan_cluster(dict(options), schedule=schedule, run=run))
        return
    with service_progress("bytes", progress):
        commit = table.cluster(dict(options), schedule=schedule, run=run).commit
    actions = ("clustering", "replacecommit")  # up to table version 7 the latter
    pending = [i.requested_time for i in table.timeline.pending if i.action in actions]
    if commit is not None:
        lines = [str(commit)]
    else:
        lines = [f"planned: {', '.join(pending)}" if pending else "nothing to cluster"]
    target.show(
        {"instant": commit.instant if commit else None, "pending": pending},
        ["instant", "state"],
        _rows(commit.instant if commit else None, pending) if target.form == "csv" else [],
        lines,
    )


def _rows(instant: str | None, pending: list[str]) -> list[list[str]]:
    return ([] if instant is None else [[instant, "COMPLETED"]]) + [[one, "REQUESTED"] for one in pending]


def _show_groups(target: Target, groups: list[ClusteringGroup]) -> None:
    lines = []
    for instant in dict.fromkeys(group.instant for group in groups):
        of_plan = [group for group in groups if group.instant == instant]
        files, size = sum(group.files for group in of_plan), sum(group.file_bytes for group in of_plan)
        lines.append(f"clustering {instant or '(new)'}: would rewrite {files} files, {size:,} bytes")
    documents = [group.to_dict() for group in groups]
    for document in documents:
        document["bytes"] = document.pop("file_bytes")
    target.show(
        documents,
        ["instant", "partition", "file groups", "files", "bytes", "new files"],
        [
            [
                group.instant or "(new)",
                group.partition,
                len(group.file_ids),
                group.files,
                group.file_bytes,
                group.outputs,
            ]
            for group in groups
        ],
        lines or ["nothing to cluster"],
    )
