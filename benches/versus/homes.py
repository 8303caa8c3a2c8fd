"""The environments of contenders: Python environments and jars, all of them in the repository and created by `make`."""

import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BENCHES = REPOSITORY / "benches"
CACHE = Path(os.environ.get("VERSUS_CACHE", REPOSITORY / ".versus"))
"""Directory of prepared tables."""

ENVIRONMENTS = {"main": ".venv", "spark35": ".venv-spark35", "rivals": ".venv-versus"}
"""main: mortice with Spark 4. spark35: Spark 3.5, for Hudi's bundles. rivals: other packages of PyPI."""

RELEASES = ("1.2.0", "0.15.0")
"""Releases of Hudi whose Spark bundles write the tables: table versions 9 and 6."""

NEXT = "1.3.0-SNAPSHOT"
NEXT_JAR = os.environ.get("HUDI_13_JAR")
"""The release that writes tables of version 10, which is built from source (CONTRIBUTING.md); without its bundle there
are no benchmarks of such tables."""


def python_of(home):
    """Returns the interpreter of a home; this one for "here"."""
    return sys.executable if home == "here" else str(REPOSITORY / ENVIRONMENTS[home] / "bin" / "python")


def bundle(release):
    """Returns Hudi's Spark bundle of a release, downloaded with Maven if necessary."""
    if release == NEXT and NEXT_JAR:
        return Path(NEXT_JAR).resolve(strict=True)
    return _fetch_hudi().fetch(release)


def local_files():
    """Returns the jar of a Hadoop file system that sets permissions without a `chmod` process for each file, which
    takes most of the time of writing tables with many files."""
    return _fetch_hudi().fetch_artifact("com.globalmentor", "hadoop-bare-naked-local-fs", "0.1.0")


def _fetch_hudi():
    if str(REPOSITORY / "tests") not in sys.path:
        sys.path.insert(0, str(REPOSITORY / "tests"))
    from support.hudi import fetch_hudi

    return fetch_hudi


def environment():
    """Returns the environment variables of processes in any home: mortice, this package, and `find_java` of the
    tests."""
    path = os.pathsep.join([str(BENCHES), str(REPOSITORY / "python"), str(REPOSITORY / "tests")])
    return os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "TZ": "UTC"}
