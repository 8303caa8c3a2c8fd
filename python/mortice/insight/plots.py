"""Pictures of a table: its file groups and its instants. `table.plot` draws them with matplotlib."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mortice._mortice import FileSlice
from mortice.display.charts import LaidOutGroup, TimedInstant
from mortice.display.plot import plot_layout, plot_timeline
from mortice.insight.instants import kinds_of, moment_of
from mortice.insight.table_view import TableView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TablePlots", "laid_out", "timed"]

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
    for instant, kind in kinds_of(table)[-most:]:
        begin = moment_of(instant.requested_time, table.properties)
        if begin is None:
            continue
        end: dt.datetime | None = None
        if instant.completion_time is not None:
            end = moment_of(instant.completion_time, table.properties)
        action = instant.action if kind == "write" else kind
        found.append(TimedInstant(instant.requested_time, action, begin, end, instant.is_completed))
    return found


class TablePlots:
    """Plots of a table. They need matplotlib: `pip install 'mortice[plot]'`.

    table.plot.layout().figure.savefig("layout.png")
    """

    def __init__(self, table: TableView) -> None:
        self._table = table

    def __repr__(self) -> str:
        return "TablePlots: layout(), timeline()"

    def layout(self, ax: Axes | None = None, *, most: int = 30) -> Axes:
        """Plots the bytes in base and log files by file group: where queries have to merge most.

        Args:
            ax: Axes to plot on. Default: those of a new figure.
            most: The number of file groups, those with the most bytes of logs first.
        """
        return plot_layout(laid_out(self._table.file_slices(), most), ax)

    def __call__(self, ax: Axes | None = None, *, most: int = 30) -> Axes:
        """Plots the layout, for `table.plot()`. Arguments are those of `layout`.

        Args:
            ax: Axes to plot on. Default: those of a new figure.
            most: The number of file groups.
        """
        return self.layout(ax, most=most)

    def timeline(self, ax: Axes | None = None, *, most: int = 300) -> Axes:
        """Plots the latest instants of the active timeline, by action, from request to completion.

        Args:
            ax: Axes to plot on. Default: those of a new figure.
            most: The number of instants.
        """
        return plot_timeline(timed(self._table, most), ax)
