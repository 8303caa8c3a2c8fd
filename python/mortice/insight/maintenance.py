"""Maintenance: runs the services that are due, one after the other, within a budget of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mortice.errors import InvalidArgumentError, MorticeError
from mortice.insight.needs import SERVICES, ServiceNeed, needs_of
from mortice.insight.table_view import TableView

__all__ = ["MaintainResult", "MaintenanceStep", "checked_budget", "checked_services", "maintain", "plan_maintain"]

BYTES_PER_SECOND = 20_000_000.0
"""What a core compacts in a second, at least: of the measured rates a low one. Faster machines are learned."""
FILES_PER_SECOND = 20.0
"""Files that are deleted or moved in a second, at least, in an object store."""
SECONDS_OF_START = 1.0
"""Listing files, locking, writing instants."""
TARGET_IO = "hoodie.compaction.target.io"
GROUPS = "hoodie.clustering.plan.strategy.max.num.groups"
MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class MaintenanceStep:
    """A service that was run, or was not."""

    service: str
    """`compact`, `cluster`, `clean` or `archive`."""
    summary: str
    """What it did; of one that was left, why; of one that failed, the error."""
    seconds: float
    """How long it took; of one that was left, about how long it needs."""
    result: Any = field(default=None, repr=False)
    """What the method of the table returned; of one that failed, the exception."""


@dataclass(frozen=True)
class MaintainResult:
    """What maintenance did."""

    done: list[MaintenanceStep]
    """The services that were run, in this order."""
    left: list[MaintenanceStep]
    """The services that are due and were not run, or not to their end, as the budget did not suffice."""
    failed: list[MaintenanceStep]
    """The services that raised an error. The others were run all the same."""
    seconds: float
    """How long all of it took."""


def checked_services(services: Any) -> list[str]:
    """Returns the names of services in the order in which they are run.

    Raises `InvalidArgumentError` for an unknown one.
    """
    given = [services] if isinstance(services, str) else list(services)
    unknown = [one for one in given if one not in SERVICES]
    if unknown:
        raise InvalidArgumentError(f"services must be some of {', '.join(SERVICES)}, got {unknown[0]!r}")
    return [one for one in SERVICES if one in given]


def checked_budget(budget_seconds: Any) -> float | None:
    """Returns the budget. Raises `InvalidArgumentError` unless it is None or a number above 0."""
    if budget_seconds is None:
        return None
    if isinstance(budget_seconds, bool) or not isinstance(budget_seconds, (int, float)) or not budget_seconds > 0:
        raise InvalidArgumentError(f"budget_seconds must be a number above 0, or None, got {budget_seconds!r}")
    return float(budget_seconds)


def plan_maintain(
    table: TableView, budget_seconds: float | None, options: Mapping[str, Any] | None, services: Any
) -> MaintainResult:
    """Returns what `maintain` would do: `done` are the services that it would run.

    Args:
        table: The table.
        budget_seconds: The budget; None has no end.
        options: Options of the services, by Hudi's names.
        services: Which of them.
    """
    names = checked_services(services)
    done, left, failed = [], [], []
    remaining = float("inf") if budget_seconds is None else budget_seconds
    for need in needs_of(table, options, names):
        seconds = _seconds_of(need, BYTES_PER_SECOND)
        if need.problem is not None:
            failed.append(MaintenanceStep(need.service, need.problem, 0.0))
        elif need.is_due and _fits(need, seconds, remaining):
            done.append(MaintenanceStep(need.service, f"would run: {need.gain}", min(seconds, remaining)))
            remaining -= min(seconds, remaining)
        elif need.is_due:
            left.append(_left(need, seconds, remaining))
    return MaintainResult(done, left, failed, 0.0)


def maintain(
    table: TableView, budget_seconds: float | None, options: Mapping[str, Any] | None, services: Any
) -> MaintainResult:
    """Runs the services that are due.

    What each service needs is determined when its turn comes, since the one before has changed it: a compaction leaves
    files to be cleaned.

    Args:
        table: The table.
        budget_seconds: The budget; None has no end.
        options: Options of the services, by Hudi's names.
        services: Which of them.
    """
    names = checked_services(services)
    begun = time.monotonic()
    rate = BYTES_PER_SECOND
    result = MaintainResult([], [], [], 0.0)
    for service in names:
        remaining = float("inf") if budget_seconds is None else budget_seconds - (time.monotonic() - begun)
        need = needs_of(table, options, [service])[0]
        if need.problem is not None:
            result.failed.append(MaintenanceStep(service, need.problem, 0.0))
            continue
        seconds = _seconds_of(need, rate)
        if not need.is_due:
            continue
        if not _fits(need, seconds, remaining):
            result.left.append(_left(need, seconds, remaining))
            continue
        _run(table, need, _limited(need, dict(options or {}), rate, remaining), result)
        took = time.monotonic() - begun
        if service in ("compact", "cluster") and need.bytes and result.done and result.done[-1].service == service:
            rate = max(BYTES_PER_SECOND, need.bytes / max(result.done[-1].seconds, 0.001))
        after = needs_of(table, options, [service])[0]
        if after.is_due and not any(one.service == service for one in result.failed):
            left = float("inf") if budget_seconds is None else budget_seconds - took
            result.left.append(_left(after, _seconds_of(after, rate), left))
    return MaintainResult(result.done, result.left, result.failed, time.monotonic() - begun)


def _run(table: TableView, need: ServiceNeed, options: dict[str, Any], result: MaintainResult) -> None:
    methods: dict[str, Callable[[dict[str, Any]], Any]] = {
        "compact": table.compact,
        "cluster": table.cluster,
        "clean": table.clean,
        "archive": table.archive,
    }
    started = time.monotonic()
    try:
        value = methods[need.service](options)
    except MorticeError as error:
        result.failed.append(MaintenanceStep(need.service, str(error), time.monotonic() - started, error))
        return
    result.done.append(MaintenanceStep(need.service, need.gain, time.monotonic() - started, value))


def _seconds_of(need: ServiceNeed, rate: float) -> float:
    if need.service in ("compact", "cluster"):
        return SECONDS_OF_START + need.bytes / rate
    return SECONDS_OF_START + need.files / FILES_PER_SECOND


def _fits(need: ServiceNeed, seconds: float, remaining: float) -> bool:
    # A new plan of a compaction can be made so small that it fits; a pending one is as large as it is.
    is_divisible = need.service == "compact" and not need.pending
    return seconds <= remaining or (is_divisible and remaining >= 2 * SECONDS_OF_START)


def _limited(need: ServiceNeed, options: dict[str, Any], rate: float, remaining: float) -> dict[str, Any]:
    """Returns the options of a service, which limit a compaction to what the rest of the budget suffices for."""
    if need.service != "compact" or need.pending or remaining == float("inf") or TARGET_IO in options:
        return options
    return options | {TARGET_IO: max(1, int((remaining - SECONDS_OF_START) * rate / MEGABYTE))}


def _left(need: ServiceNeed, seconds: float, remaining: float) -> MaintenanceStep:
    reason = f"{need.gain}: needs about {seconds:,.0f} s, and {max(0.0, remaining):,.0f} s of the budget are left"
    if remaining == float("inf"):
        reason = f"{need.gain}: still due after it was run, as others wrote meanwhile or options limit it"
    return MaintenanceStep(need.service, reason, seconds)
