"""`Table.alter`: columns are added, dropped, renamed and widened; values of old files keep their columns."""

import json

import pyarrow as pa
import pytest

import mortice
from mortice.errors import InvalidArgumentError, UnsupportedError, WriteConflictError

STOPS = pa.list_(pa.struct([("u", pa.int32())]))
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("fare", pa.int32()),
        ("note", pa.string()),
        ("st", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("arr", STOPS),
        ("ts", pa.int64()),
        ("city", pa.string()),
    ]
)
KINDS = [("MERGE_ON_READ", 9), ("COPY_ON_WRITE", 8), ("MERGE_ON_READ", 6)]


def row(key, fare=1, ts=10):
    st, arr = {"x": fare, "y": f"y{fare}"}, [{"u": fare}]
    return {"id": key, "fare": fare, "note": f"n{fare}", "st": st, "arr": arr, "ts": ts, "city": "oslo"}


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0][:3]}-{kind[1]}")
def table(request, tmp_path):
    table_type, version = request.param
    table = mortice.create_table(
        tmp_path / "t",
        SCHEMA,
        name="t",
        record_key="id",
        partition_by="city",
        ordering="ts",
        table_type=table_type,
        version=version,
    )
    table.upsert(pa.Table.from_pylist([row("a"), row("b", 2)], schema=SCHEMA))
    return table


def rows_of(table, *columns):
    found = mortice.Table(table.uri).snapshot(columns=["id", *columns]).to_arrow().to_pylist()
    return [tuple(one[name] for name in columns) for one in sorted(found, key=lambda one: one["id"])]


def names_of(table):
    return [name for name in mortice.Table(table.uri).schema.names if not name.startswith("_hoodie")]


def test_columns_are_added_without_ids(table):
    commit = table.alter(
        add={"tip": pa.float64(), "st.z": pa.decimal128(10, 2), "arr.element.v": pa.date32()},
        comment={"note": "what the driver says"},
    )
    assert commit.operation == "ALTER_SCHEMA"
    assert [(one.column, str(one.after)) for one in commit.schema_changes[:1]] == [("tip", "double")]
    # New columns come before the partition column, as in Hudi.
    assert names_of(table) == ["id", "fare", "note", "st", "arr", "ts", "tip", "city"]
    assert not table.has_column_ids()
    new = table.schema
    assert new.field("st").type.field("z").type == pa.decimal128(10, 2)
    table.upsert(pa.table({"id": ["b"], "fare": [7], "ts": [11], "city": ["oslo"], "tip": [0.5]}),
                 {"hoodie.write.set.null.for.missing.columns": "true"})  # fmt: skip
    assert rows_of(table, "fare", "tip", "note") == [(1, None, "n1"), (7, 0.5, None)]
    assert rows_of(table, "st", "arr")[0] == ({"x": 1, "y": "y1", "z": None}, [{"u": 1, "v": None}])
    # A later write keeps the descriptions of columns.
    latest = table.timeline.metadata(table.timeline.completed[-1])["extraMetadata"]["schema"]
    assert {field["name"]: field.get("doc") for field in json.loads(latest)["fields"]}["note"] == "what the driver says"


