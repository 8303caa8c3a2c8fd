"""The health of a table: what slows its queries down, and what its services would gain."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mortice import _mortice
from mortice._mortice import FileSlice, Instant, ServiceNeed
from mortice.display.markup import byte_size, grid, tag
from mortice.errors import MorticeError
from mortice.insight.instants import age_of, kinds_of
from mortice.insight.table_view import TableView
from mortice.values.argument_types import Options
from mortice.values.instants import TIMELINE_ZONE
from mortice.values.other_names import answering
from mortice.values.visible_text import visible_text

SMALL_FILE = int(_mortice.option_default("hoodie.parquet.small.file.limit"))
"""Hudi's default, in bytes."""
SERVICES = ("compact", "cluster", "clean", "archive")
"""In the order in which they are run: a clean deletes what the others have replaced."""
COLUMNS = ["service", "state", "files", "bytes", "gain"]
"""Of a table of services."""
STALE_SECONDS = 3_600.0
PLANS = frozenset({"compaction", "logcompaction", "clustering"})
"""Actions whose plans may stay pending as long as anyone likes."""


@dataclass(frozen=True)
class GroupDebt:
    """What a query of a file group reads besides its base file."""

    partition: str
    """The partition path."""
    file_id: str
    """The id of the file group."""
    base_bytes: int
    """The size of its base file; 0 without one."""
    log_files: int
    """The number of log files that a query merges."""
    log_bytes: int
    """Their size."""


@dataclass(frozen=True)
class PendingInstant:
    """An instant that has not completed."""

    instant: str
    """Its requested time."""
    action: str
    """Hudi's name of the action."""
    state: str
    """`REQUESTED` or `INFLIGHT`."""
    age_seconds: float | None
    """How long ago it was requested."""
    is_stale: bool
    """True for a write that was requested more than an hour ago. Its writer is probably dead, and the next write rolls
    it back. Plans of compaction and clustering do not become stale."""


@dataclass(frozen=True)
class MetadataHealth:
    """The state of the metadata table."""

    partitions: list[str]
    """What it indexes."""
    is_used: bool
    """True if queries list files by it; False if they list them from storage."""
    listing: str
    """How queries list files, and why, as `Scan.explain` has it."""
    base_bytes: int
    """The size of its base files."""
    log_files: int
    """The number of its log files."""
    log_bytes: int
    """Their size."""
    problem: str | None = None
    """Why it cannot be read; None if it can."""


