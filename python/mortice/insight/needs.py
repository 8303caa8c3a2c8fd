"""What each table service would gain, and whether it is due."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mortice import _mortice
from mortice.errors import MorticeError
from mortice.insight.table_view import TableView
from mortice.values.argument_types import Options, OptionValue
from mortice.values.timeline import Instant

__all__ = ["COLUMNS", "SERVICES", "ServiceNeed", "cells_of", "needs_of"]

DELTA_COMMITS = "hoodie.compact.inline.max.delta.commits"
CLUSTERING_COMMITS = "hoodie.clustering.inline.max.commits"
SERVICES = ("compact", "cluster", "clean", "archive")
"""In the order in which they are run: a clean deletes what the others have replaced."""
COLUMNS = ["service", "state", "files", "bytes", "gain"]
"""Of a table of services."""


@dataclass(frozen=True)
class ServiceNeed:
    """What a table service would do now."""

    service: str
    """`compact`, `cluster`, `clean` or `archive`: the method of `Table`, and the command."""
    is_due: bool
    """True if it is due by Hudi's usual options, or a plan of it is pending."""
    gain: str
    """What it would gain, in words."""
    files: int
    """The number of files that it would read (`compact`, `cluster`), delete (`clean`) or move (`archive`)."""
    bytes: int
    """Their size."""
    pending: int
    """The number of its plans that are pending."""
    problem: str | None = None
    """Why it cannot run, such as a table version that is not written; None if it can."""


def cells_of(need: ServiceNeed) -> list[str | int]:
    """Returns what a table of services shows of one, under `COLUMNS`."""
    state = "due" if need.is_due else "cannot run" if need.problem else ""
    return [need.service, state, need.files, need.bytes, need.problem or need.gain]


def needs_of(table: TableView, options: Options | None = None, names: Iterable[str] = SERVICES) -> list[ServiceNeed]:
    """Returns what each service would do, in the order in which they are run.

    Args:
        table: The table.
        options: Options of the services, by Hudi's names.
        names: Which of the services.

    Raises nothing of a service that cannot run: its `problem` says why.
    """
    given = dict(options or {})
    finders: dict[str, Callable[[TableView, dict[str, OptionValue]], ServiceNeed]] = {
        "compact": _compact,
        "cluster": _cluster,
        "clean": _clean,
        "archive": _archive,
    }
    return [_need_of(service, finders[service], table, given) for service in names]


def _need_of(
    service: str,
    find: Callable[[TableView, dict[str, OptionValue]], ServiceNeed],
    table: TableView,
    options: dict[str, OptionValue],
) -> ServiceNeed:
    try:
        return find(table, options)
    except MorticeError as error:
        return ServiceNeed(service, False, "unknown", 0, 0, 0, str(error))


def commits_since(instants: Iterable[Instant], is_service: Callable[[Instant], bool]) -> int:
    """Returns the number of completed writes after the last instant for which `is_service` is true."""
    count = 0
    for instant in instants:
        if is_service(instant):
            count = 0
        elif instant.is_completed and instant.action in ("commit", "deltacommit", "replacecommit"):
            count += 1
    return count


def _compact(table: TableView, options: dict[str, OptionValue]) -> ServiceNeed:
    if table.properties.get("hoodie.table.type") != "MERGE_ON_READ":
        return ServiceNeed("compact", False, "a copy-on-write table has no logs", 0, 0, 0)
    due = table.plan_compact({DELTA_COMMITS: _mortice.option_default(DELTA_COMMITS)} | options)
    # Without the option, one is planned after any number of delta commits.
    planned = due or table.plan_compact({name: value for name, value in options.items() if name != DELTA_COMMITS})
    slices = [one for plan in planned for one in plan.slices]
    logs, size = sum(len(one.log_files) for one in slices), sum(one.log_bytes for one in slices)
    pending = sum(plan.instant is not None for plan in planned)
    gain = f"merges {logs:,} log files of {len(slices):,} file groups" if slices else "nothing to merge"
    return ServiceNeed("compact", bool(due), gain, logs, size + sum(one.base_bytes for one in slices), pending)


def _cluster(table: TableView, options: dict[str, OptionValue]) -> ServiceNeed:
    groups = table.plan_cluster(options)
    pending = len({one.instant for one in groups if one.instant is not None})
    # A new group of a single file group only sorts it again: that is not due by itself.
    fewer = [one for one in groups if one.instant is not None or len(one.file_ids) > one.outputs]
    less = sum(len(one.file_ids) - one.outputs for one in fewer)
    limit = int(options.get(CLUSTERING_COMMITS, _mortice.option_default(CLUSTERING_COMMITS)))
    since = commits_since(table.timeline.active, lambda one: _is_clustering(table, one))
    is_due = bool(pending) or (less > 0 and since >= limit)
    gain = f"makes {less:,} file groups fewer" if less > 0 else "no file groups fewer"
    return ServiceNeed(
        "cluster", is_due, gain, sum(one.files for one in fewer), sum(one.file_bytes for one in fewer), pending
    )


def _is_clustering(table: TableView, instant: Instant) -> bool:
    if instant.action == "clustering":
        return True
    if instant.action != "replacecommit" or not instant.is_completed:
        return False
    return (table.timeline.metadata(instant) or {}).get("operationType") == "CLUSTER"


def _clean(table: TableView, options: dict[str, OptionValue]) -> ServiceNeed:
    done = table.plan_clean(options)
    files = [file for one in done.cleans for file in one.files]
    pending = sum(one.instant is not None for one in done.cleans)
    size = sum(file.bytes for file in files)
    gain = f"deletes {len(files):,} files" if files else done.reason or "nothing to delete"
    return ServiceNeed("clean", bool(files) or bool(pending), gain, len(files), size, pending)


def _archive(table: TableView, options: dict[str, OptionValue]) -> ServiceNeed:
    instants = table.plan_archive(options).instants
    files = [size for one in instants for _, size in one.files]
    gain = f"moves {len(instants):,} instants" if instants else "nothing to move"
    return ServiceNeed("archive", bool(instants), gain, len(files), sum(files), 0)