def test_columns_are_moved_and_may_become_null(tmp_path):
    kinds = [pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int32(), nullable=False)]
    schema = pa.schema([*kinds, ("st", pa.struct([("x", pa.int32()), ("y", pa.string())])), ("city", pa.string())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id", partition_by="city")
    rows = {"id": ["a"], "n": [1], "st": [{"x": 2, "y": "z"}], "city": ["oslo"]}
    table.upsert(pa.table(rows, schema=schema))
    table.alter(add={"tip": pa.float64()}, nullable="n", move={"city": None, "tip": "id", "st.x": "y"})
    assert names_of(table) == ["city", "id", "tip", "n", "st"]
    assert not table.has_column_ids()
    table.upsert(pa.table({"city": ["oslo"], "id": ["b"], "tip": [0.5], "n": pa.array([None], pa.int32()),
                           "st": [{"y": "q", "x": 7}]}))  # fmt: skip
    expected = [(1, None, {"y": "z", "x": 2}), (None, 0.5, {"y": "q", "x": 7})]
    assert rows_of(table, "n", "tip", "st") == expected
    # With column ids, meta columns stay the first.
    table.alter(rename={"tip": "extra"}, move={"n": None})
    assert mortice.Table(table.uri).schema.names[4:] == ["_hoodie_file_name", "n", "city", "id", "extra", "st"]
    table.compact()
    assert rows_of(table, "n", "extra", "st") == expected


def test_dropped_and_renamed_columns_keep_their_values_apart(table):
    table.alter(drop=["note", "st.x"], rename={"fare": "price", "st.y": "why"})
    assert table.has_column_ids()
    assert names_of(table) == ["id", "price", "st", "arr", "ts", "city"]
    assert rows_of(table, "price", "st") == [(1, {"why": "y1"}), (2, {"why": "y2"})]
    # A column with the name of a dropped one is another.
    table.alter(add={"note": pa.string()}, type={"price": pa.int64()})
    assert rows_of(table, "note", "price") == [(None, 1), (None, 2)]
    # Writes store the ids, so that old files are still understood; base files are rewritten.
    table.update_where({"note": "'new'", "price": "price * 10000000000"}, "id = 'b'")
    for _ in range(2):
        table.delete(pa.table({"id": ["none"], "city": ["oslo"]}))
    assert table.has_column_ids()
    expected = [(None, 1, {"why": "y1"}, [{"u": 1}]), ("new", 2 * 10**10, {"why": "y2"}, [{"u": 2}])]
    assert rows_of(table, "note", "price", "st", "arr") == expected
    if "MERGE" in table.properties["hoodie.table.type"]:
        table.compact()
        assert rows_of(table, "note", "price", "st", "arr") == expected
    # The history of columns outlives the commits that made it.
    table.archive({"hoodie.keep.min.commits": 2, "hoodie.keep.max.commits": 3, "hoodie.clean.commits.retained": 1})
    assert rows_of(table, "note", "price", "st", "arr") == expected


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"drop": "id"}, InvalidArgumentError, "'id' cannot be dropped: it is part of the record key"),
        ({"rename": {"ts": "at"}}, InvalidArgumentError, "'ts' cannot be renamed"),
        ({"type": {"city": pa.string()}}, InvalidArgumentError, "'city' cannot be given another type"),
        ({"type": {"fare": pa.float32()}}, UnsupportedError, "cannot become float from int; supported: int to long"),
        ({"type": {"note": pa.int64()}}, UnsupportedError, "cannot become long from string; supported: int to long"),
        ({"add": {"FARE": pa.int64()}}, InvalidArgumentError, "'FARE' is there already"),
        ({"add": {"note.x": pa.int64()}}, InvalidArgumentError, "'note.x'"),
        ({"add": {"z": "wat"}}, InvalidArgumentError, "maps columns to types, got .z.: .wat."),
        ({"move": {"note": "nope"}}, InvalidArgumentError, "'note' cannot be put behind 'nope'"),
        ({"move": {"nope": None}}, InvalidArgumentError, "no column 'nope'"),
        ({"nullable": "id"}, InvalidArgumentError, "'id' cannot be given null"),
        ({"drop": "nope"}, InvalidArgumentError, r"no column 'nope' \(columns: id, fare"),
        ({"drop": "arr.element.u"}, InvalidArgumentError, "the last of its fields"),
        ({"rename": {"note": "fare"}}, InvalidArgumentError, "a column of this name is there"),
        ({}, InvalidArgumentError, "needs a change"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(tmp_path, changes, error, message):
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id", partition_by="city", ordering="ts")
    table.upsert(pa.Table.from_pylist([row("a")], schema=SCHEMA))
    before = len(table.timeline.completed)
    with pytest.raises(error, match=message):
        table.alter(**changes)
    assert len(mortice.Table(table.uri).timeline.completed) == before


def test_a_commit_meanwhile_is_a_conflict(tmp_path):
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id")
    table.upsert(pa.Table.from_pylist([row("a")], schema=SCHEMA))

    def meanwhile(kept=table.refresh):
        kept()
        mortice.Table(table.uri).upsert(pa.Table.from_pylist([row("b")], schema=SCHEMA))

    table.refresh = meanwhile
    with pytest.raises(WriteConflictError, match="alter it again"):
        table.alter(add={"tip": pa.float64()})