@answering
@dataclass(frozen=True)
class Health:
    """The health of a table."""

    uri: str
    """The base path."""
    at: str
    """When it was determined: ISO 8601, in UTC."""
    version: int
    """The table version."""
    table_type: str
    """`MERGE_ON_READ` or `COPY_ON_WRITE`."""
    partitions: int
    """The number of partitions."""
    file_groups: int
    """The number of file groups that queries read."""
    base_files: int
    """The number of their base files."""
    base_bytes: int
    """The size of these."""
    log_files: int
    """The number of log files that queries merge."""
    log_bytes: int
    """Their size."""
    debt: list[GroupDebt] = field(repr=False)
    """The file groups that have log files, those with the most bytes of logs first."""
    small_files: int
    """The number of base files below 100 MiB, Hudi's limit for small files, in partitions that have several of them."""
    small_bytes: int
    """Their size."""
    active_instants: int
    """The number of instants that are not archived."""
    writes_since_compaction: int
    """The number of completed writes since the last compaction."""
    last_write: Instant | None
    """The last completed write."""
    last_compaction: Instant | None
    """The last completed compaction on the active timeline."""
    last_clustering: Instant | None
    """The last completed clustering on the active timeline."""
    last_clean: Instant | None
    """The last completed clean on the active timeline."""
    archived_until: Instant | None
    """The last instant that was archived; None if there is no archive."""
    pending: list[PendingInstant]
    """What has not completed."""
    metadata: MetadataHealth | None
    """The metadata table; None if the table has none."""
    services: list[ServiceNeed]
    """What each service would gain, in the order in which they are run."""
    timeline_zone: str
    """The zone of instants: `UTC`, or `LOCAL`."""
    problems: list[str]
    """What is wrong, in words: stale instants, a metadata table that is not used. Empty if nothing is."""

    def _repr_html_(self) -> str:
        """What each service would gain, and what is wrong, for notebooks."""
        files = (
            f"{self.file_groups:,} file groups: {byte_size(self.base_bytes)} in {self.base_files:,} base files, "
            f"{byte_size(self.log_bytes)} in {self.log_files:,} logs ({self.log_ratio:.0%})"
        )
        problems = tag("ul", *(tag("li", one) for one in self.problems)) if self.problems else ""
        return grid(COLUMNS, map(cells_of, self.services), self.uri) + tag("p", files) + problems

    @property
    def log_ratio(self) -> float:
        """The bytes of logs per byte of base files: how much more a query reads than after a compaction."""
        return self.log_bytes / self.base_bytes if self.base_bytes else float(self.log_bytes > 0)

    @property
    def due(self) -> list[str]:
        """The services that are due."""
        return [one.service for one in self.services if one.is_due]

    def __repr__(self) -> str:
        state = "; ".join(self.problems) or "no problems"
        return visible_text(
            f"Health({self.uri!r}: {self.file_groups:,} file groups, {self.base_bytes:,} bytes in base files, "
            f"{self.log_bytes:,} in {self.log_files:,} logs; {state}; due: {', '.join(self.due) or 'nothing'})"
        )


def health_of(table: TableView, metadata: TableView | str | None, options: Options | None = None) -> Health:
    """Returns the health of a table, in the state in which it was opened.

    Args:
        table: The table.
        metadata: Its metadata table; a string is why it cannot be opened; None if it has none.
        options: Options of the services, by Hudi's names.
    """
    slices = table.file_slices()
    bases = [one.base_file.size for one in slices if one.base_file]
    logs = [file.size for one in slices for file in one.log_files]
    small = small_files(slices)
    instants = list(table.timeline.active)
    archived = [one for one in table.timeline.archived if one.is_completed]
    found = PendingInstants(table)
    described = None if metadata is None else _metadata(table, metadata)
    return Health(
        uri=table.uri,
        at=dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
        version=table.version,
        table_type=table.properties.get("hoodie.table.type", "COPY_ON_WRITE"),
        partitions=len({one.partition for one in slices}),
        file_groups=len(slices),
        base_files=len(bases),
        base_bytes=sum(bases),
        log_files=len(logs),
        log_bytes=sum(logs),
        debt=debt_of(slices),
        small_files=len(small),
        small_bytes=sum(small),
        active_instants=len(instants),
        writes_since_compaction=found.writes_since_compaction,
        last_write=found.last("write"),
        last_compaction=found.last("compaction"),
        last_clustering=found.last("clustering"),
        last_clean=found.last("clean"),
        archived_until=max(archived, key=lambda one: one.requested_time, default=None),
        pending=found.pending,
        metadata=described,
        services=needs_of(table, options),
        timeline_zone=table.properties.get(TIMELINE_ZONE, "LOCAL"),
        problems=[*_stale(found.pending), *_unused(described)],
    )


def cells_of(need: ServiceNeed) -> list[str | int]:
    """Returns what a table of services shows of one, under `COLUMNS`."""
    state = "due" if need.is_due else "cannot run" if need.problem else ""
    return [need.service, state, need.files, need.bytes, need.problem or need.gain]


