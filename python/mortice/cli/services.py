"""Commands that run services, and `health`: what a table needs.

Services are `compact`, `log-compact`, `cluster`, `clean`, `expire-partitions`, `archive`, `metadata`, `upgrade`,
`downgrade` and `maintain`.
"""

from __future__ import annotations

import click

from mortice import _mortice as native
from mortice.cli.parameters import LOCK, Target, columns_of, on_tables, options_of, service
from mortice.cli.progress import service_progress
from mortice.insight.maintenance import SERVICES
from mortice.insight.prometheus import metrics_of
from mortice.insight.report import SERVICE_COLUMNS, service_cells


@click.command()
@service("compact", "hoodie.compaction.target.io=10000", unit="bytes", kind="compaction")
def compact(target: Target, done: native.CompactResult | list[native.PlannedCompaction], **_: object) -> None:
    """Merge the log files of a table into base files.

    Executes the pending compactions of a table, plans another one, if it is due, and executes it.
    """
    _show_compactions(target, done, into_logs=False)


@click.command("log-compact")
@service("log_compact", "hoodie.log.compaction.blocks.threshold=10", unit="bytes", kind="log compaction")
def log_compact(target: Target, done: native.CompactResult | list[native.PlannedCompaction], **_: object) -> None:
    """Merge the log files of a table into log files.

    Executes the pending log compactions of a table, plans another one, if it is due, and executes it.
    """
    _show_compactions(target, done, into_logs=True)


def _show_compactions(
    target: Target, done: native.CompactResult | list[native.PlannedCompaction], *, into_logs: bool
) -> None:
    if isinstance(done, list):
        rows = [
            (
                one.instant or "(new)",
                s.partition,
                s.file_id,
                s.base_file or "",
                s.base_bytes,
                len(s.log_files),
                s.log_bytes,
            )
            for one in done
            for s in one.slices
        ]
        names = ["instant", "partition", "file id", "base file", "base bytes", "log files", "log bytes"]
        lines = [_compaction_summary(one, into_logs=into_logs) for one in done] or ["nothing to compact"]
        target.show([one.to_dict() for one in done], names, rows, lines, less=["base file"])
        return
    completed = {commit.instant for commit in done.commits}
    counts = [
        (commit.instant, len(commit.stats), sum(stats.rows_written for stats in commit.stats), commit.bytes_written)
        for commit in done.commits
    ]
    lines = [f"planned {done.scheduled}"] if done.scheduled is not None and done.scheduled not in completed else []
    lines += [f"compacted {instant}: {files} files, {n:,} rows, {size:,} bytes" for instant, files, n, size in counts]
    document = {"scheduled": done.scheduled, "compactions": [commit.to_dict() for commit in done.commits]}
    names = ["instant", "files", "rows", "bytes"]
    target.show(document, names, target.if_csv(counts), lines or ["nothing to compact"])


def _compaction_summary(one: native.PlannedCompaction, *, into_logs: bool) -> str:
    logs, bases = sum(len(s.log_files) for s in one.slices), sum(s.base_file is not None for s in one.slices)
    size = sum(s.log_bytes + (0 if into_logs else s.base_bytes) for s in one.slices)
    # A log compaction leaves base files as they are.
    files = f"{logs} log files" if into_logs else f"{bases} base files and {logs} log files"
    kind = "log compaction" if into_logs else "compaction"
    return f"{kind} {one.instant or '(new)'}: would merge {files} of {len(one.slices)} slices, {size:,} bytes"


@click.command()
@service("cluster", "hoodie.clustering.plan.strategy.sort.columns=city", unit="bytes", kind="clustering")
def cluster(target: Target, done: native.ClusterResult | list[native.ClusteringGroup], **_: object) -> None:
    """Rewrite small file groups as larger ones, in another order."""
    if isinstance(done, list):
        _show_groups(target, done)
        return
    actions = ("clustering", "replacecommit")  # up to table version 7 the latter
    pending = [one.requested_time for one in target.table().timeline.pending if one.action in actions]
    instant = None if done.commit is None else done.commit.instant
    rows = ([] if instant is None else [(instant, "COMPLETED")]) + [(one, "REQUESTED") for one in pending]
    line = f"planned: {', '.join(pending)}" if pending else "nothing to cluster"
    line = line if done.commit is None else str(done.commit)
    target.show({"instant": instant, "pending": pending}, ["instant", "state"], target.if_csv(rows), [line])


