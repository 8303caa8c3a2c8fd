"""Tables of versions 0 to 5, which Hudi 0.8, 0.9, 0.11 and 0.12 wrote, are brought to 6 and beyond."""

import shutil

import pytest

import mortice
from mortice import InvalidArgumentError, UnsupportedError, WriteConflictError
from support.cases import with_properties
from support.tables.upgraded import decompressed
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, both, new_table

KEY, PARTITION = "hoodie.datasource.write.recordkey.field", "hoodie.datasource.write.partitionpath.field"
GENERATOR, HIVE = "hoodie.datasource.write.keygenerator.class", "hoodie.datasource.write.hive_style_partitioning"
SIMPLE = {KEY: "id", PARTITION: "city"}
COMPLEX = {KEY: "id,sub", PARTITION: "city", HIVE: "true"}
PLANNED = {
    "hoodie.compact.schedule.inline": "true",
    "hoodie.compact.inline": "false",
    "hoodie.compact.inline.max.delta.commits": "1",
}
CASES = {"old_mor_0_6": SIMPLE, "old_cow_complex_1_6": COMPLEX, "old_mor_2_6": {}, "old_mor_5_6": {}}


def properties_of(folder):
    return (folder / ".hoodie" / "hoodie.properties").read_bytes()


def logical(table):
    """The rows, without what differs from one file to the next."""
    rows = table.snapshot().to_arrow().drop_columns(["_hoodie_file_name", "_hoodie_commit_seqno"]).to_pylist()
    return sorted(rows, key=lambda row: row["_hoodie_record_key"])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("to", [9, 10])
def test_several_steps_at_once(name, to, tmp_path):
    table = decompressed(name, tmp_path)
    version, before = table.version, logical(table)
    planned, unchanged = table.plan_upgrade(to, CASES[name]), properties_of(tmp_path)
    assert (table.version, properties_of(tmp_path)) == (version, unchanged)
    done = table.upgrade(to, CASES[name])
    assert (done.from_version, done.to_version, done.properties) == (version, to, planned.properties)
    table = mortice.Table(tmp_path)
    assert table.version == to
    assert logical(table) == before
    assert not table.verify().findings
    table.upsert([{name: value for name, value in before[0].items() if name[0] != "_"} | {"ts": 9999}])
    after = logical(table)
    assert (len(after), [row["ts"] for row in after if row["ts"] == 9999]) == (len(before), [9999])


def test_what_the_table_does_not_store_is_asked_for(tmp_path):
    table = decompressed("old_cow_complex_1_6", tmp_path)
    before = properties_of(tmp_path)
    for options, word in [
        ({}, "recordkey.field"),
        ({KEY: "id,sub"}, "partitionpath.field"),
        (COMPLEX | {KEY: "id,none"}, "none"),
        # By each of these, rows would be written beside those that they update.
        (COMPLEX | {KEY: "id"}, "_hoodie_record_key"),
        (COMPLEX | {KEY: "sub,id"}, "_hoodie_record_key"),
        (COMPLEX | {HIVE: "false"}, "_hoodie_partition_path"),
        (COMPLEX | {PARTITION: ""}, "_hoodie_partition_path"),
    ]:
        for upgrade in (table.plan_upgrade, table.upgrade):
            with pytest.raises(InvalidArgumentError, match=word):
                upgrade(6, options)
    assert properties_of(tmp_path) == before


def test_a_table_without_meta_columns(tmp_path):
    table = new_table(tmp_path / "trips", 6, "COPY_ON_WRITE", properties={"hoodie.populate.meta.fields": "false"})
    table.upsert(FIRST)
    before = both(table)
    with_properties(tmp_path / "trips", {"hoodie.table.version": "2", "hoodie.table.keygenerator.class": None})
    table = mortice.Table(tmp_path / "trips")
    table.upgrade(9)
    assert (mortice.Table(tmp_path / "trips").version, both(table)) == (9, before)


def test_the_old_null_partition_is_refused(tmp_path):
    table = decompressed("old_mor_4_6", tmp_path)
    shutil.copytree(tmp_path / "2023-01-02", tmp_path / "default")
    with pytest.raises(UnsupportedError, match=r"default.*__HIVE_DEFAULT_PARTITION__"):
        table.upgrade(6)
    with_properties(tmp_path, {"hoodie.table.version": "5"})
    assert mortice.Table(tmp_path).upgrade(6).to_version == 6


def test_no_table_goes_below_version_6(tmp_path):
    table = decompressed("old_mor_5_6", tmp_path)
    with pytest.raises(UnsupportedError, match=r"0\.14"):
        table.downgrade(4)
    table.upgrade(6)
    with pytest.raises(UnsupportedError, match=r"table version 5 .*0\.14"):
        table.downgrade(5)


def test_writes_say_that_an_upgrade_is_needed(tmp_path):
    table = decompressed("old_mor_5_6", tmp_path)
    with pytest.raises(UnsupportedError, match=r"version 5 .*upgrade"):
        table.compact()


def test_failed_writes_are_rolled_back_and_plans_kept(tmp_path):
    table = new_table(tmp_path / "trips", 6)
    table.upsert(FIRST, NO_SMALL_FILES)
    table.upsert(CHANGED, NO_SMALL_FILES | PLANNED)
    hoodie, before = tmp_path / "trips" / ".hoodie", both(table)
    plan = next(hoodie.glob("*.compaction.requested"))
    (hoodie / ".aux").mkdir(exist_ok=True)
    shutil.copy(plan, hoodie / ".aux")
    with_properties(tmp_path / "trips", {"hoodie.table.version": "5"})
    failed = f"{int(plan.name.split('.')[0]) + 1}"
    for state in ("deltacommit.requested", "deltacommit.inflight"):
        (hoodie / f"{failed}.{state}").touch()
    shared = {"hoodie.write.concurrency.mode": "optimistic_concurrency_control"}
    shared["hoodie.write.lock.provider"] = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    shared["hoodie.clean.failed.writes.policy"] = "LAZY"
    (hoodie / ".heartbeat").mkdir(exist_ok=True)
    (hoodie / ".heartbeat" / failed).touch()
    table = mortice.Table(tmp_path / "trips")
    with pytest.raises(WriteConflictError, match="another writer"):
        table.upgrade(6, shared)
    (hoodie / ".heartbeat" / failed).unlink()
    assert table.upgrade(6).rolled_back == [failed]
    table = mortice.Table(tmp_path / "trips")
    assert (table.version, both(table)) == (6, before)
    assert plan.exists()
    assert not (hoodie / ".aux" / plan.name).exists()
    table.compact(schedule=False)
    assert both(table) == before


def test_failed_writes_of_version_0_are_left_to_hudi(tmp_path):
    table = decompressed("old_mor_0_6", tmp_path)
    for state in ("requested", "inflight"):
        (tmp_path / ".hoodie" / f"20270101000000.deltacommit.{state}").touch()
    with pytest.raises(UnsupportedError, match="20270101000000"):
        table.upgrade(6, SIMPLE)
    assert mortice.Table(tmp_path).version == 0
