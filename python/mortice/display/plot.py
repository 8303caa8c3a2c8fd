"""Plots with matplotlib, which is imported when something is plotted."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mortice.display.charts import BASE_COLOR, LOG_COLOR, LaidOutGroup, TimedInstant, color_of, size_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mortice._mortice import Block

__all__ = ["plot_blocks", "plot_layout", "plot_timeline"]

MEBIBYTE = 1024 * 1024
INCHES_OF_ROW = 0.3
BAR = 0.7
LEAST_ROWS = 3
"""Rows for which there is room in a plot: a single bar does not fill it."""


def _axes(ax: Axes | None, rows: int) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'mortice[plot]'") from error
    # By pyplot, so that notebooks show the figure.
    _, axes = pyplot.subplots(figsize=(9, max(2.0, 1.2 + INCHES_OF_ROW * rows)), layout="constrained")
    return axes


def plot_layout(groups: Sequence[LaidOutGroup], ax: Axes | None) -> Axes:
    """Plots bytes in base and log files by file group. Returns the axes."""
    axes = _axes(ax, len(groups))
    labels = [_plain(one.label) for one in groups]
    rows = range(len(groups))
    bases = [one.base_bytes / MEBIBYTE for one in groups]
    axes.barh(rows, bases, BAR, color=BASE_COLOR, label="base files")
    logs = axes.barh(rows, [one.log_bytes / MEBIBYTE for one in groups], BAR, bases, color=LOG_COLOR, label="log files")
    axes.bar_label(logs, list(map(size_label, groups)), padding=4, fontsize="small")
    axes.margins(x=0.5)  # for the labels
    axes.set_yticks(rows, labels)
    axes.set_ylim(max(LEAST_ROWS, len(groups)) - 0.5, -0.5)
    axes.set_xlabel("MiB")
    axes.set_title("Bytes by file group")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
    return axes


def plot_timeline(instants: Sequence[TimedInstant], ax: Axes | None) -> Axes:
    """Plots the instants by action, from request to completion. Returns the axes."""
    actions = list(dict.fromkeys(one.action for one in instants))
    axes = _axes(ax, len(actions))
    from matplotlib import dates

    number: Callable[[dt.datetime], float] = dates.date2num
    for one in instants:
        row, color, begin = actions.index(one.action), color_of(one.action), number(one.begin)
        end = begin if one.end is None else number(one.end)
        axes.plot([begin, end], [row, row], color=color, linewidth=6, solid_capstyle="butt")
        axes.plot(begin, row, marker="|", markersize=14, color=color)
        if not one.is_completed:
            axes.plot(begin, row, marker="o", markersize=8, color=color, fillstyle="none")
    # With the date at the end of the axis.
    axes.xaxis.set_major_locator(locator := dates.AutoDateLocator())  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.set_ylim(-0.6, max(1, len(actions)) - 0.4)
    axes.set_yticks(range(len(actions)), actions)
    axes.set_title("Timeline; circles are pending")
    return axes


BLOCK_COLORS = {"DELETE_BLOCK": "#c0392b", "COMMAND_BLOCK": "#8a5fb4", "CORRUPT_BLOCK": "#000000"}


def plot_blocks(blocks: Sequence[Block], name: str, ax: Axes | None) -> Axes:
    """Plots the blocks of a log file over its bytes. Returns the axes."""
    axes = _axes(ax, 2)
    seen = set()
    for block in blocks:
        kind = "CORRUPT_BLOCK" if block.damage is not None else block.type
        label = None if kind in seen else kind
        seen.add(kind)
        axes.barh(
            0,
            block.end - block.offset,
            left=block.offset,
            color=BLOCK_COLORS.get(kind, BASE_COLOR),
            edgecolor="white",
            label=label,
        )
    axes.set_yticks([])
    axes.set_xlabel("bytes")
    axes.set_title(_plain(name), loc="left", fontsize="small")
    if seen:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
    return axes


def _plain(text: str) -> str:
    """Returns text that matplotlib does not read as a formula."""
    return text.replace("$", r"\$")
