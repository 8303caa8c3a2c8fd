"""`mortice compact` and `mortice log-compact`: merge log files of a table into base files, or into log files."""

from __future__ import annotations

from typing import Any

import click

from mortice._mortice import CompactResult, PlannedCompaction
from mortice.cli.parameters import Target, on_tables, service_options, steps
from mortice.cli.progress import service_progress

__all__ = ["compact", "log_compact"]


@click.command()
@steps("compaction")
@service_options("hoodie.compaction.target.io=10000")
@on_tables
def compact(target: Target, **arguments: Any) -> None:
    """Merge the log files of a table into base files.

    Executes the pending compactions of a table, plans another one, if it is due, and executes it.
    """
    _run(target, into_logs=False, **arguments)


@click.command("log-compact")
@steps("log compaction")
@service_options("hoodie.log.compaction.blocks.threshold=10")
@on_tables
def log_compact(target: Target, **arguments: Any) -> None:
    """Merge the log files of a table into log files.

    Executes the pending log compactions of a table, plans another one, if it is due, and executes it.
    """
    _run(target, into_logs=True, **arguments)


def _run(
    target: Target,
    *,
    into_logs: bool,
    schedule: bool,
    run: bool,
    dry_run: bool,
    progress: bool,
    options: tuple[tuple[str, str], ...],
) -> None:
    table = target.table()
    if dry_run:
        plan = table.plan_log_compact if into_logs else table.plan_compact
        _show_planned(target, plan(dict(options), schedule=schedule, run=run), into_logs=into_logs)
        return
    service = table.log_compact if into_logs else table.compact
    with service_progress("bytes", progress):
        done = service(dict(options), schedule=schedule, run=run)
    _show_done(target, done)


def _show_planned(target: Target, planned: list[PlannedCompaction], *, into_logs: bool) -> None:
    target.show(
        [one.to_dict() for one in planned],
        ["instant", "partition", "file id", "base file", "base bytes", "log files", "log bytes"],
        [
            [
                one.instant or "(new)",
                s.partition,
                s.file_id,
                s.base_file or "",
                s.base_bytes,
                len(s.log_files),
                s.log_bytes,
            ]
            for one in planned
            for s in one.slices
        ],
        [_summary(one, into_logs=into_logs) for one in planned] or ["nothing to compact"],
    )


def _summary(one: PlannedCompaction, *, into_logs: bool) -> str:
    logs, bases = sum(len(s.log_files) for s in one.slices), sum(s.base_file is not None for s in one.slices)
    size = sum(s.log_bytes + (0 if into_logs else s.base_bytes) for s in one.slices)
    # A log compaction leaves base files as they are.
    files = f"{logs} log files" if into_logs else f"{bases} base files and {logs} log files"
    kind = "log compaction" if into_logs else "compaction"
    return f"{kind} {one.instant or '(new)'}: would merge {files} of {len(one.slices)} slices, {size:,} bytes"


def _show_done(target: Target, done: CompactResult) -> None:
    scheduled, commits = done.scheduled, done.commits
    completed = {commit.instant for commit in commits}
    rows = [
        [commit.instant, len(commit.stats), sum(stats.rows_written for stats in commit.stats), commit.bytes_written]
        for commit in commits
    ]
    lines = [f"planned {scheduled}"] if scheduled is not None and scheduled not in completed else []
    lines += [
        f"compacted {instant}: {files} files, {count:,} rows, {size:,} bytes" for instant, files, count, size in rows
    ]
    target.show(
        {"scheduled": scheduled, "compactions": [commit.to_dict() for commit in commits]},
        ["instant", "files", "rows", "bytes"],
        rows if target.form == "csv" else [],
        lines or ["nothing to compact"],
    )
