"""The batches of streams that a table's commits record, as Hudi's streaming sink records them.

A commit that a batch has written has `{"identifier": "batch id"}` in its metadata, as JSON, under the key of
`HoodieStreamingSink`; mortice adds the id of Spark's query, which Hudi does not read. Only the writer's own identifier
is recorded: a copy of another one from an older commit would be out of date beside a concurrent writer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mortice.errors import InvalidTableError
from mortice.table import Table
from mortice.values.timeline import Instant, Timeline

__all__ = ["BatchCheckpoint", "last_checkpoint"]

CHECKPOINT_KEY = "_hudi_streaming_sink_checkpoint"
"""`HoodieStreamingSink.SINK_CHECKPOINT_KEY`."""
QUERY_KEY = "_mortice_streaming_query"
"""The id of the query, which its checkpoint folder keeps over restarts; also a map by identifier."""
WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
"""The actions of writes. Compaction and clustering may be among them; they record no batch."""


@dataclass(frozen=True)
class BatchCheckpoint:
    """The last batch of a stream that is in a table."""

    batch: int
    """Spark's number of the batch."""
    query: str | None
    """Spark's id of the query; None if Hudi wrote the batch, or Spark Connect, which does not give the id."""
    instant: str
    """The requested time of the commit."""
    operation: str
    """The commit's operation, such as `UPSERT`; empty if it records none."""

    @staticmethod
    def metadata(identifier: str, batch: int, query: str | None) -> dict[str, str]:
        """Returns what the commit of a batch records, as options of the write."""
        recorded = {CHECKPOINT_KEY: {identifier: str(batch)}}
        if query is not None:
            recorded[QUERY_KEY] = {identifier: query}
        return {key: json.dumps(value, separators=(",", ":")) for key, value in recorded.items()}


def last_checkpoint(table: Table, identifier: str, *, is_archive_read: bool) -> BatchCheckpoint | None:
    """Returns the last batch of a stream in a table (`CommitUtils.getValidCheckpointForCurrentWriter`).

    Args:
        table: The table, as it is now.
        identifier: The stream.
        is_archive_read: True also looks in archived commits, if there is none in active ones. Hudi does not.

    Raises `InvalidTableError` for a checkpoint that is not Hudi's map.
    """
    parts = [table.timeline.active, *([table.timeline.archived] if is_archive_read else [])]
    for part in parts:
        for instant, metadata in _newest_first(part):
            extra = metadata.get("extraMetadata") or {}
            batch = _entry(table, instant, extra.get(CHECKPOINT_KEY), identifier)
            if batch is not None:
                query = _entry(table, instant, extra.get(QUERY_KEY), identifier)
                number, operation = _number(table, instant, batch), str(metadata.get("operationType") or "")
                return BatchCheckpoint(number, query, instant.requested_time, operation)
    return None


def _newest_first(timeline: Timeline) -> Iterator[tuple[Instant, dict[str, Any]]]:
    for instant in sorted(timeline, key=lambda one: one.requested_time, reverse=True):
        if instant.is_completed and instant.action in WRITES:
            yield instant, timeline.metadata(instant) or {}


def _entry(table: Table, instant: Instant, text: str | None, identifier: str) -> str | None:
    if not text:
        return None
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidTableError(
            f"the checkpoint of a stream is not a JSON map: {text!r}", path=table.uri, instant=instant.requested_time
        )
    value = found.get(identifier)
    return None if value is None else str(value)


def _number(table: Table, instant: Instant, batch: str) -> int:
    try:
        return int(batch)
    except ValueError:
        raise InvalidTableError(
            f"the checkpoint of a stream is not a batch id: {batch!r}", path=table.uri, instant=instant.requested_time
        ) from None
