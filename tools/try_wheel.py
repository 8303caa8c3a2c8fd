"""Serves a wheel from an index on this machine, installs it by name into fresh environments, and uses it.

    python tools/try_wheel.py dist/mortice-0.1.0-….whl [PYTHON…]

Without an interpreter it is that which runs this. Of the index that pip is set up for only the dependencies come: what
has the name mortice there is not asked for.
"""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path

TABLE = Path(__file__).parents[1] / "tests" / "data" / "h11_event_time_deletes" / "table.zip"
USE = """
import platform, sys, mortice
table = mortice.Table(sys.argv[1])
assert table.count(filters="fare > 88.2") == 3
row = table.head(1).to_pylist()[0] | {"trip_id": "new", "fare": 99.5}
commit = table.upsert([row])
assert (commit.inserts, table.count("fare > 88.2")) == (1, 4), commit
print(f"Python {platform.python_version()}, mortice {mortice.__version__}: {commit}")
"""
REQUIRES = """
from importlib.metadata import requires
print(*[one for one in requires("mortice") if ";" not in one], sep="\\n")
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


def try_with(python: str, version: str, index: str, folder: Path) -> None:
    """Installs the wheel for an interpreter, reads and upserts a table.

    Args:
        python: The interpreter.
        version: The version of the wheel.
        index: The address of the index.
        folder: An empty folder, for the environment and the table.
    """
    run = functools.partial(subprocess.run, check=True)
    run([python, "-m", "venv", folder / "venv"])
    ours = folder / "venv" / "bin" / "python"
    install = [ours, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*install, "--no-deps", "--only-binary", ":all:", "--index-url", index, f"mortice=={version}"])
    needed = subprocess.check_output([ours, "-c", REQUIRES], text=True).splitlines()
    run([*install, "--only-binary", ":all:", *needed])
    run([ours, "-m", "pip", "check"], stdout=subprocess.DEVNULL)
    zipfile.ZipFile(TABLE).extractall(folder / "trips")
    run([ours, "-W", "error", "-c", USE, folder / "trips"], cwd=folder)
    run([folder / "venv" / "bin" / "mortice", "count", folder / "trips"], cwd=folder, stdout=subprocess.DEVNULL)


def main(wheel: str, *pythons: str) -> None:
    """Tries the wheel with each interpreter, and stops at the first that it does not work with."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "simple" / "mortice").mkdir(parents=True)
        shutil.copy(wheel, root / "simple" / "mortice")
        handler = functools.partial(Quiet, directory=name)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            for number, python in enumerate(pythons or [sys.executable]):
                folder = root / str(number)
                folder.mkdir()
                index = f"http://127.0.0.1:{server.server_port}/simple"
                try_with(python, Path(wheel).name.split("-")[1], index, folder)
                shutil.rmtree(folder)
            server.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
