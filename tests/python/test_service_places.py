"""A table service has one place on each floor: the core, the bindings, the class Table, the commands."""

import pathlib
import re

import click
import pytest

import mortice
from mortice import _mortice
from mortice.cli.main import group

ROOT = pathlib.Path(__file__).parents[2]
SERVICES = {
    # the method of Table, and of the native table: its command
    "compact": "compact",
    "log_compact": "log-compact",
    "cluster": "cluster",
    "clean": "clean",
    "expire_partitions": "expire-partitions",
    "archive": "archive",
    "rollback": "rollback",
    "savepoint": "savepoint",
    "delete_savepoint": "savepoint",
    "restore": "restore",
    "upgrade": "upgrade",
    "downgrade": "downgrade",
    "build_metadata": "metadata build",
    "delete_metadata": "metadata delete",
    "verify": "verify",
    "repair": "repair",
}


def files_with(folder, suffix, pattern):
    """The files in which something is written, and how often."""
    found = {path: len(re.findall(pattern, path.read_text())) for path in (ROOT / folder).rglob(f"*{suffix}")}
    return {str(path.relative_to(ROOT)): count for path, count in found.items() if count}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_one_place_on_each_floor(service):
    methods = {service} if service == "verify" else {service, f"plan_{service}"}
    for method in methods:
        assert callable(getattr(mortice.Table, method))
        assert callable(getattr(_mortice.Table, method))
        [(file, count)] = files_with("rust/bindings/src", ".rs", rf"\bfn {method}\(\s*&self,\s*py: Python").items()
        assert count == 1
        assert "services::" in (ROOT / file).read_text(), "the service is one of the core"
        assert files_with("python/mortice", ".py", rf"\b_native\.{method}\b") == {"python/mortice/table.py": 1}
    node = group
    for name in SERVICES[service].split():
        node = node.get_command(click.Context(node), name)
        assert node is not None, SERVICES[service]


def test_all_services_are_listed():
    plans = {name.removeprefix("plan_") for name in dir(mortice.Table) if name.startswith("plan_")}
    # An erasure deletes rows, which is a write; maintenance runs several services. A verification changes nothing.
    assert plans - {"erase", "maintain"} == set(SERVICES) - {"verify"}
