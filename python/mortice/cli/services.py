"""Commands that run services, and `health`: what a table needs.

Services are `compact`, `log-compact`, `cluster`, `clean`, `archive`, `metadata` and `maintain`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from mortice._mortice import Clean, ClusteringGroup, CompactResult, PlannedCompaction
from mortice.cli.output import service_progress
from mortice.cli.parameters import LOCK, WIDEST_PATH, Target, columns_of, on_tables, options_of, service_options, steps
from mortice.insight.health import Health
from mortice.insight.maintenance import MaintainResult
from mortice.insight.needs import COLUMNS, SERVICES, cells_of
from mortice.insight.prometheus import metrics_of
from mortice.services.metadata_table import MetadataResult, build_metadata, delete_metadata
from mortice.values.options import checked_storage_options, checked_uri
from mortice.values.timeline import Instant


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
        [_compaction_summary(one, into_logs=into_logs) for one in planned] or ["nothing to compact"],
    )


def _compaction_summary(one: PlannedCompaction, *, into_logs: bool) -> str:
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
        _clustered(commit.instant if commit else None, pending) if target.form == "csv" else [],
        lines,
    )


def _clustered(instant: str | None, pending: list[str]) -> list[list[str]]:
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


@click.command()
@service_options("hoodie.clean.commits.retained=24")
@on_tables
def clean(target: Target, dry_run: bool, progress: bool, options: tuple[tuple[str, str], ...]) -> None:
    """Delete files that only old queries read."""
    table = target.table()
    with service_progress("files", progress):
        done = (table.plan_clean if dry_run else table.clean)(dict(options))
    rows = [[one.instant or "(new)", file.path, file.bytes] for one in done.cleans for file in one.files]
    lines = [_clean_summary(one, "would delete" if dry_run else "deleted") for one in done.cleans]
    if done.reason is not None:
        lines.append(f"nothing to clean: {done.reason}")
    target.show(
        [one.to_dict() for one in done.cleans],
        ["instant", "file", "bytes"],
        rows if dry_run or target.form == "csv" else [],
        lines,
        WIDEST_PATH,
    )


def _clean_summary(one: Clean, verb: str) -> str:
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


@click.group()
def metadata() -> None:
    """Build the metadata table of a table, change its indexes, or delete it."""


@metadata.command()
@click.option("--add", metavar="A,B", default="", help="Indexes to add.")
@click.option("--drop", metavar="A,B", default="", help="Indexes to drop.")
@click.option("--rebuild", is_flag=True, help="Delete the metadata table first, even if it is damaged.")
@service_options("hoodie.metadata.index.column.stats.column.list=city,fare")
@on_tables
def build(
    target: Target,
    *,
    add: str,
    drop: str,
    rebuild: bool,
    dry_run: bool,
    progress: bool,
    options: tuple[tuple[str, str], ...],
) -> None:
    """Build it, add indexes, drop others.

    Builds the metadata table of a table that has none; adds indexes to one that is there, and drops others:
    column_stats, partition_stats, record_index, bloom_filters.
    """
    uri, storage = checked_uri(target.path), checked_storage_options(target.storage_options)
    names = columns_of(add) or [], columns_of(drop) or []
    with service_progress("files", progress):
        built = build_metadata(
            uri, storage, dict(options), add=names[0], drop=names[1], rebuild=rebuild, dry_run=dry_run
        )
    _show_built(target, built, dry_run=dry_run)


@metadata.command()
@service_options(LOCK, has_progress=False)
@on_tables
def delete(target: Target, dry_run: bool, options: tuple[tuple[str, str], ...]) -> None:
    """Delete it: files are listed from storage from then on.

    Writers build it again, unless hoodie.metadata.enable=false.
    """
    uri, storage = checked_uri(target.path), checked_storage_options(target.storage_options)
    _show_built(target, delete_metadata(uri, storage, dict(options), dry_run=dry_run), dry_run=dry_run)


def _show_built(target: Target, built: MetadataResult, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    lines = []
    if built.dropped:
        size = sum(size for _, size in built.deleted)
        lines.append(f"{', '.join(built.dropped)} {would}deleted: {len(built.deleted)} files, {size:,} bytes")
    if built.added:
        lines.append(f"{', '.join(built.added)} {would}built: from {built.files} data files, {built.bytes:,} bytes")
    if not lines:
        lines.append("nothing to change")
    lines.append(f"metadata table: {', '.join(built.partitions) or 'none'}")
    rows = [list(file) for file in built.deleted] if dry_run or target.form == "csv" else []
    target.show(built.to_dict(), ["deleted file", "bytes"], rows, lines, WIDEST_PATH)


COLLECTED = "mortice.health"
MOST_GROUPS = 5
"""The file groups with the most log bytes that are listed."""


@click.command()
@click.option("--prometheus", is_flag=True, help="Print metrics in the text format of Prometheus.")
@click.option("--strict", is_flag=True, help="Exit with status 1 also if a service is due.")
@options_of("hoodie.compact.inline.max.delta.commits=10")
@on_tables
def health(target: Target, *, prometheus: bool, strict: bool, options: tuple[tuple[str, str], ...]) -> int:
    """Show log debt, small files, pending instants, and what services would gain.

    Exits with status 1 if something is wrong: a write has been pending for more than an hour, or the metadata table is
    not used.
    """
    found = target.table().health(dict(options))
    if prometheus:
        _collect(found)
    else:
        _show_health(target, found)
    return int(bool(found.problems or (strict and found.due)))


def _collect(found: Health) -> None:
    """Prints metrics when all tables were looked at, as those of one name belong together."""
    context = click.get_current_context()
    if COLLECTED not in context.meta:
        context.meta[COLLECTED] = []
        context.call_on_close(lambda: print("\n".join(metrics_of(context.meta[COLLECTED]))))
    context.meta[COLLECTED].append(found)


def _show_health(target: Target, found: Health) -> None:
    document = dataclasses.asdict(found) | {"log_ratio": found.log_ratio, "due": found.due}
    target.show(document, COLUMNS, list(map(cells_of, found.services)), _health_lines(found), WIDEST_PATH)


def _health_lines(found: Health) -> list[str]:
    bases = f"{found.base_bytes:,} bytes in {found.base_files:,} base files"
    logs = f"{found.log_bytes:,} in {found.log_files:,} logs ({found.log_ratio:.0%})"
    lines = ["", f"{found.file_groups:,} file groups of {found.partitions:,} partitions: {bases}, {logs}"]
    if found.small_files:
        lines.append(f"small files: {found.small_files:,}, {found.small_bytes:,} bytes")
    lines += [
        f"  {one.log_bytes:,} bytes in {one.log_files:,} logs: {one.partition or '.'} {one.file_id}"
        for one in found.debt[:MOST_GROUPS]
    ]
    if found.metadata is not None:
        lines.append(
            f"metadata table: {', '.join(found.metadata.partitions)}; {found.metadata.log_files:,} logs; "
            f"files are listed from the {found.metadata.listing}"
        )
    lines.append(
        f"last write {_moment(found.last_write)}, compaction {_moment(found.last_compaction)} "
        f"({found.writes_since_compaction} writes since), clustering {_moment(found.last_clustering)}, "
        f"clean {_moment(found.last_clean)}; archived until {_moment(found.archived_until)}"
    )
    lines += [f"pending: {one.action} {one.instant} ({one.state.lower()})" for one in found.pending]
    lines += [f"PROBLEM: {one}" for one in found.problems]
    lines.append(f"due: {', '.join(found.due) or 'nothing'}")
    return lines


def _moment(instant: Instant | None) -> str:
    return "none" if instant is None else instant.requested_time


@click.command()
@click.option(
    "--budget-seconds",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    help="The time that all of it may take (default: no limit).",
)
@click.option(
    "--service", "services", multiple=True, type=click.Choice(SERVICES), help="Only this one; may be repeated."
)
@click.option("--dry-run", is_flag=True, help="Print what would be done; change nothing.")
@click.option("--no-progress", "progress", flag_value=False, default=True, help="Show no progress bar.")
@options_of("hoodie.clean.commits.retained=24")
@on_tables
def maintain(
    target: Target,
    *,
    budget_seconds: float | None,
    services: tuple[str, ...],
    dry_run: bool,
    progress: bool,
    options: tuple[tuple[str, str], ...],
) -> int:
    """Run the services that are due: compact, cluster, clean, archive.

    With a budget, what would take longer is left, and printed. Exits with status 1 if a service fails.
    """
    table = target.table()
    run = table.plan_maintain if dry_run else table.maintain
    with service_progress("bytes", progress and not dry_run):
        done = run(budget_seconds, dict(options), services=services or SERVICES)
    rows = _maintained(done, "would run" if dry_run else "done")
    target.show(
        _maintain_document(done),
        ["service", "state", "seconds", "summary"],
        [[service, state, f"{seconds:.1f}", summary] for service, state, seconds, summary in rows],
        [] if rows else ["nothing is due"],
        WIDEST_PATH,
    )
    return int(bool(done.failed))


def _maintained(done: MaintainResult, verb: str) -> list[tuple[str, str, float, str]]:
    groups = ((verb, done.done), ("left", done.left), ("failed", done.failed))
    return [(one.service, state, one.seconds, one.summary) for state, steps in groups for one in steps]


def _maintain_document(done: MaintainResult) -> dict[str, object]:
    def plain(steps: list[object]) -> list[dict[str, object]]:
        return [{"service": one.service, "summary": one.summary, "seconds": one.seconds} for one in steps]  # type: ignore[attr-defined]

    return {
        "done": plain([*done.done]),
        "left": plain([*done.left]),
        "failed": plain([*done.failed]),
        "seconds": done.seconds,
    }
