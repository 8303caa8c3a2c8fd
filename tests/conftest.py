"""What all tests share: the bundled tables, extracted."""

import os
import shutil

import pytest

from support.cases import unpack
from support.exploring import how_to_repeat, is_explored, seed_item

# Tests run on the checked build, which warns of itself; what a test starts is to be as quiet as the optimised one.
os.environ.setdefault("PYTHONWARNINGS", "ignore:mortice was built without optimisation:RuntimeWarning")


@pytest.fixture(scope="session")
def table_of(tmp_path_factory):
    """The path of a bundled table, by the name of its case; extracted once, not to be written to."""
    extracted = {}

    def path(name):
        if name not in extracted:
            extracted[name] = unpack(name, tmp_path_factory.mktemp(name))
        return extracted[name]

    return path


@pytest.fixture
def copy_of(table_of, tmp_path):
    """A copy of a bundled table that the test may harm."""

    def path(name, folder="table"):
        return shutil.copytree(table_of(name), tmp_path / folder)

    return path


def pytest_collection_modifyitems(items):
    """Servers that are not in the environment of the tests, and long matrices, are for those who ask for them."""
    for item in items if not os.environ.get("OBJECT_STORES") else ():
        if item.get_closest_marker("object_stores"):
            item.add_marker(pytest.mark.skip(reason="`make test-object-stores` runs it"))


def pytest_runtest_setup(item):
    seed_item(item)


def pytest_terminal_summary(terminalreporter):
    """After failures of property tests: the commands that draw the same examples again."""
    failed = [report.nodeid for report in terminalreporter.stats.get("failed", ()) if is_explored(report.nodeid)]
    if failed:
        terminalreporter.section("failed property tests, again with the same examples")
        for command in how_to_repeat(failed):
            terminalreporter.write_line(command)
