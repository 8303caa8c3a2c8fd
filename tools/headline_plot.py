"""Draws docs/headline.svg: CPU time of others divided by that of mortice, from the newest record of the benchmarks.

    python tools/headline_plot.py

The medians are those of warm rounds at two cores in benches/record, of tables written by Hudi 1.2.0.
"""

from __future__ import annotations

import csv
import statistics
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "headline.svg"
QUERIES = {
    ("read", "all"): "all columns",
    ("read", "5"): "5 columns",
    ("read", "1"): "1 column",
    ("count", "all"): "count",
    ("aggregate", "all"): "6 aggregates",
    ("lookup", "all"): "lookup of one key",
}
RATIOS = {
    "Hudi 1.2.0 on Spark ÷ mortice on Spark": ("Hudi 1.2.0 on Spark", "mortice mapInArrow", "#c0504d"),
    "hudi-rs ÷ mortice, without Spark": ("hudi-rs", "mortice API", "#4f81bd"),
}
LEFT, BAR, GROUP, WIDTH, TOP = 150, 14, 44, 760, 64


def newest_record() -> Path:
    """Returns the newest record of any machine that has these queries; records are named by date."""
    records = (ROOT / "benches" / "record").glob("*/*.csv")
    return max((path for path in records if medians(path)), key=lambda path: path.name)


def medians(record: Path) -> dict[tuple[str, str, str], float]:
    """Returns the median CPU seconds by query, columns and contender."""
    lines = [line for line in record.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    times: dict[tuple[str, str, str], list[float]] = {}
    for row in csv.DictReader(lines):
        is_shown = row["workload"] == "table" and row["table"].endswith("-1.2.0") and row["cores"] == "2"
        if is_shown and row["state"] == "warm" and row["status"] == "ok":
            times.setdefault((row["kind"], row["columns"], row["contender"]), []).append(float(row["cpu_s"]))
    return {key: statistics.median(values) for key, values in times.items()}


def drawing(record: Path) -> str:
    """Returns the SVG."""
    times = medians(record)
    ratios = {
        (query, name): times[(*query, theirs)] / times[(*query, ours)]
        for query in QUERIES
        for name, (theirs, ours, _) in RATIOS.items()
    }
    scale = (WIDTH - LEFT - 60) / max(ratios.values())
    height = TOP + GROUP * len(QUERIES) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        '<g font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="20">CPU time of others ÷ CPU time of mortice ({record.stem}, two cores)</text>',
    ]
    for number, (name, (_, _, colour)) in enumerate(RATIOS.items()):
        x = 10 + 330 * number
        parts.append(f'<rect x="{x}" y="32" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="43">{escape(name)}</text>')
    for row, (query, label) in enumerate(QUERIES.items()):
        y = TOP + GROUP * row
        parts.append(f'<text x="{LEFT - 10}" y="{y + BAR + 5}" text-anchor="end">{escape(label)}</text>')
        for number, (name, (_, _, colour)) in enumerate(RATIOS.items()):
            ratio = ratios[query, name]
            top = y + number * (BAR + 2)
            parts.append(f'<rect x="{LEFT}" y="{top}" width="{ratio * scale:.1f}" height="{BAR}" fill="{colour}"/>')
            parts.append(f'<text x="{LEFT + ratio * scale + 5:.1f}" y="{top + BAR - 2}">{ratio:.1f}</text>')
    return "\n".join([*parts, "</g>", "</svg>", ""])


if __name__ == "__main__":
    TARGET.write_text(drawing(newest_record()), encoding="utf-8")
