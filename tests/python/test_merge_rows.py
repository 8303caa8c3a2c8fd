"""Rows merged without a table, compared with the oracle and with tables of the same rows, for every merge
configuration.

Examples are the same at every run; `make soak` draws 1,000 new ones of each scenario (see `exploring.py`).
"""

import pickle
import random
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from mortice.engines.row_merge import RowMerge
from support.cases import multiset
from support.exploring import explore
from support.oracle import DataBlock, HudiFails, deleted_keys, merged
from support.oracle.model import COMMIT_TIME, CUSTOM, EVENT_TIME, IGNORE_DEFAULTS, KEY, META
from support.tables.histories import SCENARIOS, histories
from support.tables.table_writer import arrow_table, avro_schema, write_table

WAYS = [scenario for scenario in SCENARIOS if not scenario.skip_merge]
ORDER = "seq no"


def rows_of(history, partial):
    """Returns the history without delete blocks. Partial records all get the columns of the first."""
    commits = [[block for block in blocks if isinstance(block, DataBlock)] for blocks in history.slice.commits]
    blocks = [block for blocks in commits for block in blocks]
    if partial and blocks:
        columns = blocks[0].rows[0].keys()
        commits = [
            [
                replace(block, rows=tuple({name: row[name] for name in columns} for row in block.rows), partial=True)
                for block in blocks
                if columns <= block.rows[0].keys()
            ]
            for blocks in commits
        ]
    commits = tuple(tuple(blocks) for blocks in commits if blocks)
    return replace(history, slice=replace(history.slice, commits=commits))


def blocks_of(history):
    return [block for blocks in history.slice.commits for block in blocks]


def table_of_rows(fields, rows):
    """Returns rows with all of the columns, missing ones with their defaults."""
    defaults = {field.name: field.default for field in fields}
    return arrow_table(fields, [{**defaults, **row} for row in rows])


def newer_tables(history, scenario):
    fields = history.merging.fields
    tables = []
    for block in blocks_of(history):
        known = block.rows[0].keys()
        own = [field for field in fields if field.name in known] if scenario.partial_blocks else fields
        tables.append(table_of_rows(own, block.rows))
    return tables or [table_of_rows(fields, ())]


def arguments(history, scenario):
    """Returns the arguments of `mortice.merge` for a scenario."""
    merging = history.merging
    arguments_ = {
        "record_key": KEY,
        "ordering": list(merging.ordering),
        "avro_schema": avro_schema(merging.fields),
        "semantics": merging.semantics,
        "partial": scenario.partial_blocks,
        "partial_update": merging.partial_update,
        "unavailable": merging.unavailable,
    }
    if merging.mode == CUSTOM:
        return arguments_ | {"payload": merging.payload}
    return arguments_ | {
        "mode": merging.mode,
        "delete_field": merging.delete_field,
        "delete_marker": merging.delete_marker,
    }


def expected(history, merge):
    """Returns the oracle's result, and the keys for which Hudi fails."""
    results, failed_keys = [], set()
    base, blocks = history.slice.base or (), blocks_of(history)
    for key in sorted({row[KEY] for row in base}.union(*({row[KEY] for row in block.rows} for block in blocks))):
        of_base = [row for row in base if row[KEY] == key]
        of_log = [DataBlock(tuple(row for row in block.rows if row[KEY] == key), block.partial) for block in blocks]
        try:
            results += merge(of_base, of_log, history.merging)
        except HudiFails:
            failed_keys.add(key)
    return results, failed_keys


def older_table(history):
    return table_of_rows(history.merging.fields, history.slice.base or ())


@pytest.mark.parametrize("scenario", WAYS, ids=str)
@explore(10, cases=len(WAYS))
@given(data=st.data())
def test_random_rows(scenario, data):
    history = rows_of(data.draw(histories(scenario)), scenario.partial_blocks)
    rows, failed_keys = expected(history, merged)
    older, newer = older_table(history), newer_tables(history, scenario)
    arguments_ = arguments(history, scenario)
    result = mortice.merge(older, newer, **arguments_)
    assert result.schema == older.schema
    assert multiset(row for row in result.to_pylist() if row[KEY] not in failed_keys) == multiset(rows)

    whole = pa.concat_tables(newer)
    numbered = whole.append_column(ORDER, pa.array(range(len(whole)), pa.int64()))
    order = pa.array(random.Random(0).sample(range(len(whole)), len(whole)), pa.int64())
    shuffled = numbered.take(order)
    batches = shuffled.to_batches(max_chunksize=3) or [pa.RecordBatch.from_pylist([], schema=shuffled.schema)]
    in_order = mortice.merge(older, batches, commit_order=ORDER, **arguments_)
    assert in_order[KEY] == result[KEY]
    assert multiset(in_order.to_pylist()) == multiset(result.to_pylist())


