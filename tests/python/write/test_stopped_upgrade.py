"""An upgrade to version 10, or a downgrade from it, that is killed at a change of a file: the table is of one version
or the other, is read and written as before, and the step can be taken again."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mortice
from support.tables.written import CHANGED, FIRST, NO_METADATA, NO_SMALL_FILES, both, new_table, rows

SOURCE = Path(__file__).parents[2] / "support" / "kills.c"
STEP = """
import sys
import mortice

table, to = mortice.Table(sys.argv[1]), int(sys.argv[2])
(table.upgrade if table.version < to else table.downgrade)(to)
"""
NEW = rows(("z", "x", 1, 1.0))
ALL_LOGS = {"hoodie.compact.inline.max.delta.commits": "1"}
ONE_VERSION = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
MOST_KILLS = 3

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="calls of the C library are seen on Linux, with a C compiler",
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    library = tmp_path_factory.mktemp("kills") / "kills.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def step(library, table, to, at, log):
    env = {**os.environ, "LD_PRELOAD": str(library), "KILL_BELOW": str(table), "KILL_AT": str(at), "KILL_LOG": str(log)}
    return subprocess.run([sys.executable, "-W", "ignore", "-c", STEP, table, str(to)], env=env, check=False).returncode


def chosen(changes):
    """The numbers of changes: all of the table's properties, and some of the others."""
    properties = {at for at, line in enumerate(changes, 1) if "metadata" not in line and "properties" in line}
    others = range(1, len(changes) + 1)
    return sorted(properties | set(others[:: max(1, len(others) // MOST_KILLS)]))


def check_is_sound(path, expected, options):
    """The rows are those expected, and a write of one more does what it should."""
    assert both(mortice.Table(path)) == expected
    mortice.Table(path).upsert(NEW, options)
    table = mortice.Table(path)
    assert len(both(table)) == len(expected) + 1
    # The next step or repair deletes what a stopped writer has not finished.
    assert {found.kind for found in table.verify(keys=True).findings} <= {"temporary_file"}


@pytest.mark.parametrize(("version", "to"), [(9, 10), (10, 9)])
@pytest.mark.parametrize(
    "metadata", [pytest.param(True, id="metadata", marks=pytest.mark.slow), pytest.param(False, id="plain")]
)
def test_it_is_taken_again(tmp_path, library, version, to, metadata):
    options = NO_SMALL_FILES | ({} if metadata else NO_METADATA)
    table = new_table(tmp_path / "origin", version)
    table.upsert(FIRST, options)
    table.upsert(CHANGED, options)
    table.delete(rows(("b", "x", 9, 2.0)), options)
    if version == 10:
        table.compact(options | ALL_LOGS)
        table.clean(options | ONE_VERSION)
    expected, copy, log = both(table), tmp_path / "copy", tmp_path / "log"
    shutil.copytree(table.uri, copy)
    assert step(library, copy, to, 0, log) == 0
    assert both(mortice.Table(copy)) == expected
    for at in chosen(log.read_text(encoding="utf-8").splitlines()):
        shutil.rmtree(copy)
        shutil.copytree(table.uri, copy)
        assert step(library, copy, to, at, log) == -signal.SIGKILL
        assert mortice.Table(copy).version in {version, to}
        shutil.copytree(copy, tmp_path / "written", dirs_exist_ok=False)
        check_is_sound(tmp_path / "written", expected, options)
        shutil.rmtree(tmp_path / "written")
        assert step(library, copy, to, 0, log) == 0
        assert mortice.Table(copy).version == to
        check_is_sound(copy, expected, options)
