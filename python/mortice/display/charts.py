"""Charts as SVG, for pages that load nothing: the layout of a table, and its timeline."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from mortice.display.markup import Markup, byte_size, tag

__all__ = ["COLORS", "LaidOutGroup", "TimedInstant", "color_of", "layout_chart", "timeline_chart"]

COLORS = {
    "deltacommit": "#2f6fb0",
    "commit": "#5fa3e0",
    "compaction": "#2e8b57",
    "logcompaction": "#7aa93c",
    "replacecommit": "#8a5fb4",
    "clustering": "#8a5fb4",
    "clean": "#c98a1b",
    "rollback": "#c0392b",
    "restore": "#c0392b",
    "savepoint": "#4f5b66",
}
BASE_COLOR, LOG_COLOR = "#2f6fb0", "#e07b39"
OTHER_COLOR = "#7f8c8d"
LABELS, WIDTH, ROW = 250, 900, 20
BAR = 13
LEAST_BAR = 3.0
"""Pixels that a bar has at least, so that a short one is seen."""
MOST_LABEL = 36
NARROWEST = 760
"""Pixels of a chart, at least."""


@dataclass(frozen=True)
class LaidOutGroup:
    """A file group of a layout."""

    label: str
    """Its partition and the beginning of its id."""
    base_bytes: int
    """The size of its base file."""
    log_bytes: int
    """The size of its log files."""
    log_files: int
    """Their number."""


@dataclass(frozen=True)
class TimedInstant:
    """An instant with its times."""

    label: str
    """The requested time."""
    action: str
    """What it is: an action, or `compaction`, `clustering`."""
    begin: dt.datetime
    """When it was requested."""
    end: dt.datetime | None
    """When it completed; None if it has not, or the timeline does not say."""
    is_completed: bool
    """False if it is pending."""


def color_of(action: str) -> str:
    """Returns the color of an action."""
    return COLORS.get(action, OTHER_COLOR)


def size_label(one: LaidOutGroup) -> str:
    """Returns the bytes of a file group as people read them."""
    if not one.log_files:
        return f"{byte_size(one.base_bytes)}, no logs"
    logs = "1 log" if one.log_files == 1 else f"{one.log_files:,} logs"
    return f"{byte_size(one.base_bytes)} + {byte_size(one.log_bytes)} in {logs}"


def layout_chart(groups: Sequence[LaidOutGroup]) -> Markup:
    """Returns bars of bytes in base and log files, one for each file group."""
    most = max((one.base_bytes + one.log_bytes for one in groups), default=0) or 1
    room = WIDTH - LABELS - 210
    lines = []
    for number, one in enumerate(groups):
        top = 30 + number * ROW
        base, log = (_length(size, most, room) for size in (one.base_bytes, one.log_bytes))
        lines += [
            _text(LABELS - 8, top + 11, _short(one.label), anchor="end", hint=one.label),
            tag("rect", x=LABELS, y=top, width=f"{base:.1f}", height=BAR, fill=BASE_COLOR),
            tag("rect", x=f"{LABELS + base:.1f}", y=top, width=f"{log:.1f}", height=BAR, fill=LOG_COLOR),
            _text(LABELS + base + log + 6, top + 11, size_label(one)),
        ]
    return _chart(
        lines, 40 + len(groups) * ROW, {"base files": BASE_COLOR, "log files": LOG_COLOR}, "Bytes by file group"
    )


def timeline_chart(instants: Sequence[TimedInstant]) -> Markup:
    """Returns a line for each action, with a mark from the request to the completion of each instant."""
    actions = list(dict.fromkeys(one.action for one in instants))
    moments = [moment for one in instants for moment in (one.begin, one.end) if moment is not None]
    first, last = (min(moments), max(moments)) if moments else (None, None)
    lines = []
    for number, action in enumerate(actions):
        top = 30 + number * ROW
        lines.append(_text(LABELS - 120, top + 11, action, anchor="end"))
        lines.append(tag("line", x1=LABELS - 110, x2=WIDTH - 10, y1=top + 6.5, y2=top + 6.5, stroke="#8884"))
    for one in instants:
        if first is None or last is None:
            break
        left, right = (_position(moment, first, last) for moment in (one.begin, one.end or one.begin))
        mark = tag("title", f"{one.label} {one.action}{'' if one.is_completed else ' (pending)'}")
        color = color_of(one.action)
        lines.append(
            tag(
                "rect",
                mark,
                x=f"{left:.1f}",
                y=30 + actions.index(one.action) * ROW,
                width=f"{max(LEAST_BAR, right - left):.1f}",
                height=BAR,
                fill=color if one.is_completed else "none",
                stroke=color,
            )
        )
    bottom = 42 + len(actions) * ROW
    if first is not None and last is not None:
        lines.append(_text(LABELS - 110, bottom, f"{first:%Y-%m-%d %H:%M:%S}"))
        lines.append(_text(WIDTH - 10, bottom, f"{last:%Y-%m-%d %H:%M:%S}", anchor="end"))
    return _chart(lines, bottom + 10, {}, "Timeline; hollow marks are pending")


def _position(moment: dt.datetime, first: dt.datetime, last: dt.datetime) -> float:
    left, right = LABELS - 110, WIDTH - 14
    share = (moment - first) / (last - first) if last > first else 0.5
    return left + share * (right - left)


def _length(size: int, most: int, room: int) -> float:
    return max(LEAST_BAR, size / most * room) if size else 0.0


def _short(text: str) -> str:
    return text if len(text) <= MOST_LABEL else "…" + text[1 - MOST_LABEL :]


def _text(x: float, y: float, text: str, anchor: str = "start", hint: str | None = None) -> Markup:
    hints = () if hint is None else (tag("title", hint),)
    return tag("text", text, *hints, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, fill="currentColor")


def _chart(lines: Sequence[Markup], height: int, legend: dict[str, str], title: str) -> Markup:
    keys = []
    for number, (name, color) in enumerate(legend.items()):
        keys.append(tag("rect", x=LABELS + number * 100, y=6, width=10, height=10, fill=color))
        keys.append(_text(LABELS + 15 + number * 100, 15, name))
    # On a phone it is scrolled rather than made so small that its text cannot be read.
    style = f"font:12px system-ui,sans-serif;max-width:100%;min-width:{NARROWEST}px;height:auto"
    heading = tag("text", title, x=0, y=15, fill="currentColor", font_weight="bold")
    return tag(
        "svg",
        heading,
        *keys,
        *lines,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
        role="img",
        aria_label=title,
        style=style,
    )
