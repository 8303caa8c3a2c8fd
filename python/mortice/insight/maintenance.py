"""Maintenance: runs the services that are due, one after the other, within a budget of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from mortice._mortice import ServiceNeed
from mortice.display.markup import grid
from mortice.errors import InvalidArgumentError, MorticeError
from mortice.insight.table_view import TableView
from mortice.values.argument_types import Options, OptionValue

__all__ = [
    "SERVICES",
    "MaintainResult",
    "MaintenanceStep",
    "checked_budget",
    "checked_services",
    "maintain",
    "plan_maintain",
]

SERVICES = ("compact", "cluster", "clean", "archive")
"""In the order in which they are run: a clean deletes what the others have replaced."""
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
    result: object = field(default=None, repr=False)
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

    def _repr_html_(self) -> str:
        """The services as a table, for notebooks."""
        groups = {"done": self.done, "left": self.left, "failed": self.failed}
        rows = [[one.service, state, f"{one.seconds:.1f}", one.summary] for state, of in groups.items() for one in of]
        return grid(["service", "state", "seconds", "summary"], rows, f"maintenance in {self.seconds:.1f} s")


def checked_services(services: Iterable[str]) -> list[str]:
    """Returns the names of services in the order in which they are run.

    Raises `InvalidArgumentError` for an unknown one.
    """
    given = [services] if isinstance(services, str) else list(services)
    unknown = [one for one in given if one not in SERVICES]
    if unknown:
        raise InvalidArgumentError(f"services must be some of {', '.join(SERVICES)}, got {unknown[0]!r}")
    return [one for one in SERVICES if one in given]


def checked_budget(budget_seconds: object) -> float | None:
    """Returns the budget. Raises `InvalidArgumentError` unless it is None or a number above 0."""
    if budget_seconds is None:
        return None
    if isinstance(budget_seconds, bool) or not isinstance(budget_seconds, (int, float)) or not budget_seconds > 0:
        raise InvalidArgumentError(f"budget_seconds must be a number above 0, or None, got {budget_seconds!r}")
    return float(budget_seconds)


def plan_maintain(
    table: TableView, budget_seconds: float | None, options: Options | None, services: Iterable[str]
) -> MaintainResult:
    """Returns what `maintain` would do: `done` are the services that it would run.

    Args:
        table: The table.
        budget_seconds: The budget; None has no end.
        options: Options of the services, by Hudi's names.
        services: Which of them.
    """
    done: list[MaintenanceStep] = []
    turns = _Turns(table, budget_seconds, options, lambda: sum(one.seconds for one in done))
    for need in turns.affordable(services):
        seconds = min(turns.seconds_of(need), turns.left())
        done.append(MaintenanceStep(need.service, f"would run: {need.gain}", seconds))
    return MaintainResult(done, turns.result.left, turns.result.failed, 0.0)


def maintain(
    table: TableView, budget_seconds: float | None, options: Options | None, services: Iterable[str]
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
    begun = time.monotonic()
    turns = _Turns(table, budget_seconds, options, lambda: time.monotonic() - begun)
    result = turns.result
    for need in turns.affordable(services):
        if not _run(table, need, _limited(need, turns), result):
            continue
        if need.service in ("compact", "cluster") and need.bytes:
            turns.rate = max(BYTES_PER_SECOND, need.bytes / max(result.done[-1].seconds, 0.001))
        after = turns.need_of(need.service)
        if after.is_due:
            result.left.append(turns.step_left(after))
    return MaintainResult(result.done, result.left, result.failed, time.monotonic() - begun)


class _Turns:
    """The services that are due, each in its turn, and the budget that is left for them.

    Args:
        table: The table.
        budget_seconds: The budget; None has no end.
        options: Options of the services.
        spent: Returns how much of the budget is spent, in seconds.
    """

    def __init__(
        self,
        table: TableView,
        budget_seconds: float | None,
        options: Options | None,
        spent: Callable[[], float],
    ) -> None:
        self._table = table
        self._budget = float("inf") if budget_seconds is None else budget_seconds
        self._spent = spent
        self.options = dict(options or {})
        self.rate = BYTES_PER_SECOND
        """The bytes that are compacted in a second."""
        self.result = MaintainResult([], [], [], 0.0)

    def affordable(self, services: Iterable[str]) -> Iterator[ServiceNeed]:
        """Yields the services that are due and fit into the rest of the budget. The others are noted in the result."""
        for service in checked_services(services):
            need = self.need_of(service)
            if need.problem is not None:
                self.result.failed.append(MaintenanceStep(service, need.problem, 0.0))
            elif need.is_due and self._fits(need):
                yield need
            elif need.is_due:
                self.result.left.append(self.step_left(need))

    def need_of(self, service: str) -> ServiceNeed:
        """Returns what a service would do now; the problem of one that cannot run says why."""
        try:
            (need,) = self._table._native.service_needs(self._table._given(self.options), [service])  # noqa: SLF001
        except MorticeError as error:
            return ServiceNeed(service, False, "unknown", 0, 0, 0, str(error))
        return need

    def left(self) -> float:
        return self._budget - self._spent()

    def seconds_of(self, need: ServiceNeed) -> float:
        if need.service in ("compact", "cluster"):
            return SECONDS_OF_START + need.bytes / self.rate
        return SECONDS_OF_START + need.files / FILES_PER_SECOND

    def is_divisible(self, need: ServiceNeed) -> bool:
        # A new plan of a compaction can be made so small that it fits; a pending one is as large as it is.
        return need.service == "compact" and not need.pending

    def _fits(self, need: ServiceNeed) -> bool:
        left = self.left()
        return self.seconds_of(need) <= left or (self.is_divisible(need) and left >= 2 * SECONDS_OF_START)

    def step_left(self, need: ServiceNeed) -> MaintenanceStep:
        seconds, left = self.seconds_of(need), self.left()
        reason = f"{need.gain}: needs about {seconds:,.0f} s, and {max(0.0, left):,.0f} s of the budget are left"
        if left == float("inf"):
            reason = f"{need.gain}: still due after it was run, as others wrote meanwhile or options limit it"
        return MaintenanceStep(need.service, reason, seconds)


def _run(table: TableView, need: ServiceNeed, options: dict[str, OptionValue], result: MaintainResult) -> bool:
    """Runs a service. Returns whether it succeeded."""
    started = time.monotonic()
    try:
        value = getattr(table, need.service)(options)
    except MorticeError as error:
        result.failed.append(MaintenanceStep(need.service, str(error), time.monotonic() - started, error))
        return False
    result.done.append(MaintenanceStep(need.service, need.gain, time.monotonic() - started, value))
    return True


def _limited(need: ServiceNeed, turns: _Turns) -> dict[str, OptionValue]:
    """Returns the options of a service, which limit a compaction to what the rest of the budget suffices for."""
    left = turns.left()
    if not turns.is_divisible(need) or left == float("inf") or TARGET_IO in turns.options:
        return turns.options
    return turns.options | {TARGET_IO: max(1, int((left - SECONDS_OF_START) * turns.rate / MEGABYTE))}