@pytest.mark.parametrize("scenario", WAYS, ids=str)
@explore(10, cases=len(WAYS))
@given(data=st.data())
def test_tables_with_the_same_rows(scenario, data):
    """Returns the merged rows of a table with these rows, including deletes, and those merged with `table=`."""
    history = rows_of(data.draw(histories(scenario)), scenario.partial_blocks)
    if not history.slice.commits:
        return
    _, failed_keys = expected(history, merged)
    older, newer = older_table(history), newer_tables(history, scenario)
    with tempfile.TemporaryDirectory() as folder:
        path = write_table(Path(folder), history.merging, history.version, history.slice)
        table = mortice.Table(path, read_options=mortice.ReadOptions(semantics=scenario.semantics, threads=1))
        for emit_deletes in (False, True):
            of_table = known(table.snapshot(emit_deletes=emit_deletes).to_arrow(), failed_keys)
            arguments_ = arguments(history, scenario)
            assert known(mortice.merge(older, newer, emit_deletes=emit_deletes, **arguments_), failed_keys) == of_table
            assert known(by_table(table, older, newer, scenario, emit_deletes=emit_deletes), failed_keys) == of_table


def by_table(table, older, newer, scenario, **more):
    # The record key is the field id, whose values are the keys.
    return mortice.merge(older, newer, table=table, partial=scenario.partial_blocks, **more)


def known(rows, failed_keys):
    return multiset(row for row in rows.to_pylist() if row[KEY] not in failed_keys)


@pytest.mark.parametrize("scenario", WAYS, ids=str)
@explore(10, cases=len(WAYS))
@given(data=st.data())
def test_deleted_keys(scenario, data):
    history = rows_of(data.draw(histories(scenario)), scenario.partial_blocks)
    keys, failed_keys = expected(history, deleted_keys)
    older, newer = older_table(history), newer_tables(history, scenario)
    arguments_ = arguments(history, scenario)
    rows = mortice.merge(older, newer, **arguments_).to_pylist()
    deletes = multiset(mortice.merge(older, newer, emit_deletes=True, **arguments_).to_pylist())
    deletes.subtract(multiset({"_hoodie_operation": None, **row} for row in rows))
    assert min(deletes.values(), default=0) >= 0
    deleted = [dict(row) for row, count in deletes.items() for _ in range(count)]
    assert {row["_hoodie_operation"] for row in deleted} <= {repr("D")}
    assert Counter(row[KEY] for row in deleted if row[KEY] not in map(repr, failed_keys)) == Counter(map(repr, keys))


OLDER = pa.table({"a": ["x", "x", "y"], "b": [1, 2, None], "ts": [5, 5, 5], "v": ["1", "2", "3"]})
BY_KEY = {"record_key": ["a", "b"], "ordering": "ts"}


def changed(**columns):
    return pa.table({"a": ["x", "y", "z"], "b": [2, None, 9], "ts": [6, 6, 6], "v": ["new", "new", "new"]} | columns)


def values(rows):
    return rows["v"].to_pylist()


def test_keys_of_several_columns():
    assert values(mortice.merge(OLDER, changed(), **BY_KEY)) == ["1", "new", "new", "new"]


def test_fields_of_structs():
    rows = [{"id": {"n": n}, "at": {"ts": n}, "v": str(n)} for n in (1, 2)]
    newer = [{"id": {"n": 2}, "at": {"ts": 1}, "v": "late"}, {"id": {"n": 1}, "at": {"ts": 9}, "v": "new"}]
    result = mortice.merge(pa.Table.from_pylist(rows), pa.Table.from_pylist(newer), record_key="id.n", ordering="at.ts")
    assert values(result) == ["new", "2"]


def test_deletes_by_columns_that_older_rows_lack():
    newer = changed(op=["d", "u", "c"])
    result = mortice.merge(OLDER, newer, delete_field="op", delete_marker="d", **BY_KEY)
    assert (result.schema, values(result)) == (OLDER.schema, ["1", "new", "new"])
    flags = changed(_hoodie_is_deleted=[True, None, False])
    assert values(mortice.merge(OLDER, flags, **BY_KEY)) == ["1", "new", "new"]
    operations = changed(_hoodie_operation=["-U", "U", "I"])
    assert values(mortice.merge(OLDER, operations, **BY_KEY)) == ["1", "new", "new"]
    emitted = mortice.merge(OLDER, operations, emit_deletes=True, **BY_KEY)
    assert emitted["_hoodie_operation"].to_pylist() == [None, "D", "U", "I"]


