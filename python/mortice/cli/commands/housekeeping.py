"""`mortice clean` and `mortice archive`: delete old files, move old instants to the archive."""

from __future__ import annotations

import click

from mortice._mortice import Clean
from mortice.cli.parameters import WIDEST_PATH, Target, on_tables, service_options
from mortice.cli.progress import service_progress

__all__ = ["archive", "clean"]


@click.command()
@service_options("hoodie.clean.commits.retained=24")
@on_tables
def clean(target: Target, dry_run: bool, progress: bool, options: tuple[tuple[str, str], ...]) -> None:
    """Delete files that only old queries read."""
    table = target.table()
    with service_progress("files", progress):
        done = (table.plan_clean if dry_run else table.clean)(dict(options))
    rows = [[one.instant or "(new)", file.path, file.bytes] for one in done.cleans for file in one.files]
    lines = [_summary(one, "would delete" if dry_run else "deleted") for one in done.cleans]
    if done.reason is not None:
        lines.append(f"nothing to clean: {done.reason}")
    target.show(
        [one.to_dict() for one in done.cleans],
        ["instant", "file", "bytes"],
        rows if dry_run or target.form == "csv" else [],
        lines,
        WIDEST_PATH,
    )


def _summary(one: Clean, verb: str) -> str:
    size = sum(file.bytes for file in one.files)
    return f"clean {one.instant or '(new)'}: {verb} {len(one.files)} files, {size:,} bytes"


@click.command()
@service_options("hoodie.keep.min.commits=40")
@on_tables
def archive(target: Target, dry_run: bool, progress: bool, options: tuple[tuple[str, str], ...]) -> None:
    """Move old instants to the archive."""
    table = target.table()
    with service_progress("instants", progress):
        archived = (table.plan_archive if dry_run else table.archive)(dict(options)).instants
    files, size = sum(len(one.files) for one in archived), sum(size for one in archived for _, size in one.files)
    rows = [[one.instant, one.completion_time or "", one.action, *file] for one in archived for file in one.files]
    target.show(
        [one.to_dict() for one in archived],
        ["requested", "completed", "action", "file", "bytes"],
        rows if dry_run or target.form == "csv" else [],
        [f"{'would archive' if dry_run else 'archived'} {len(archived)} instants: {files} files, {size:,} bytes"],
        WIDEST_PATH,
    )
