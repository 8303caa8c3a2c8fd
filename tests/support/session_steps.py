"""Programs that use a session of Spark of their own, whose master is not that of the tests."""

import json
import os
import subprocess
import sys


def steps_of(script, *arguments, timeout):
    """Runs a script and returns what it has printed: JSON objects of the values of its steps, a line each.

    Args:
        script: The path of the script.
        arguments: What it is called with.
        timeout: How many seconds it may take.
    """
    command = [sys.executable, "-W", "ignore", str(script), *map(str, arguments)]
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=timeout, env={**os.environ, "PYTHONPATH": paths}
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0, done.stderr[-3000:]
    return {step: value for line in lines for step, value in line.items()}