def test_types_are_unchanged():
    kinds = {
        "k": pa.dictionary(pa.int32(), pa.string()),
        "n": pa.int16(),
        "ts": pa.timestamp("ns", "Europe/Berlin"),
        "text": pa.large_string(),
        "view": pa.string_view(),
        "span": pa.duration("s"),
        "list": pa.list_(pa.field("x", pa.int8())),
        "a b": pa.uint64(),
    }
    one = {"k": "k", "n": 1, "ts": 10, "text": "t", "view": "v", "span": 5, "list": [1], "a b": 2**63}
    other = one | {"ts": 11, "list": [2], "text": None}
    schema = pa.schema(kinds)
    older, newer = (pa.Table.from_pylist([row], schema=schema) for row in (one, other))
    for more in ({}, {"partial_update": IGNORE_DEFAULTS}):
        result = mortice.merge(older, newer, record_key="k", ordering="ts", **more)
        assert result.schema == schema
        assert result.to_pylist() == [
            other | {"ts": result["ts"][0].as_py(), "span": result["span"][0].as_py()} | ({"text": "t"} if more else {})
        ]
        assert result["ts"].cast(pa.int64()).to_pylist() == [11]


def test_any_arrow_data():
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    result = values(mortice.merge(OLDER, changed(), **BY_KEY))
    for newer in (polars.from_arrow(changed()), duckdb.from_arrow(changed()), changed().to_reader()):
        assert values(mortice.merge(OLDER, newer, **BY_KEY)) == result
    assert values(mortice.merge(polars.from_arrow(OLDER), changed(), **BY_KEY)) == result
    assert duckdb.from_arrow(mortice.merge(OLDER, changed(), **BY_KEY)).count("v").fetchall() == [(4,)]


def test_no_older_rows():
    newer = [changed(), changed(ts=[7, 5, 7], v=["b", "b", "b"])]
    assert values(mortice.merge(None, newer, **BY_KEY)) == ["b", "new", "b"]
    assert values(mortice.merge(OLDER.slice(0, 0), newer, **BY_KEY)) == ["b", "new", "b"]
    assert values(mortice.merge(OLDER, changed().slice(0, 0), **BY_KEY)) == values(OLDER)


