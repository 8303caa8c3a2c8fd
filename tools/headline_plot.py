"""Draws the figure of the first pages, and writes its numbers into README.md and docs/performance.md.

    python tools/headline_plot.py

It is CPU time of others divided by that of mortice, from the newest record of the benchmarks that has these queries.
The medians are those of warm rounds at two cores in benches/record, of tables written by Hudi 1.2.0.
"""

from __future__ import annotations

import csv
import re
import statistics
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = {
    "headline.svg": {"text": "#222222", "background": "#ffffff"},
    "headline-dark.svg": {"text": "#e0e0e0", "background": "#1e2129"},
}
"""The drawings in docs, for light and for dark pages."""
QUERIES = {
    ("read", "all"): "all columns",
    ("read", "5"): "5 columns",
    ("read", "1"): "1 column",
    ("count", "all"): "count",
    ("aggregate", "all"): "6 aggregates",
    ("lookup", "all"): "lookup of one key",
}
RATIOS = {
    "Hudi 1.2.0 on Spark ÷ mortice.spark.read": ("Hudi 1.2.0 on Spark", "mortice mapInArrow", "#d65f5f"),
    "hudi-rs {version} ÷ mortice, without Spark": ("hudi-rs", "mortice API", "#4c8bf5"),
}
FEW_DIGITS = 20
"""Ratios from here on have no decimal."""
LEFT, BAR, GROUP, WIDTH, TOP = 150, 16, 46, 600, 92
FIGURE = re.compile(r"(<!-- figure: tools/headline_plot.py writes it -->\n).*?(\n<!-- end -->)", re.DOTALL)


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


def ratios(record: Path) -> dict[str, dict[str, float]]:
    """Returns by contender and query how many times the CPU time of mortice it takes."""
    times = medians(record)
    versions = re.search(r"hudi-rs,([\d.]+),", record.read_text(encoding="utf-8"))
    found = {}
    for name, (theirs, ours, _) in RATIOS.items():
        label = name.format(version=versions[1] if versions else "")
        found[label] = {text: times[(*query, theirs)] / times[(*query, ours)] for query, text in QUERIES.items()}
    return found


def shown(ratio: float) -> str:
    """Returns a ratio with two or three digits."""
    return f"{ratio:.1f}" if ratio < FEW_DIGITS else f"{ratio:.0f}"


def drawing(record: Path, colours: dict[str, str]) -> str:
    """Returns the SVG."""
    by_name = ratios(record)
    scale = (WIDTH - LEFT - 50) / max(max(values.values()) for values in by_name.values())
    height = TOP + GROUP * len(QUERIES) + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        f'<g font-family="sans-serif" font-size="16" fill="{colours["text"]}">',
        f'<rect width="{WIDTH}" height="{height}" fill="{colours["background"]}"/>',
        f'<text x="10" y="22">CPU time of others ÷ that of mortice ({record.stem}, two cores)</text>',
    ]
    bars = [colour for *_, colour in RATIOS.values()]
    for number, (name, colour) in enumerate(zip(by_name, bars, strict=True)):
        y = 36 + 24 * number
        parts.append(f'<rect x="10" y="{y}" width="14" height="14" fill="{colour}"/>')
        parts.append(f'<text x="32" y="{y + 13}">{escape(name)}</text>')
    for row, query in enumerate(QUERIES.values()):
        y = TOP + GROUP * row
        parts.append(f'<text x="{LEFT - 10}" y="{y + BAR + 6}" text-anchor="end">{escape(query)}</text>')
        for number, (values, colour) in enumerate(zip(by_name.values(), bars, strict=True)):
            top, length = y + number * (BAR + 2), values[query] * scale
            parts.append(f'<rect x="{LEFT}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>')
            parts.append(f'<text x="{LEFT + length + 5:.1f}" y="{top + BAR - 2}">{shown(values[query])}</text>')
    return "\n".join([*parts, "</g>", "</svg>", ""])


def table(record: Path) -> str:
    """Returns the numbers of the figure as a Markdown table."""
    by_name = ratios(record)
    lines = [f"| record of {record.stem} | {' | '.join(by_name)} |", f"|{'---|' * 3}"]
    lines += [
        f"| {query} | {' | '.join(shown(one[query]) for one in by_name.values())} |" for query in QUERIES.values()
    ]
    return "\n".join(lines)


def sentence(record: Path) -> str:
    """Returns what the figure shows, in words."""
    spark, without = ([shown(one) for one in sorted(values.values())] for values in ratios(record).values())
    version = next(name for name in ratios(record) if name.startswith("hudi-rs")).split(" ÷ ")[0]
    return (
        "2,000,000 rows in 16 file slices, a tenth of them updated by 5 commits: Hudi 1.2 on Spark takes "
        f"{spark[0]} to {spark[-1]} times the\nCPU time of `mortice.spark.read`, and {version} {without[0]} to "
        f"{without[-1]} times that of `mortice.Table`."
    )


def pages(record: Path) -> dict[Path, str]:
    """Returns what the figure and the pages that show its numbers are to contain."""
    found = {ROOT / "docs" / name: drawing(record, colours) for name, colours in TARGETS.items()}
    for name, text in {
        "README.md": sentence(record),
        "docs/index.md": sentence(record),
        "docs/performance.md": table(record),
    }.items():
        page = (ROOT / name).read_text(encoding="utf-8")
        found[ROOT / name] = FIGURE.sub(lambda match, text=text: f"{match[1]}{text}{match[2]}", page)
    return found


if __name__ == "__main__":
    for path, text in pages(newest_record()).items():
        path.write_text(text, encoding="utf-8")
