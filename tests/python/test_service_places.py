"""A table service has four places: a file of the core, a function of the bindings, a method of Table, a command."""

import pathlib
import re

import click
import pytest

import mortice
from mortice.cli.main import group

ROOT = pathlib.Path(__file__).parents[2]
SERVICES = {
    # the method of Table: its command, and the function of the native module
    "compact": ("compact", "compact"),
    "log_compact": ("log-compact", "log_compact"),
    "cluster": ("cluster", "cluster"),
    "clean": ("clean", "clean"),
    "archive": ("archive", "archive"),
    "rollback": ("rollback", "rollback"),
    "savepoint": ("savepoint", "create_savepoint"),
    "delete_savepoint": ("savepoint", "delete_savepoint"),
    "restore": ("restore", "restore"),
    "build_metadata": ("metadata build", "build_metadata"),
    "delete_metadata": ("metadata delete", "delete_metadata"),
    "verify": ("verify", "verify"),
    "repair": ("repair", "repair"),
}


def files_with(folder, suffix, pattern):
    """The files in which something is written, and how often."""
    found = {path: len(re.findall(pattern, path.read_text())) for path in (ROOT / folder).rglob(f"*{suffix}")}
    return {str(path.relative_to(ROOT)): count for path, count in found.items() if count}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_one_place_on_each_floor(service):
    command, native = SERVICES[service]
    assert callable(getattr(mortice.Table, service))
    assert service == "verify" or callable(getattr(mortice.Table, f"plan_{service}"))
    [defined] = files_with("rust/bindings/src", ".rs", rf"\bpub\(crate\) fn {native}\(").items()
    assert defined[1] == 1
    assert "services::" in (ROOT / defined[0]).read_text(), "the service is one of the core"
    # Services that plan by a function of their own are called by their method and by that of the plan.
    called = files_with("python/mortice", ".py", rf"\b_mortice\.{native}\b")
    assert len(called) == 1, called
    node = group
    for name in command.split():
        node = node.get_command(click.Context(node), name)
        assert node is not None, command


def test_all_services_are_listed():
    plans = {name.removeprefix("plan_") for name in dir(mortice.Table) if name.startswith("plan_")}
    # An erasure deletes rows, which is a write; maintenance runs several services. A verification changes nothing.
    assert plans - {"erase", "maintain"} == set(SERVICES) - {"verify"}