def test_large_rows_in_many_batches():
    """More rows than a batch, many batches on both sides; the order of the older rows is kept."""
    count = 200_000
    older = pa.table({"id": range(count), "ts": [1] * count, "v": range(count)})
    ids = pa.array(range(count // 2, count + count // 2))
    newer = pa.table({"id": ids, "ts": [2] * count, "v": pc.negate(ids)})
    chunked = [pa.Table.from_batches(table.to_batches(max_chunksize=7001)) for table in (older, newer)]
    result = mortice.merge(*chunked, record_key="id", ordering="ts")
    assert result["id"].to_pylist() == list(range(count + count // 2))
    half = count // 2
    assert result["v"].to_pylist() == [*range(half), *(-n for n in range(half, count + half))]


def test_user_defined_merger():
    def sum_of_both(older, newer):
        both = pc.add(older["ts"], newer["ts"])
        columns = [both if name == "ts" else newer[name] for name in newer.schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=newer.schema), pa.array([True] * len(newer))

    mortice.register_merger("com.acme.Sum", sum_of_both)
    try:
        result = mortice.merge(OLDER, [changed(), changed()], payload="com.acme.Sum", **BY_KEY)
    finally:
        mortice.register_merger("com.acme.Sum", None)
    assert result["ts"].to_pylist() == [5, 17, 17, 12]
    with pytest.raises(mortice.UnsupportedError, match=r"com\.acme\.Sum"):
        mortice.merge(OLDER, changed(), payload="com.acme.Sum", **BY_KEY)


UNAVAILABLE = "__debezium_unavailable_value"


@pytest.mark.parametrize(
    ("rules", "text", "raw"),
    [
        ({"partial_update": "FILL_UNAVAILABLE", "unavailable": UNAVAILABLE}, "old", UNAVAILABLE.encode()),
        ({"payload": "PostgresDebeziumAvroPayload"}, UNAVAILABLE, UNAVAILABLE.encode()),
        ({"payload": "PostgresDebeziumAvroPayload", "semantics": "0.x"}, "old", b"old"),
    ],
)
def test_unavailable_values_are_filled_as_in_tables(rules, text, raw):
    older = pa.table({"id": ["k"], "lsn": [1], "text": ["old"], "raw": [b"old"]})
    newer = pa.table({"id": ["k"], "lsn": [2], "text": [UNAVAILABLE], "raw": [UNAVAILABLE.encode()]})
    result = mortice.merge(older, newer, record_key="id", ordering="lsn", **rules)
    assert result.to_pylist() == [{"id": "k", "lsn": 2, "text": text, "raw": raw}]


@pytest.mark.parametrize(("lsn", "text"), [(1, "old"), (2, "old"), (3, "new")])
def test_first_value_keeps_the_first_of_equal_ordering_values(lsn, text):
    older = pa.table({"id": ["k"], "lsn": [2], "text": ["old"]})
    newer = pa.table({"id": ["k"], "lsn": [lsn], "text": ["new"]})
    rules = {"payload": "FirstValueAvroPayload", "semantics": "0.x"}
    result = mortice.merge(older, newer, record_key="id", ordering="lsn", **rules)
    assert result["text"].to_pylist() == [text]


def test_settings_can_be_pickled():
    by = RowMerge.from_arguments(record_key="a", ordering="ts", delete_field="v", delete_marker="1")
    assert pickle.loads(pickle.dumps(by)) == by


@pytest.mark.parametrize(
    ("arguments_", "words"),
    [
        ({"record_key": None}, "record_key"),
        ({"record_key": []}, "record_key"),
        ({"record_key": "key"}, "'?\"?key"),
        ({"record_key": 1}, "record_key"),
        ({"ordering": "when"}, "when"),
        ({"ordering": None, "mode": EVENT_TIME}, "ordering"),
        ({"mode": "LATEST"}, "LATEST"),
        ({"mode": CUSTOM}, "payload"),
        ({"semantics": "0.x"}, "payload"),
        ({"semantics": "2.x"}, "semantics"),
        ({"payload": "EventTimeAvroPayload", "mode": COMMIT_TIME}, "mode"),
        ({"payload": "EventTimeAvroPayload", "partial_update": IGNORE_DEFAULTS}, "partial_update"),
        ({"partial_update": "KEEP_VALUES"}, "KEEP_VALUES"),
        ({"partial_update": "FILL_UNAVAILABLE"}, "unavailable"),
        ({"unavailable": "x"}, "unavailable"),
        ({"delete_field": "v"}, "delete_marker"),
        ({"delete_field": "op", "delete_marker": "d"}, "op"),
        ({"commit_order": "seq"}, "seq"),
        ({"emit_deletes": 1}, "emit_deletes"),
        ({"avro_schema": "{"}, "schema"),
        ({"avro_schema": 5}, "avro_schema"),
        ({"table": "/lake"}, "table"),
    ],
)
def test_invalid_arguments(arguments_, words):
    with pytest.raises(mortice.InvalidArgumentError, match=words):
        mortice.merge(OLDER, changed(), **(BY_KEY | arguments_))


@pytest.mark.parametrize(
    ("older", "newer", "words"),
    [
        (OLDER, changed().drop_columns(["v"]), '"v"'),
        (OLDER, changed(more=[1, 2, 3]), '"more"'),
        (OLDER, changed(v=[1, 2, 3]), '"v" is Int64'),
        (OLDER, changed(ts=pa.array([6, 6, 6], pa.int32())), '"ts" is Int32'),
        (OLDER, [], "must not be empty"),
        (OLDER, 7, "int"),
        (OLDER.append_column("v", OLDER["v"]), changed(), "two columns"),
    ],
)
def test_invalid_rows(older, newer, words):
    with pytest.raises(mortice.InvalidArgumentError, match=words):
        mortice.merge(older, newer, **BY_KEY)


def test_rows_without_a_key():
    keyless = pa.table({"id": [None, "a"], "ts": [1, 1]})
    other = pa.table({"id": ["a"], "ts": [2]})
    assert mortice.merge(keyless, other, record_key="id", ordering="ts").to_pylist() == [
        {"id": None, "ts": 1},
        {"id": "a", "ts": 2},
    ]
    with pytest.raises(mortice.InvalidArgumentError, match="record key"):
        mortice.merge(other, keyless, record_key="id", ordering="ts")


def test_meta_columns_are_ordinary_columns():
    assert set(META) > {KEY}
    older = pa.table({KEY: ["a"], "v": ["1"]})
    result = mortice.merge(older, pa.table({KEY: ["a", "b"], "v": ["2", "3"]}), record_key=KEY)
    assert values(result) == ["2", "3"]
