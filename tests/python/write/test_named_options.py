"""Options of Hudi that a user sets for an effect: they have it, or a warning or an error names them."""

import warnings
from functools import partial

import pytest

import mortice
from examples import ROOT
from mortice import UnsupportedError
from mortice.catalogs.run import sync_options
from support.tables.written import FIRST, new_table

DECISIONS = [
    line.split("\t")
    for line in (ROOT / "rust/merge/src/config/write_options/decisions.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
SECRET = "jdbc:hive2://host:10000/;user=u;password=secret"


def other_value(listed):
    """Returns a value that the option does not have by itself."""
    return {"false": "true", "true": "false", "": SECRET}.get(listed, "com.example.Other")


WARNED = [(name, other_value(listed)) for name, decision, listed, *_ in DECISIONS if decision == "warn"]
REFUSED = [(name, other_value(listed)) for name, decision, listed, *_ in DECISIONS if decision == "only"]
KEPT = [(name, one) for name, kind, listed, *_ in DECISIONS if kind == "only" for one in listed.split(",") if one]
SYNCED = {"hoodie.datasource.hive_sync.enable", "hoodie.datasource.meta.sync.enable"}
"""Followed by methods of `Table` and functions of `mortice.spark`, refused where no sync follows."""
SWITCHES = [
    "hoodie.metadata.metrics.enable",
    "hoodie.datasource.hive_sync.enable",
    "hoodie.datasource.hive_sync.jdbcurl",
    "hoodie.datasource.meta.sync.enable",
    "hoodie.precommit.validators",
    "hoodie.prewrite.validators",
    "hoodie.errortable.enable",
    "hoodie.metaserver.enabled",
    "hoodie.clustering.async.enabled",
    "hoodie.datasource.compaction.async.enable",
    "hoodie.table.service.manager.enabled",
    "hoodie.write.concurrency.early.conflict.detection.enable",
]


def warned_by(write):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write()
    return [str(one.message) for one in caught if issubclass(one.category, UserWarning)]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return new_table(tmp_path_factory.mktemp("t") / "t")


def test_switches_of_what_hudi_does_beside_a_write_are_decided():
    assert {name for name, _ in WARNED + REFUSED} >= set(SWITCHES)


def test_each_option_that_is_warned_of_is_named_without_its_secrets(table):
    said = warned_by(lambda: table.upsert(FIRST, dict(WARNED)))
    for name, _ in WARNED:
        assert sum(f"option {name}" in one for one in said) == 1, name
    assert "secret" not in "".join(said)


@pytest.mark.parametrize("name", [name for name, _ in REFUSED if name not in SYNCED])
def test_each_option_that_is_refused_is_named(table, name):
    before = [repr(one) for one in mortice.Table(table.uri).timeline.active]
    with pytest.raises(UnsupportedError, match=name):
        table.upsert(FIRST, {name: dict(REFUSED)[name]})
    assert [repr(one) for one in mortice.Table(table.uri).timeline.active] == before


def test_each_option_may_say_what_this_release_does(tmp_path):
    table = new_table(tmp_path / "t")
    table.upsert(FIRST)
    for options in (dict(KEPT), dict(reversed(KEPT))):  # the last of several values, and the first
        for call in (partial(table.upsert, FIRST), table.compact, table.clean, table.plan_build_metadata):
            call(options)


@pytest.mark.parametrize("provider", ["InProcessLockProvider", "ZookeeperBasedLockProvider"])
def test_a_lock_that_a_single_writer_does_not_take_is_named(tmp_path, provider):
    table = new_table(tmp_path / "t")
    name = "hoodie.write.lock.provider"
    said = warned_by(lambda: table.upsert(FIRST, {name: f"org.apache.hudi.client.transaction.lock.{provider}"}))
    assert len(said) == 1
    assert name in said[0]
    assert "hoodie.write.concurrency.mode" in said[0]


def test_table_services_can_be_switched_off(tmp_path):
    services = {
        "hoodie.clean.commits.retained": "1",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.compact.inline": "true",
        "hoodie.compact.inline.max.delta.commits": "1",
    }
    actions = {}
    for enabled in ("true", "false"):
        table = new_table(tmp_path / enabled)
        for _ in range(5):
            table.upsert(FIRST, {**services, "hoodie.table.services.enabled": enabled})
        actions[enabled] = {one.action for one in mortice.Table(table.uri).timeline.completed}
    assert actions["false"] == {"deltacommit"}
    assert {"clean", "commit"} <= actions["true"]


@pytest.mark.parametrize("name", ["jdbcurl", "use_jdbc", "username", "password"])
def test_options_of_a_hive_server_are_named_by_a_sync(name):
    option = f"hoodie.datasource.hive_sync.{name}"
    given = {"hoodie.datasource.hive_sync.metastore.uris": "thrift://h:9083", option: "true"}
    said = warned_by(lambda: sync_options(given))
    assert len(said) == 1
    assert option in said[0]
    assert not warned_by(lambda: sync_options({**given, "hoodie.datasource.hive_sync.mode": "hms"}))