def _show_groups(target: Target, groups: list[native.ClusteringGroup]) -> None:
    lines = []
    for instant in dict.fromkeys(group.instant for group in groups):
        of_plan = [group for group in groups if group.instant == instant]
        files, size = sum(group.files for group in of_plan), sum(group.file_bytes for group in of_plan)
        lines.append(f"clustering {instant or '(new)'}: would rewrite {files} files, {size:,} bytes")
    documents = [group.to_dict() for group in groups]
    for document in documents:
        document["bytes"] = document.pop("file_bytes")
    rows = [
        (one.instant or "(new)", one.partition, len(one.file_ids), one.files, one.file_bytes, one.outputs)
        for one in groups
    ]
    names = ["instant", "partition", "file groups", "files", "bytes", "new files"]
    target.show(documents, names, rows, lines or ["nothing to cluster"])


@click.command()
@service("clean", "hoodie.clean.commits.retained=24", unit="files")
def clean(target: Target, done: native.CleanResult, *, is_plan: bool) -> None:
    """Delete files that only old queries read."""
    rows = [(one.instant or "(new)", file.path, file.bytes) for one in done.cleans for file in one.files]
    lines = [] if done.reason is None else [f"nothing to clean: {done.reason}"]
    for one in reversed(done.cleans):
        size, verb = sum(file.bytes for file in one.files), "would delete" if is_plan else "deleted"
        lines.insert(0, f"clean {one.instant or '(new)'}: {verb} {len(one.files)} files, {size:,} bytes")
    shown = rows if is_plan else target.if_csv(rows)
    target.show([one.to_dict() for one in done.cleans], ["instant", "file", "bytes"], shown, lines)


@click.command("expire-partitions")
@service("expire_partitions", "hoodie.partition.ttl.strategy.days.retain=30")
def expire_partitions(target: Target, done: native.ExpireResult, *, is_plan: bool) -> None:
    """Delete partitions that nobody has written to for some days."""
    rows = [(one.partition, one.since) for one in done.partitions]
    line = f"{'would delete' if is_plan else 'deleted'} {len(rows)} partitions"
    if not rows:
        line = f"no partition expires: {done.reason}" if done.reason else "no partition has expired"
    shown = rows if is_plan else target.if_csv(rows)
    target.show(done.to_dict(), ["partition", "since"], shown, [line])


@click.command()
@service("archive", "hoodie.keep.min.commits=40", unit="instants")
def archive(target: Target, done: native.ArchiveResult, *, is_plan: bool) -> None:
    """Move old instants to the archive."""
    files = [(one, *file) for one in done.instants for file in one.files]
    rows = [(one.instant, one.completion_time or "", one.action, name, size) for one, name, size in files]
    size, verb = sum(size for *_, size in files), "would archive" if is_plan else "archived"
    line = f"{verb} {len(done.instants)} instants: {len(files)} files, {size:,} bytes"
    names = ["requested", "completed", "action", "file", "bytes"]
    shown = rows if is_plan else target.if_csv(rows)
    target.show([one.to_dict() for one in done.instants], names, shown, [line], less=["completed", "action"])


def _names(_context: click.Context, _parameter: click.Parameter, text: str) -> list[str]:
    return columns_of(text) or []


@click.group()
def metadata() -> None:
    """Build the metadata table of a table, change its indexes, or delete it."""


@metadata.command()
@click.option("--add", metavar="A,B", default="", callback=_names, help="Indexes to add.")
@click.option("--drop", metavar="A,B", default="", callback=_names, help="Indexes to drop.")
@click.option("--rebuild", is_flag=True, help="Delete the metadata table first, even if it is damaged.")
@service("build_metadata", "hoodie.metadata.index.column.stats.column.list=city,fare", unit="files")
def build(target: Target, done: native.MetadataResult, *, is_plan: bool) -> None:
    """Build it, add indexes, drop others.

    Builds the metadata table of a table that has none; adds indexes to one that is there, and drops others:
    column_stats, partition_stats, record_index, bloom_filters.
    """
    _show_built(target, done, dry_run=is_plan)


@metadata.command()
@service("delete_metadata", LOCK)
def delete(target: Target, done: native.MetadataResult, *, is_plan: bool) -> None:
    """Delete it: files are listed from storage from then on.

    Writers build it again, unless hoodie.metadata.enable=false.
    """
    _show_built(target, done, dry_run=is_plan)


def _show_built(target: Target, built: native.MetadataResult, *, dry_run: bool) -> None:
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
    rows = built.deleted if dry_run else target.if_csv(built.deleted)
    target.show(built.to_dict(), ["deleted file", "bytes"], rows, lines)