def needs_of(table: TableView, options: Options | None = None, names: Iterable[str] = SERVICES) -> list[ServiceNeed]:
    """Returns what each service would do, in the order in which they are run.

    Args:
        table: The table. It is opened again, once for all services.
        options: Options of the services, by Hudi's names.
        names: Which of the services.

    Raises nothing of a service that cannot run: its `problem` says why.
    """
    services = list(names)
    try:
        return table._native.service_needs(table._given(options), services)  # noqa: SLF001
    except MorticeError as error:
        return [ServiceNeed(service, False, "unknown", 0, 0, 0, str(error)) for service in services]


def debt_of(slices: Iterable[FileSlice]) -> list[GroupDebt]:
    """Returns the file groups that have log files, those with the most bytes of logs first."""
    found = [
        GroupDebt(
            one.partition,
            one.file_id,
            one.base_file.size if one.base_file else 0,
            len(one.log_files),
            sum(file.size for file in one.log_files),
        )
        for one in slices
        if one.log_files
    ]
    return sorted(found, key=lambda one: (-one.log_bytes, one.partition, one.file_id))


def small_files(slices: Iterable[FileSlice]) -> list[int]:
    """Returns the sizes of small base files: a partition's only one cannot be made larger by joining it with others."""
    by_partition: dict[str, list[int]] = {}
    for one in slices:
        if one.base_file is not None and one.base_file.size < SMALL_FILE:
            by_partition.setdefault(one.partition, []).append(one.base_file.size)
    return [size for sizes in by_partition.values() if len(sizes) > 1 for size in sizes]


class PendingInstants:
    """The last instant of each kind, and what is pending."""

    def __init__(self, table: TableView) -> None:
        self._last: dict[str, Instant] = {}
        self.writes_since_compaction = 0
        """The number of completed writes since the last compaction."""
        self.pending: list[PendingInstant] = []
        """What has not completed."""
        for instant, kind in kinds_of(table):
            if not instant.is_completed:
                self.pending.append(_pending(instant, table.properties))
                continue
            self._last[kind] = instant
            if kind == "compaction":
                self.writes_since_compaction = 0
            elif kind == "write":
                self.writes_since_compaction += 1

    def last(self, kind: str) -> Instant | None:
        """Returns the last completed instant of a kind: `write`, `compaction`, `clustering`, or an action of Hudi."""
        return self._last.get(kind)


def _pending(instant: Instant, properties: Mapping[str, str]) -> PendingInstant:
    age = age_of(instant.requested_time, properties)
    is_old = age is not None and age > STALE_SECONDS
    is_plan = instant.action in PLANS and instant.state.upper() == "REQUESTED"
    return PendingInstant(instant.requested_time, instant.action, instant.state, age, is_old and not is_plan)


def _metadata(table: TableView, metadata: TableView | str) -> MetadataHealth:
    partitions = sorted(one for one in table.properties.get("hoodie.table.metadata.partitions", "").split(",") if one)
    lines = table.snapshot(columns=[]).explain().splitlines()
    listing = next((line.split(None, 1)[1] for line in lines if line.strip().startswith("listing ")), "unknown")
    is_used = listing.startswith("metadata table")
    if isinstance(metadata, str):
        return MetadataHealth(partitions, is_used, listing, 0, 0, 0, metadata)
    slices = metadata.file_slices()
    logs = [file.size for one in slices for file in one.log_files]
    bases = [one.base_file.size for one in slices if one.base_file]
    return MetadataHealth(partitions, is_used, listing, sum(bases), len(logs), sum(logs))


def _stale(pending: Iterable[PendingInstant]) -> list[str]:
    return [
        f"{one.action} {one.instant} has been pending for {(one.age_seconds or 0) / 3600:,.1f} hours: "
        "if its writer is dead, the next write, or rollback, undoes it"
        for one in pending
        if one.is_stale
    ]


def _unused(metadata: MetadataHealth | None) -> list[str]:
    if metadata is None or (metadata.is_used and metadata.problem is None):
        return []
    reason = metadata.problem or f"files are listed from {metadata.listing}"
    return [f"the metadata table is not used: {reason}; build_metadata(rebuild=True) builds it again"]
