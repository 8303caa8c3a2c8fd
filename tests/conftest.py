"""Fixtures of all tests: the bundled tables, extracted."""

import os
import shutil
from collections import Counter

import pytest

from support.cases import unpack
from support.exploring import repeat_commands, seed_item
from support.spark_jvm import START_QUICKLY

# The debug build issues a warning when it is imported. Processes that tests start ignore it.
os.environ.setdefault("PYTHONWARNINGS", "ignore:mortice was built without optimisation:RuntimeWarning")
for name, value in START_QUICKLY.items():
    os.environ.setdefault(name, value)


@pytest.fixture(scope="session")
def table_of(tmp_path_factory):
    """Returns the path of a bundled table by the name of its case. It is extracted once; tests must not change it."""
    extracted = {}

    def path(name):
        if name not in extracted:
            extracted[name] = unpack(name, tmp_path_factory.mktemp(name))
        return extracted[name]

    return path


@pytest.fixture
def copy_of(table_of, tmp_path):
    """Returns a copy of a bundled table, which the test may change."""

    def path(name, folder="table"):
        return shutil.copytree(table_of(name), tmp_path / folder)

    return path


# Files of few tests that take long.
LONG = (
    "test_connect",
    "test_write",
    "test_stream",
    "test_stream_writer",
    "test_write_failures",
    "test_sql",
    "test_sql_tables",
)


def longest_first(items):
    """Sorts the files so that those that are left at the end are short, and processes end at the same time."""
    tests = Counter(item.path for item in items)

    def rank(item):
        on_spark = item.path.parent.name == "spark"
        return (not (on_spark and item.path.stem in LONG), not on_spark, -tests[item.path], str(item.path))

    items.sort(key=rank)


def pytest_collection_modifyitems(items):
    """Skips tests that need servers or take long, unless OBJECT_STORES is set."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        longest_first(items)
    for item in items if not os.environ.get("OBJECT_STORES") else ():
        if item.get_closest_marker("object_stores"):
            item.add_marker(pytest.mark.skip(reason="`make test-object-stores` runs it"))


def pytest_runtest_setup(item):
    seed_item(item)


def pytest_terminal_summary(terminalreporter):
    """Prints the commands that repeat failed property tests with the same examples."""
    failed = [report.nodeid for report in terminalreporter.stats.get("failed", ()) if "property" in report.keywords]
    if failed:
        terminalreporter.section("failed property tests, again with the same examples")
        for command in repeat_commands(failed):
            terminalreporter.write_line(command)
