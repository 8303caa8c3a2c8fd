"""`table.plot`: pictures of a table with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortice.display.plot import plot_layout, plot_timeline
from mortice.insight.pictures import laid_out, timed
from mortice.insight.table_view import TableView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TablePlots"]


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

    def timeline(self, ax: Axes | None = None, *, most: int = 300) -> Axes:
        """Plots the latest instants of the active timeline, by action, from request to completion.

        Args:
            ax: Axes to plot on. Default: those of a new figure.
            most: The number of instants.
        """
        return plot_timeline(timed(self._table, most), ax)
