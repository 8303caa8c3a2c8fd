"""The commits of a table as rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from mortice.insight.table_view import TableView
from mortice.values.timeline import Instant

__all__ = ["COMMITS", "commit_row", "commits_of"]

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