@click.command()
@click.option("--to", metavar="VERSION", type=int, default=9, show_default=True, help="The table version afterwards.")
@service("upgrade", LOCK)
def upgrade(target: Target, done: native.UpgradeResult, *, is_plan: bool) -> None:
    """Bring a table to a later version: up to 5 to 6, 6 to 8, 8 to 9.

    Rolls failed writes back and merges all logs into base files first. No row changes.
    """
    _show_version(target, done, is_plan=is_plan)


@click.command()
@click.option("--to", metavar="VERSION", type=int, required=True, help="The table version afterwards.")
@service("downgrade", LOCK)
def downgrade(target: Target, done: native.UpgradeResult, *, is_plan: bool) -> None:
    """Bring a table to an earlier version, for older releases of Hudi: 9 to 8, 8 to 6."""
    _show_version(target, done, is_plan=is_plan)


def _show_version(target: Target, done: native.UpgradeResult, *, is_plan: bool) -> None:
    would = "would be " if is_plan else ""
    lines = [
        f"{would}rolled back: {', '.join(done.rolled_back)}" if done.rolled_back else "",
        f"{done.log_files:,} log files {would}merged into base files" if done.log_files else "",
        f"{done.timeline_files:,} files of instants, {done.archived_instants:,} archived instants {would}converted"
        if done.timeline_files
        else "",
        f"metadata table {would}built again: {', '.join(done.rebuilt)}" if done.rebuilt else "",
        f"table version {done.from_version} -> {done.to_version}"
        if done.from_version != done.to_version
        else f"the table has version {done.to_version}",
    ]
    rows = [(name, before or "", after or "") for name, before, after in done.properties]
    names = ["property", "before", "after"]
    target.show(done.to_dict(), names, rows, [line for line in lines if line])


COLLECTED = "mortice.health"
MOST_GROUPS = 5
"""The file groups with the most log bytes that are listed."""


@click.command()
@click.option("--prometheus", is_flag=True, help="Print metrics in the text format of Prometheus.")
@click.option("--strict", is_flag=True, help="Exit with status 1 also if a service is due.")
@options_of("hoodie.compact.inline.max.delta.commits=10")
@on_tables
def health(target: Target, *, prometheus: bool, strict: bool, options: dict[str, str]) -> int:
    """Show log debt, small files, pending instants, and what services would gain.

    Exits with status 1 if something is wrong: a write has been pending for more than an hour, or the metadata table is
    not used.
    """
    found = target.table().health(options)
    if prometheus:
        _collect(found)
    else:
        _show_health(target, found)
    return int(bool(found.problems or (strict and found.due)))


def _collect(found: native.Health) -> None:
    """Prints metrics when all tables were looked at, as those of one name belong together."""
    context = click.get_current_context()
    if COLLECTED not in context.meta:
        context.meta[COLLECTED] = []
        context.call_on_close(lambda: print("\n".join(metrics_of(context.meta[COLLECTED]))))
    context.meta[COLLECTED].append(found)


def _show_health(target: Target, found: native.Health) -> None:
    document = found.to_dict() | {"log_ratio": found.log_ratio, "due": found.due}
    target.show(document, SERVICE_COLUMNS, list(map(service_cells, found.services)), _health_lines(found))


def _health_lines(found: native.Health) -> list[str]:
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


def _moment(instant: native.Instant | None) -> str:
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
def maintain(  # noqa: PLR0917
    target: Target,
    budget_seconds: float | None,
    services: tuple[str, ...],
    dry_run: bool,
    progress: bool,
    options: dict[str, str],
) -> int:
    """Run the services that are due: compact, cluster, clean, archive.

    With a budget, what would take longer is left, and printed. Exits with status 1 if a service fails.
    """
    table = target.table()
    run = table.plan_maintain if dry_run else table.maintain
    with service_progress("bytes", table.service_progress, progress and not dry_run):
        done = run(budget_seconds, options, services=services or SERVICES)
    groups = {"would run" if dry_run else "done": done.done, "left": done.left, "failed": done.failed}
    rows = [(one.service, state, f"{one.seconds:.1f}", one.summary) for state, of in groups.items() for one in of]
    plain = [
        [{"service": one.service, "summary": one.summary, "seconds": one.seconds} for one in of]
        for of in groups.values()
    ]
    document = {**dict(zip(("done", "left", "failed"), plain, strict=True)), "seconds": done.seconds}
    names = ["service", "state", "seconds", "summary"]
    target.show(document, names, rows, [] if rows else ["nothing is due"])
    return int(bool(done.failed))
