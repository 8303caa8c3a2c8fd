"""The instants of a table: what they are, what they have written, and how long ago they were."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mortice._mortice import Instant
from mortice.insight.table_view import TableView
from mortice.values.instants import TIMELINE_ZONE

__all__ = ["COMMITS", "age_of", "commit_row", "commits_of", "kinds_of", "moment_of"]

SECONDS_DIGITS = 14
MILLIS_DIGITS = 17
COMMITS = pa.schema(
    [
        ("instant", pa.string()),
        ("completion_time", pa.string()),
        ("action", pa.string()),
        ("operation", pa.string()),
        ("inserts", pa.int64()),
        ("updates", pa.int64()),
        ("deletes", pa.int64()),
        ("files", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_SUMS = {"inserts": "numInserts", "updates": "numUpdateWrites", "deletes": "numDeletes", "bytes": "totalWriteBytes"}


def commits_of(table: TableView) -> pa.Table:
    """Returns the completed writes, compactions and clusterings on the active timeline, the newest first.

    Args:
        table: The table.
    """
    instants = [one for one in table.timeline.active.completed if one.action in _WRITES]
    return pa.Table.from_pylist([commit_row(table, instant) for instant in reversed(instants)], COMMITS)


def commit_row(table: TableView, instant: Instant) -> dict[str, Any]:
    """Returns what a completed instant has written, by the names of `COMMITS`."""
    metadata = table.timeline.metadata(instant) or {}
    files = [one for some in (metadata.get("partitionToWriteStats") or {}).values() for one in some]
    return {
        "instant": instant.requested_time,
        "completion_time": instant.completion_time,
        "action": instant.action,
        "operation": metadata.get("operationType"),
        "files": len(files),
        **{name: sum(int(one.get(field) or 0) for one in files) for name, field in _SUMS.items()},
    }


def kinds_of(table: TableView) -> list[tuple[Instant, str]]:
    """Returns the instants of the active timeline with what they are: `write`, `compaction`, `clustering`, or Hudi's
    name of another action; pending ones with their action.
    """
    return list(zip(table.timeline.active, table._native.instant_kinds(), strict=True))  # noqa: SLF001


def moment_of(instant: str, properties: Mapping[str, str]) -> dt.datetime | None:
    """Returns the time of an instant, which is in the zone of the timeline. None if it is no time.

    >>> moment_of("20240101120000500", {"hoodie.table.timeline.timezone": "UTC"}).isoformat()
    '2024-01-01T12:00:00.500000+00:00'
    """
    digits = instant[:MILLIS_DIGITS].ljust(MILLIS_DIGITS, "0") if len(instant) >= SECONDS_DIGITS else ""
    if not digits.isdecimal() or not digits.isascii():
        return None
    try:
        moment = dt.datetime.strptime(digits + "000+0000", "%Y%m%d%H%M%S%f%z")
    except ValueError:
        return None
    is_utc = properties.get(TIMELINE_ZONE, "LOCAL").upper() == "UTC"
    return (
        moment if is_utc else moment.replace(tzinfo=None).astimezone()
    )  # of the machine that wrote it, as of this one


def age_of(instant: str, properties: Mapping[str, str], now: dt.datetime | None = None) -> float | None:
    """Returns the seconds since an instant. None if it is no time.

    >>> import datetime as dt
    >>> now = dt.datetime(2024, 1, 1, 12, 0, 1, tzinfo=dt.timezone.utc)
    >>> age_of("20240101120000500", {"hoodie.table.timeline.timezone": "UTC"}, now), age_of("001", {})
    (0.5, None)
    """
    moment = moment_of(instant, properties)
    return None if moment is None else ((now or dt.datetime.now(dt.timezone.utc)) - moment).total_seconds()
