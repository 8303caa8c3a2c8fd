"""Operations of file stores, which have no Python API: run by the program of `tests/rust/file_store.rs`."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or Path(__file__).resolve().parents[3] / "target")
SECONDS = 120


def program():
    """Returns the path of the program; None if it was not built."""
    given = os.environ.get("MORTICE_FILE_STORE")
    paths = [Path(given)] if given else [TARGET / "debug" / "examples" / "file_store"]
    return next((path for path in paths if path.is_file()), None)


def running(operation, uri, options, *arguments):
    """Starts an operation."""
    if program() is None:
        pytest.skip("the program file_store was not built: cargo build -p mortice --example file_store")
    strings = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    command = [str(program()), operation, uri, json.dumps(strings), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_result(process):
    """Waits for an operation and returns its result."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode == 0, err
    return json.loads(out)


@dataclass(frozen=True)
class FileStore:
    """A root directory in a store."""

    uri: str
    options: dict

    def start(self, operation, *arguments):
        return running(operation, self.uri, self.options, *arguments)

    def run(self, operation, *arguments):
        return wait_for_result(self.start(operation, *arguments))

    def get(self, path):
        """Returns the content of a file; None if it does not exist."""
        found = self.run("get", path)
        if found.get("error") == "MORTICE-NOT-FOUND":
            return None
        return found["text"]
