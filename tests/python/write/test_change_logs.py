"""Writes to tables with change data capture: what `Table.changes` returns is what happened."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

import mortice
from mortice.errors import UnsupportedError

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("fare", pa.float64()),
        ("ts", pa.int64()),
        ("tags", pa.list_(pa.struct([("n", pa.int32()), ("at", pa.timestamp("us", "UTC"))]))),
        ("price", pa.decimal128(10, 2)),
    ]
)
MODES = ["OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"]
COLUMNS = ["id", "city", "fare", "ts"]
NO_METADATA = {"hoodie.metadata.enable": "false"}


def row(key, fare=1.0, ts=10):
    city = ("oslo", "rome")[int(key[1:]) % 2]
    return {"id": key, "city": city, "fare": fare, "ts": ts, "tags": [{"n": 1, "at": None}], "price": None}


def rows(*given):
    return pa.Table.from_pylist(list(given), schema=SCHEMA)


def created(path, mode, table_type="COPY_ON_WRITE", version=9, **arguments):
    properties = {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": mode}
    properties |= arguments.pop("properties", {})
    return mortice.create_table(
        path,
        SCHEMA,
        name="t",
        record_key="id",
        partition_by="city",
        ordering="ts",
        table_type=table_type,
        version=version,
        properties=properties,
        **arguments,
    )


def changes(table, begin="earliest"):
    """The changes: operation, commit, the row before and after as far as the columns are compared."""

    def image(text):
        return None if text in {None, "null"} else tuple(json.loads(text)[name] for name in COLUMNS)

    found = mortice.Table(table.uri).changes(begin).to_arrow().to_pylist()
    return sorted((one["ts_ms"], one["op"], image(one["before"]), image(one["after"])) for one in found)


def images(one):
    return None if one is None else tuple(one[name] for name in COLUMNS)


def expected_of(commit, before, after):
    """The changes of a commit, from the rows before and after it, by key."""
    found = []
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old != new:
            operation = "i" if old is None else "d" if new is None else "u"
            found.append((commit.instant, operation, images(old), images(new)))
    return found


def change_logs(table):
    return sorted(Path(table.uri).glob("*/.*.cdc"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("table_type", "version", "options"),
    [
        ("COPY_ON_WRITE", 9, {}),
        ("COPY_ON_WRITE", 6, NO_METADATA),
        ("MERGE_ON_READ", 9, {}),
        ("MERGE_ON_READ", 6, NO_METADATA),
        ("MERGE_ON_READ", 9, {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}),
    ],
)
def test_changes_of_a_history(tmp_path, table_type, version, options, mode):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    dice = random.Random(seed)
    table = created(tmp_path / "t", mode, table_type, version)
    state, expected = {}, []
    for step in range(6):
        before = dict(state)
        keys = [f"k{n}" for n in dice.sample(range(40), 12)]
        if step and dice.random() < 0.25:
            commit = table.delete(rows(*(row(key) for key in keys)), options)
            for key in keys:
                state.pop(key, None)
        else:
            given = [row(key, dice.random(), 10 + step) for key in keys]
            commit = table.upsert(rows(*given), options)
            state.update({one["id"]: one for one in given})
        expected += expected_of(commit, before, state)
    assert changes(table) == sorted(expected)
    if table_type == "MERGE_ON_READ":
        table.compact(options=options)
        assert changes(table) == sorted(expected)
    now = {one["id"]: one for one in mortice.Table(table.uri).snapshot(columns=SCHEMA.names).to_arrow().to_pylist()}
    assert now == state


@pytest.mark.parametrize("mode", MODES)
def test_change_logs_are_named_and_listed_as_by_hudi(tmp_path, mode):
    table = created(tmp_path / "t", mode)
    table.insert(rows(row("k1"), row("k3")))
    assert not change_logs(table)
    commit = table.upsert(rows(row("k1", 2.0, 11), row("k5")))
    (log,) = change_logs(table)
    (instant,) = [one for one in mortice.Table(table.uri).timeline if one.requested_time == commit.instant]
    (stat,) = mortice.Table(table.uri).timeline.metadata(instant)["partitionToWriteStats"]["rome"]
    assert stat["cdcStats"] == {f"rome/{log.name}": log.stat().st_size}
    base = stat["path"].rsplit("/", 1)[-1]
    file_id, token, _ = base.split("_")
    assert log.name == f".{file_id}_{commit.instant}.log.1_{token}.cdc"
    (block,) = mortice.LogFile(log).blocks()
    assert block.type == "CDC_DATA_BLOCK"
    names = [field["name"] for field in json.loads(dict(block.header)["SCHEMA"])["fields"]]
    assert (
        names
        == {
            "OP_KEY_ONLY": ["op", "record_key"],
            "DATA_BEFORE": ["op", "record_key", "before"],
            "DATA_BEFORE_AFTER": ["op", "ts_ms", "before", "after"],
        }[mode]
    )


def test_inserts_into_small_files_late_rows_and_emptied_files(tmp_path):
    table = created(tmp_path / "t", "DATA_BEFORE")
    first = table.insert(rows(row("k1"), row("k3")))
    # A small file takes the new row; none of its rows is compared with it.
    second = table.insert(rows(row("k5")))
    # A late row changes nothing; the file is written again.
    table.upsert(rows(row("k1", 9.0, 1)))
    third = table.delete(rows(row("k1"), row("k3"), row("k5")))
    found = [(instant, operation) for instant, operation, _, _ in changes(table)]
    assert found == [(first.instant, "i")] * 2 + [(second.instant, "i")] + [(third.instant, "d")] * 3
    assert len(change_logs(table)) == 3


def test_a_compaction_logs_what_it_changes(tmp_path):
    table = created(tmp_path / "t", "DATA_BEFORE_AFTER", "MERGE_ON_READ")
    table.insert(rows(row("k1"), row("k3"), row("k5")))
    table.upsert(rows(row("k1", 2.0, 11)))
    table.delete(rows(row("k3")))
    before = changes(table)
    table.compact()
    (log,) = change_logs(table)
    (block,) = mortice.LogFile(log).blocks()
    assert block.record_count == 2
    assert changes(table) == before


def test_replaced_partitions_need_no_change_logs(tmp_path):
    table = created(tmp_path / "t", "DATA_BEFORE")
    table.insert(rows(row("k1"), row("k2")))
    second = table.insert_overwrite(rows(row("k3")))
    third = table.delete_partitions(["oslo"])
    assert not change_logs(table)
    found = [(instant, operation, before and before[0]) for instant, operation, before, _ in changes(table)]
    assert found[2:] == [(second.instant, "d", "k1"), (second.instant, "i", None), (third.instant, "d", "k2")]


def test_rollback_and_cleaning_remove_change_logs(tmp_path):
    table = created(tmp_path / "t", "DATA_BEFORE")
    table.insert(rows(row("k1"), row("k3")))
    table.upsert(rows(row("k1", 2.0, 11)))
    last = table.upsert(rows(row("k1", 3.0, 12)))
    assert len(change_logs(table)) == 2
    table.rollback(last.instant)
    assert len(change_logs(table)) == 1
    for ts in range(13, 17):
        table.upsert(rows(row("k1", float(ts), ts)))
    kept = len(change_logs(table))
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    assert len(change_logs(table)) < kept
    assert mortice.Table(table.uri).snapshot().count() == 2


def test_tables_without_meta_columns_are_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="change data capture"):
        created(tmp_path / "t", "DATA_BEFORE", properties={"hoodie.populate.meta.fields": "false"})
    # A table that Hudi created.
    table = created(tmp_path / "t", "DATA_BEFORE")
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    stored = "hoodie.populate.meta.fields="
    properties.write_text(properties.read_text().replace(f"{stored}true", f"{stored}false"))
    with pytest.raises(UnsupportedError, match="change data capture"):
        table.upsert(rows(row("k1")))
