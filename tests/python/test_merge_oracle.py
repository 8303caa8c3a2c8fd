"""mortice compared with the oracle: random histories of a file slice, with every merge configuration of a table.

Examples are the same at every run; `make soak` draws 1,000 new ones of each scenario (see `exploring.py`).
"""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.cases import multiset
from support.exploring import explore
from support.oracle import DataBlock, DeleteBlock, Field, HudiFails, Merging, Value, deleted_keys, merged, skip_merged
from support.oracle.model import CUSTOM, EVENT_TIME, IGNORE_DEFAULTS, KEY
from support.tables.histories import KNOWN_DIFFERENCES, SCENARIOS, UNSUPPORTED, History, Scenario, histories
from support.tables.table_writer import Slice, with_meta, write_table

MERGED = [one for one in SCENARIOS if not one.skip_merge and one.name not in UNSUPPORTED]


def read(history, scenario, **choices):
    with tempfile.TemporaryDirectory() as folder:
        path = write_table(Path(folder), history.merging, history.version, history.slice)
        table = mortice.Table(path, read_options=mortice.ReadOptions(semantics=scenario.semantics, threads=1))
        return table.snapshot(merge=not scenario.skip_merge, **choices).to_arrow().to_pylist()


def expected(history, merge):
    """Returns the oracle's result of `merge`, and the keys for which Hudi fails."""
    results, failed_keys = [], set()
    blocks = [block for blocks in history.slice.commits for block in blocks]
    base = history.slice.base or ()
    for key in sorted({row[KEY] for row in base}.union(*(keys_of(block) for block in blocks))):
        of_base, of_log = [row for row in base if row[KEY] == key], [only_key(block, key) for block in blocks]
        try:
            results += merge(of_base, of_log, history.merging)
        except HudiFails:
            failed_keys.add(key)
    return results, failed_keys


def keys_of(block):
    return {row[KEY] for row in block.rows} if isinstance(block, DataBlock) else {key for key, _ in block.deletes}


def only_key(block, key):
    """Returns the block without other keys. Keys are merged independently, except for the presence of partial
    blocks."""
    if isinstance(block, DataBlock):
        return DataBlock(tuple(row for row in block.rows if row[KEY] == key), block.partial)
    return DeleteBlock(tuple(entry for entry in block.deletes if entry[0] == key))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
@explore(10, cases=len(SCENARIOS))
@given(data=st.data())
def test_random_histories(scenario, data):
    history = data.draw(histories(scenario))
    if scenario.name in UNSUPPORTED:
        with pytest.raises(mortice.UnsupportedError):
            read(history, scenario)
        return
    rows, failed_keys = expected(history, skip_merged if scenario.skip_merge else merged)
    result = [row for row in read(history, scenario) if row[KEY] not in failed_keys]
    assert multiset(result) == multiset(rows)


@pytest.mark.parametrize("scenario", MERGED, ids=str)
@explore(10, cases=len(MERGED))
@given(data=st.data())
def test_random_deletes(scenario, data):
    """With emit_deletes, a read returns the same rows and one for each deleted key."""
    history = data.draw(histories(scenario))
    keys, failed_keys = expected(history, deleted_keys)
    rows = [{"_hoodie_operation": None, **row} for row in read(history, scenario)]
    with_deletes = read(history, scenario, emit_deletes=True)
    deletes = multiset(with_deletes)
    deletes.subtract(multiset(rows))
    assert min(deletes.values(), default=0) >= 0
    deleted = [dict(row) for row, count in deletes.items() for _ in range(count)]
    assert {row["_hoodie_operation"] for row in deleted} <= {repr("D")}
    assert Counter(row[KEY] for row in deleted if row[KEY] not in map(repr, failed_keys)) == Counter(map(repr, keys))


def known_difference(name):
    wrong = pytest.mark.xfail(reason="mortice differs from Hudi", strict=True, raises=AssertionError)
    return [wrong] if name in KNOWN_DIFFERENCES else []


def example(name, merging, version, *commits, base=None):
    return pytest.param(merging, version, base, commits, marks=known_difference(name), id=f"{name}-{version}")


def by_payload(payload, *fields, ordering="ts", semantics="1.x", **settings):
    return Merging((Field("id", "string"), *fields), CUSTOM, (ordering,), payload, semantics=semantics, **settings)


def data(*rows, partial=False):
    return DataBlock(rows, partial)


def delete(java, held):
    return DeleteBlock((("k", Value(java, held)),))


