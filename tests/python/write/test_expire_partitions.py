"""Partitions that expire: the method and the command. The rules are tested in the core, at a time that is moved on."""

import json
import shutil

import pyarrow as pa
import pytest

import mortice
from mortice.cli.main import main

DAYS = {"hoodie.partition.ttl.strategy.days.retain": "1"}
OLD = "h015_cow_partitioned"


@pytest.fixture
def old(tmp_path, table_of):
    """A table that was written days ago."""
    path = tmp_path / "old"
    shutil.copytree(table_of(OLD), path)
    return mortice.Table(path)


def test_partitions_expire_that_nobody_writes_to(old):
    before = old.partitions()
    assert before
    planned = old.plan_expire_partitions(DAYS)
    assert (planned.instant, planned.reason) == (None, None)
    assert [one.partition for one in planned.partitions] == sorted(before)
    assert old.count() > 0
    done = old.expire_partitions(DAYS)
    assert done.partitions == planned.partitions
    assert old.timeline[-1].requested_time == done.instant
    assert old.timeline[-1].action == "replacecommit"
    assert old.count() == 0
    assert old.expire_partitions(DAYS).partitions == []


def test_a_new_table_has_none_that_expire(tmp_path, capsys):
    rows = pa.table({"id": ["a"], "p": ["x"], "ts": [1]})
    table = mortice.create_table(tmp_path / "t", rows.schema, name="t", record_key="id", partition_by="p")
    table.upsert(rows, {**DAYS, "hoodie.partition.ttl.inline": "true"})
    assert table.count() == 1
    assert table.expire_partitions(DAYS).partitions == []
    assert "days.retain" in table.expire_partitions().reason
    assert main(["expire-partitions", str(table.uri), "--option", "hoodie.partition.ttl.strategy.days.retain=1"]) == 0
    assert capsys.readouterr().out.strip() == "no partition has expired"
    whole = mortice.create_table(tmp_path / "u", rows.schema, name="u", record_key="id")
    assert whole.expire_partitions(DAYS).reason == "the table has no partitions"
    with pytest.raises(mortice.InvalidArgumentError, match="must be KEEP_BY_TIME or KEEP_BY_CREATION_TIME"):
        table.expire_partitions({**DAYS, "hoodie.partition.ttl.management.strategy.type": "x"})


def test_the_command_prints_what_has_expired(old, capsys):
    command = ["expire-partitions", str(old.uri), "--option", "hoodie.partition.ttl.strategy.days.retain=1"]
    assert main([*command, "--dry-run", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {one["partition"] for one in shown["partitions"]} == set(old.partitions())
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("deleted ")
