"""Makes the layer of Lambda that docs/recipes.md describes, and says how large it is and how long a cold start takes.

    python tools/lambda_layer.py WHEEL

The wheel is that of `make wheel`; pyarrow is the one of this Python. Fails if the layer has more than LIMIT bytes, or
the median of the cold starts is more than SECONDS. A cold start is a new process that imports mortice and returns the
rows of a table.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import pyarrow

ROOT = Path(__file__).parents[1]
LIMIT = 250_000_000
SECONDS = 1.5
STARTS = 7
TABLE = ROOT / "tests" / "data" / "h11_event_time_deletes" / "table.zip"
REMOVED = re.compile(r"^rm -rf (.*)$", re.MULTILINE)
READ = """
import sys
sys.path.insert(0, sys.argv[1])
import mortice
rows = mortice.Table(sys.argv[2]).snapshot(filters=[("trip_id", ">=", "")]).to_arrow().to_pylist()
print(len(rows), *sorted(sys.modules))
"""
"""What a function does at its first event, and the modules that it has imported."""


def copy_pyarrow(layer: Path) -> None:
    """Copies pyarrow into a layer, without what the recipe removes.

    Args:
        layer: The folder from which modules are imported.
    """
    (removed,) = REMOVED.findall((ROOT / "docs" / "recipes.md").read_text(encoding="utf-8"))
    ignored = shutil.ignore_patterns(*removed.split(), "__pycache__")
    shutil.copytree(Path(pyarrow.__file__).parent, layer / "pyarrow", ignore=ignored)


def size_of(folder: Path) -> int:
    """Returns the bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def start(layer: Path, table: Path) -> list[str]:
    """Reads a table in a new process, without what else this Python has installed.

    Args:
        layer: The folder from which modules are imported.
        table: The table.

    Returns:
        The number of its rows, and the modules that were imported.
    """
    command = [sys.executable, "-I", "-S", "-W", "ignore", "-c", READ, str(layer), str(table)]
    environment = {"PATH": os.environ.get("PATH", "")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def main(wheel: str) -> int:
    """Makes the layer and prints its figures. Returns 1 if one is above its limit.

    Args:
        wheel: The path of a wheel of mortice.
    """
    with tempfile.TemporaryDirectory() as folder:
        layer, table = Path(folder, "layer"), Path(folder, "table")
        copy_pyarrow(layer)
        of_pyarrow = size_of(layer)
        for archive, target in ((wheel, layer), (TABLE, table)):
            with zipfile.ZipFile(archive) as files:
                files.extractall(target)
        whole = size_of(layer)
        start(layer, table)
        seconds = []
        for _ in range(STARTS):
            begin = time.perf_counter()
            start(layer, table)
            seconds.append(time.perf_counter() - begin)
    median = statistics.median(seconds)
    print(f"layer: {whole / 1e6:.0f} MB of {LIMIT / 1e6:.0f} MB, {of_pyarrow / 1e6:.0f} MB of them pyarrow")
    print(f"cold start: {median:.2f} s of {SECONDS} s (median of {STARTS}; {min(seconds):.2f} to {max(seconds):.2f} s)")
    return int(whole > LIMIT or median > SECONDS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