X, TS, INT_TS = Field("x", "string"), Field("ts", "long"), Field("ts", "int")
FLAG = Field("_hoodie_is_deleted", "boolean")
DMS = {"delete_field": "Op", "delete_marker": "D"}
MYSQL = {"delete_field": "_change_operation_type", "delete_marker": "d", "ordering": "_event_seq"}
SEQUENCE = (Field("_event_seq", "string"), Field("_change_operation_type", "string"))
NON_DEFAULTS, PARTIAL_UPDATE = "OverwriteNonDefaultsWithLatestAvroPayload", "PartialUpdateAvroPayload"


@pytest.mark.parametrize(
    ("merging", "version", "base", "commits"),
    [
        *(
            example(
                "event-seq",
                by_payload("MySqlDebeziumAvroPayload", *SEQUENCE, semantics=semantics, **MYSQL),
                6,
                data({"_event_seq": "9.5", "_change_operation_type": "c"}),
                data({"_event_seq": "10.1", "_change_operation_type": "u"}),
            )
            for semantics in ("0.x", "1.x")
        ),
        example(
            "int-zero",
            by_payload(NON_DEFAULTS, X, INT_TS, semantics="0.x"),
            6,
            data({"x": "a", "ts": 2}),
            delete("Integer", 0),
        ),
        example(
            "int-zero",
            by_payload(NON_DEFAULTS, X, INT_TS, FLAG),
            8,
            data({"x": "a", "ts": 0, "_hoodie_is_deleted": True}),
            data({"x": None, "ts": 1, "_hoodie_is_deleted": False}),
        ),
        example(
            "late-soft-delete",
            by_payload(PARTIAL_UPDATE, X, TS, FLAG),
            8,
            data({"x": "a", "ts": 2, "_hoodie_is_deleted": False}),
            data({"x": None, "ts": 1, "_hoodie_is_deleted": True}),
        ),
        *(
            example(
                "marker-case",
                by_payload("AWSDmsAvroPayload", Field("Op", "string"), TS, semantics=semantics, **DMS),
                6,
                data({"Op": "I", "ts": 1}),
                data({"Op": "d", "ts": 2}),
            )
            for semantics in ("0.x", "1.x")
        ),
        example(
            "fill-before-partial",
            Merging((Field("id", "string"), X, TS), EVENT_TIME, ("ts",), partial_update=IGNORE_DEFAULTS),
            9,
            data({"x": "a", "ts": 1}),
            data({"x": None, "ts": 2}),
            data({"ts": 3}, partial=True),
        ),
        example(
            "event-seq-delete",
            by_payload("MySqlDebeziumAvroPayload", *SEQUENCE, semantics="0.x", **MYSQL),
            6,
            data({"_event_seq": "10.1", "_change_operation_type": "c"}),
            delete("String", "9.5"),
        ),
        example(
            "filled-ordering",
            by_payload(PARTIAL_UPDATE, X, INT_TS, semantics="0.x"),
            6,
            data({"x": "a", "ts": -1}),
            data({"x": "b", "ts": None}),
            base={"x": "c", "ts": None},
        ),
        example(
            "flagged-base",
            by_payload(PARTIAL_UPDATE, X, TS, FLAG),
            8,
            data({"x": "a", "ts": 1, "_hoodie_is_deleted": False}),
            base={"x": "b", "ts": 2, "_hoodie_is_deleted": True},
        ),
        example(
            "late-delete-after-filled-flag",
            by_payload(PARTIAL_UPDATE, X, INT_TS, FLAG, semantics="0.x"),
            6,
            data({"x": "a", "ts": 2, "_hoodie_is_deleted": True}),
            data({"x": "b", "ts": 2, "_hoodie_is_deleted": None}),
            delete("Integer", 1),
            data({"x": "c", "ts": 2, "_hoodie_is_deleted": None}),
        ),
        example(
            "delete-class",
            by_payload("DefaultHoodieRecordPayload", X, TS, semantics="0.x"),
            6,
            data({"x": "a", "ts": 5}),
            delete("Integer", 3),
        ),
        example(
            "foreign-class",
            Merging((Field("id", "string"), X, TS), EVENT_TIME, ("ts",)),
            9,
            delete("String", "5"),
            delete("Long", 9),
            data({"x": "a", "ts": 5}),
        ),
    ],
)
def test_differences_found_earlier(merging, version, base, commits):
    """Each was found by random histories. The key is always the same."""
    base = base and (with_meta({"id": "k", **base}, "k", 0, 0),)
    blocks = tuple((block_of(block, number),) for number, block in enumerate(commits, start=1))
    scenario = Scenario("found", semantics=merging.semantics)
    history = History(merging, version, Slice(base, blocks))
    rows, failed_keys = expected(history, merged)
    assert not failed_keys
    assert multiset(read(history, scenario)) == multiset(rows)


def block_of(block, number):
    if isinstance(block, DeleteBlock):
        return block
    return DataBlock(tuple(with_meta({"id": "k", **row}, "k", number, 0) for row in block.rows), block.partial)
