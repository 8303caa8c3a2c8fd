"""What pictures of a table show: its file groups and its instants."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from mortice.display.charts import LaidOutGroup, TimedInstant
from mortice.insight.health import kind_of
from mortice.insight.instant_age import moment_of
from mortice.insight.table_view import TableView
from mortice.values.file_slice import FileSlice

__all__ = ["laid_out", "timed"]

MOST_ID = 8
"""Characters of the id of a file group in a label."""


def laid_out(slices: Iterable[FileSlice], most: int) -> list[LaidOutGroup]:
    """Returns the file groups with the most bytes of logs first, then the largest."""
    groups = [
        LaidOutGroup(
            f"{one.partition}/{one.file_id[:MOST_ID]}" if one.partition else one.file_id[:MOST_ID],
            one.base_file.size if one.base_file else 0,
            sum(log.size for log in one.log_files),
            len(one.log_files),
        )
        for one in slices
    ]
    return sorted(groups, key=lambda one: (-one.log_bytes, -one.base_bytes, one.label))[:most]


def timed(table: TableView, most: int) -> list[TimedInstant]:
    """Returns the latest instants of the active timeline that have a time."""
    found = []
    for instant in list(table.timeline.active)[-most:]:
        begin = moment_of(instant.requested_time, table.properties)
        if begin is None:
            continue
        end: dt.datetime | None = None
        if instant.completion_time is not None:
            end = moment_of(instant.completion_time, table.properties)
        kind = kind_of(instant, table) if instant.is_completed else instant.action
        action = instant.action if kind == "write" else kind
        found.append(TimedInstant(instant.requested_time, action, begin, end, instant.is_completed))
    return found
