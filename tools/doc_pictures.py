"""Makes the pictures of docs/operations.md and docs/command-line.md: plots, a report and a terminal of a small table.

    python tools/doc_pictures.py

It needs matplotlib and an installed Chromium, which draws the report and the terminal.
"""

from __future__ import annotations

import fcntl
import html
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

import mortice

DOCS = Path(__file__).parents[1] / "docs"
CITIES = ["bergen", "lima", "osaka", "oslo", "pune", "quito", "rome", "turin"]
COMMITS = 14
COLUMNS, LINES = 80, 40
COLOURS = {"31": "#cf222e", "32": "#1a7f37", "33": "#9a6700", "1": "font-weight:bold", "2": "opacity:.7"}
COMMANDS = [["health", "orders"], ["history", "orders", "k0001"], ["count", "orders", "--filter", "city = 3"]]


def shop(folder: Path) -> mortice.Table:
    """Returns a table with logs of different lengths, a compaction that is pending, and a clean."""
    rows = [{"id": f"k{at:04}", "city": CITIES[at % 8], "price": at * 0.5, "ts": 0} for at in range(4_000)]
    table = mortice.create_table(
        folder / "orders", data=rows, name="orders", record_key="id", partition_by="city", ordering="ts"
    )
    for ts in range(1, COMMITS):
        changed = [one | {"price": one["price"] + ts, "ts": ts} for one in rows if CITIES.index(one["city"]) >= ts // 2]
        table.upsert(changed[:: 2 + ts % 3])
        if ts == COMMITS // 2:
            table.compact()
    table.clean({"hoodie.clean.commits.retained": 2})
    table.compact(run=False)
    table.upsert([rows[1] | {"price": 9.0, "ts": 1}])
    return table


def plots(table: mortice.Table) -> None:
    """Draws the layout and the timeline into one picture."""
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(9, 6), layout="constrained", height_ratios=[2, 1])
    table.plot.layout(ax=above)
    table.plot.timeline(ax=below)
    figure.savefig(DOCS / "plots.png", dpi=100)


def terminal(folder: Path) -> str:
    """Returns a page of HTML with what commands print at a terminal of 80 columns."""
    lines = []
    for command in COMMANDS:
        printed = html.escape(at_a_terminal(["mortice", *command], folder), quote=False)
        lines.append(f"<b>$ mortice {html.escape(shlex.join(command), quote=False)}</b>\n{coloured(printed)}")
    style = "background:#ffffff;color:#24292f;font:14px 'DejaVu Sans Mono',monospace;margin:0;padding:16px"
    return f"<meta charset='utf-8'><body style='margin:0'><pre style=\"{style}\">{chr(10).join(lines)}</pre>"


def at_a_terminal(command: list[str], folder: Path) -> str:
    """Returns what a command prints in a folder, if its output is a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONWARNINGS": "ignore"}
    run = [sys.executable, "-m", *command]
    with subprocess.Popen(run, cwd=folder, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        found = b""
        try:
            while part := os.read(ours, 65_536):
                found += part
        except OSError:  # Linux's answer to the end of the program.
            pass
    return found.decode().replace("\r\n", "\n")


def coloured(text: str) -> str:
    """Returns text with elements of HTML in place of the sequences of a terminal."""

    def span(match: re.Match[str]) -> str:
        styles = [COLOURS.get(one, "") for one in match[1].split(";") if one not in {"", "0"}]
        css = ";".join(one if ":" in one else f"color:{one}" for one in styles if one)
        return f"<span style='{css}'>" if css else "</span>"

    return re.sub("\x1b\\[([\\d;]*)m", span, re.sub("\r|\x1b\\[[\\d;?]*[A-KSTlh]", "", text))


def picture(page: str, name: str, size: str) -> None:
    """Has Chromium draw a page."""
    chromium = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_text(page, encoding="utf-8")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}"]
        flags += [f"--user-data-dir={folder}/profile", f"--screenshot={DOCS / name}"]
        subprocess.run([chromium, *flags, path.as_uri()], check=True, capture_output=True)


def main() -> None:
    """Makes all pictures."""
    with tempfile.TemporaryDirectory() as name:
        table = shop(Path(name))
        plots(table)
        picture(table.report().replace(name, "/lake"), "report.png", "1020,1220")
        picture(terminal(Path(name)), "terminal.png", "740,865")


if __name__ == "__main__":
    main()
