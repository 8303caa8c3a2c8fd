"""`mortice health` and `mortice maintain`: what a table needs, and doing it."""

from __future__ import annotations

import dataclasses

import click

from mortice.cli.parameters import WIDEST_PATH, Target, on_tables, options_of
from mortice.cli.progress import service_progress
from mortice.insight.health import Health
from mortice.insight.maintenance import MaintainResult
from mortice.insight.needs import COLUMNS, SERVICES, cells_of
from mortice.insight.prometheus import metrics_of
from mortice.values.timeline import Instant

__all__ = ["health", "maintain"]

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
        _show(target, found)
    return int(bool(found.problems or (strict and found.due)))


def _collect(found: Health) -> None:
    """Prints metrics when all tables were looked at, as those of one name belong together."""
    context = click.get_current_context()
    if COLLECTED not in context.meta:
        context.meta[COLLECTED] = []
        context.call_on_close(lambda: print("\n".join(metrics_of(context.meta[COLLECTED]))))
    context.meta[COLLECTED].append(found)


def _show(target: Target, found: Health) -> None:
    document = dataclasses.asdict(found) | {"log_ratio": found.log_ratio, "due": found.due}
    target.show(document, COLUMNS, list(map(cells_of, found.services)), _lines(found), WIDEST_PATH)


def _lines(found: Health) -> list[str]:
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
    rows = _rows(done, "would run" if dry_run else "done")
    target.show(
        _document(done),
        ["service", "state", "seconds", "summary"],
        [[service, state, f"{seconds:.1f}", summary] for service, state, seconds, summary in rows],
        [] if rows else ["nothing is due"],
        WIDEST_PATH,
    )
    return int(bool(done.failed))


def _rows(done: MaintainResult, verb: str) -> list[tuple[str, str, float, str]]:
    groups = ((verb, done.done), ("left", done.left), ("failed", done.failed))
    return [(one.service, state, one.seconds, one.summary) for state, steps in groups for one in steps]


def _document(done: MaintainResult) -> dict[str, object]:
    def plain(steps: list[object]) -> list[dict[str, object]]:
        return [{"service": one.service, "summary": one.summary, "seconds": one.seconds} for one in steps]  # type: ignore[attr-defined]

    return {
        "done": plain([*done.done]),
        "left": plain([*done.left]),
        "failed": plain([*done.failed]),
        "seconds": done.seconds,
    }
