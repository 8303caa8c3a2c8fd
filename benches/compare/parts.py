"""One run of one benchmark: {part: (minimum, median)}. A part is (benchmark, case, contender). Times are in ns: per
record for Rust, per call for Python.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def measured(build, bench):
    """Returns the parts of a benchmark; none if the build lacks it."""
    if bench not in build.benches:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "record")
        return (_of_python if bench.endswith(".py") else _of_rust)(build, bench, record)


def _of_rust(build, bench, record):
    _run([*build.commands[bench], "--bench"], build.source, BENCH_RECORD=str(record))
    lines = record.read_text().splitlines() if record.is_file() else []
    rows = [line.split("\t") for line in lines]
    return {(bench, case, name): (float(minimum), float(median)) for _, case, name, minimum, median in rows}


def _of_python(build, bench, record):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    command += ["--benchmark-only", "--benchmark-json", str(record), bench]
    _run(command, build.source, PYTHONPATH=str(build.source / "python"))
    found = json.loads(record.read_text())["benchmarks"]
    parts = {(bench, one["group"], one["name"].removeprefix("test_")): one["stats"] for one in found}
    return {part: (stats["min"] * 1e9, stats["median"] * 1e9) for part, stats in parts.items()}


def _run(command, folder, **variables):
    """Prints the output of the command if it fails."""
    environment = os.environ | variables
    run = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        print(run.stdout)
        run.check_returncode()
