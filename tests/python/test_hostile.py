"""A few hostile tables, other ones in each run; `make hostile` tries many."""

import os
import pathlib
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).parents[1]


def test_hostile_metadata_reaches_nothing(tmp_path):
    """Neither a panic, a crash or a hang, nor a change outside of the table: tests/hostile."""
    command = [sys.executable, "-W", "ignore", "-m", "hostile", "--seed", str(time.time_ns()), "--kinds", "v9-mor"]
    command += ["--folder", str(tmp_path), "--count", "12"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    environment["PYTHONWARNINGS"] = "ignore"
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=200)
    assert done.returncode == 0, f"{' '.join(command[1:])}\n{done.stdout}\n{done.stderr}"
    cases = [int(line.split(", ")[1].split()[0]) for line in done.stdout.splitlines()]
    assert min(cases) > 0, done.stdout
