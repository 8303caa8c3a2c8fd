"""`Table.merge_into`: SQL's rules, on tables of every kind; nothing is updated that is not seen afterwards."""

import datetime as dt
import math
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import mortice
from mortice.errors import InvalidArgumentError, UnsupportedError, WriteConflictError

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("fare", pa.float64()),
        ("ts", pa.int64()),
        ("note", pa.string()),
        ("tags", pa.list_(pa.string())),
    ]
)
KINDS = {
    "mor-9": ("MERGE_ON_READ", 9, {}),
    "cow-9": ("COPY_ON_WRITE", 9, {}),
    "mor-6": ("MERGE_ON_READ", 6, {}),
    "bucket": ("MERGE_ON_READ", 9, {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "3"}),
}


def row(key, city="oslo", fare=1.0, ts=10, note="n"):
    return {"id": key, "city": city, "fare": fare, "ts": ts, "note": note, "tags": ["x"]}


def created(path, kind="mor-9", **arguments):
    table_type, version, options = KINDS[kind]
    given = {"record_key": "id", "partition_by": "city", "ordering": "ts", "version": version} | arguments
    return mortice.create_table(path, SCHEMA, name="t", table_type=table_type, **given), options


def rows_of(table):
    found = mortice.Table(table.uri).snapshot(columns=SCHEMA.names).to_arrow().to_pylist()
    return sorted(found, key=lambda row: (row["id"], row["city"]))


@pytest.fixture
def table(tmp_path):
    table, _ = created(tmp_path / "t")
    table.upsert(pa.Table.from_pylist([row("a"), row("b"), row("c", "rome")], schema=SCHEMA))
    return table


@pytest.mark.parametrize("kind", KINDS)
def test_a_history_of_merges_is_that_of_a_dictionary(tmp_path, kind):
    table, options = created(tmp_path / "t", kind)
    dice, expected = random.Random(kind), {}
    first = {f"k{n}": row(f"k{n}", ("oslo", "rome")[n % 2]) for n in range(60)}
    table.upsert(pa.Table.from_pylist(list(first.values()), schema=SCHEMA), options=options)
    expected.update(first)
    for step in range(6):
        keys = dice.sample(range(90), 30)
        given = [row(f"k{n}", ("oslo", "rome")[n % 2], dice.random(), 10 + step) for n in keys]
        for one in given:
            one["gone"] = int(one["id"][1:]) % 7 == step
            del one["note"], one["tags"]
        commit = table.merge_into(
            pa.Table.from_pylist(given),
            when_matched_update=["fare"],
            when_matched_delete=[("gone", "=", True)],
            options=options,
        )
        counts = [0, 0, 0]
        for one in given:
            key = one["id"]
            if key not in expected:
                counts[0] += 1
                expected[key] = row(key, one["city"], one["fare"], one["ts"], None) | {"tags": None}
            elif one["gone"]:
                counts[2] += 1
                del expected[key]
            else:
                counts[1] += 1
                expected[key] = expected[key] | {"fare": one["fare"]}
        assert rows_of(table) == sorted(expected.values(), key=lambda one: one["id"])
        if kind != "bucket":
            assert [commit.inserts, commit.updates, commit.deletes] == counts
    operations = [one.action for one in table.timeline.completed]
    assert len(operations) == 7


def test_columns_that_are_not_named_stay(table):
    given = pa.table({"id": ["a", "x"], "city": ["oslo"] * 2, "note": ["new", "first"], "ts": [11, 1], "op": [1, 2]})
    table.merge_into(given, when_matched_update=["note"])
    assert rows_of(table)[0] == row("a", note="new")
    assert rows_of(table)[-1] == row("x", fare=None, ts=1, note="first") | {"tags": None}
    assert "op" not in table.schema.names
    assert "_mortice_deletes_key" not in table.schema.names
    # By default all columns that both have are updated.
    table.merge_into(given.slice(0, 1), when_not_matched="ignore")
    assert rows_of(table)[0] == row("a", note="new", ts=11)


def test_without_partition_columns_rows_match_in_all_partitions(table):
    table.upsert(pa.Table.from_pylist([row("a", "rome", 5.0)], schema=SCHEMA))
    given = pa.table({"id": ["a", "z"], "note": ["both", "none"]})
    with pytest.raises(InvalidArgumentError, match=r'no column city.*"ignore"'):
        table.merge_into(given)
    table.merge_into(given, when_not_matched="ignore")
    assert [one["note"] for one in rows_of(table)] == ["both", "both", "n", "n"]
    # With them, in theirs.
    table.merge_into(pa.table({"id": ["a"], "city": ["rome"], "note": ["one"]}), when_not_matched="ignore")
    assert [one["note"] for one in rows_of(table)] == ["both", "one", "n", "n"]


def test_deletes_can_use_columns_of_the_stored_row(table):
    table.merge_into(
        pa.table({"id": ["a", "b", "c", "d"], "city": ["oslo", "oslo", "rome", "rome"]}),
        when_matched_update=[],
        when_not_matched="ignore",
        when_matched_delete=[[("fare", "<", 2.0), ("city", "!=", "oslo")], [("id", "in", ["b"])]],
    )
    assert rows_of(table) == [row("a")]


def test_an_update_is_not_lost_to_ordering_values(table):
    late = pa.table({"id": ["a"], "city": ["oslo"], "note": ["late"], "ts": [9]})
    with pytest.raises(InvalidArgumentError, match=r"1 rows, such as .*'a'.*ordering value \(ts\)"):
        table.merge_into(late)
    assert rows_of(table)[0] == row("a")
    table.merge_into(late, when_matched_update=["note"])
    assert rows_of(table)[0] == row("a", note="late")
    # Deletes hold with any ordering value.
    table.merge_into(late, when_matched_delete=[("ts", "=", 9)])
    assert [one["id"] for one in rows_of(table)] == ["b", "c"]


def test_an_insert_is_not_lost_to_a_deleted_row(table):
    """A log has deleted the row of the base file; without its delete the base row wins over one with a lower value."""
    table.delete(pa.table({"id": ["a"], "city": ["oslo"]}))
    late = pa.table({"id": ["a"], "city": ["oslo"], "note": ["late"], "ts": [9]})
    with pytest.raises(InvalidArgumentError, match=r"less than the stored one.*compacted"):
        table.merge_into(late)
    assert [one["id"] for one in rows_of(table)] == ["b", "c"]
    table.merge_into(late, when_not_matched="ignore")
    table.merge_into(pa.table({"id": ["a"], "city": ["oslo"], "note": ["new"], "ts": [10]}))
    assert rows_of(table)[0] == row("a", fare=None, note="new") | {"tags": None}


def test_with_a_global_index_the_key_alone_matches(tmp_path):
    table, _ = created(tmp_path / "t")
    options = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"}
    table.upsert(pa.Table.from_pylist([row("a")], schema=SCHEMA), options=options)
    given = pa.table({"id": ["a", "b"], "city": ["rome", "rome"], "note": ["moved", "new"], "ts": [11, 11]})
    table.merge_into(given, options=options)
    expected = row("b", "rome", None, 11, "new") | {"tags": None}
    assert rows_of(table) == [row("a", "rome", note="moved", ts=11), expected]


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        ({"id": ["a", "a"], "city": ["oslo", "oslo"]}, {}, "several rows have the key"),
        ({"id": ["a", None], "city": ["oslo", "oslo"]}, {}, "column 'id'.*null"),
        ({"city": ["oslo"]}, {}, "no column id"),
        ({"id": ["a"], "city": ["oslo"]}, {"on": ["city"]}, "on must have the record key"),
        ({"id": ["a"], "city": ["oslo"]}, {"on": ["id", "note"]}, "nothing but partition columns"),
        ({"id": ["a"], "city": ["oslo"]}, {"on": "id", "when_matched_update": ["city"]}, "cannot be updated"),
        ({"id": ["a"], "city": ["oslo"]}, {"when_matched_update": ["fare"]}, "which the rows do not have"),
        ({"id": ["a"], "city": ["oslo"]}, {"when_matched_update": ["none"]}, "which the table does not have"),
        ({"id": ["a"], "city": ["oslo"]}, {"when_not_matched": "drop"}, "'insert' or 'ignore'"),
        ({"id": ["a"], "city": ["oslo"]}, {"when_matched_delete": [("no", "=", 1)]}, "which neither"),
        ({"id": ["a"], "city": ["oslo"], "fare": ["dear"]}, {}, 'column "fare" is Utf8'),
    ],
)
def test_what_cannot_be_merged_is_refused(table, data, arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        table.merge_into(pa.table(data), **arguments)
    assert len(mortice.Table(table.uri).timeline) == 1


def test_tables_and_options_that_cannot_be_merged_into_are_refused(tmp_path, table):
    given = pa.table({"id": ["a"], "city": ["oslo"]})
    with pytest.raises(UnsupportedError, match=r"dup\.policy"):
        table.merge_into(given, options={"hoodie.datasource.insert.dup.policy": "drop"})
    other, _ = created(tmp_path / "generated", record_key=None)
    with pytest.raises(UnsupportedError, match="keys are generated"):
        other.merge_into(given)


def test_a_commit_between_read_and_write_is_a_conflict(table, monkeypatch):
    other = mortice.Table(table.uri)
    refresh = mortice.Table.refresh

    def and_then_another_writes(self):
        monkeypatch.undo()
        refresh(self)
        other.upsert(pa.Table.from_pylist([row("a", note="other", ts=11)], schema=SCHEMA))

    # Stored rows are read in the state that the merge has opened.
    monkeypatch.setattr(mortice.Table, "refresh", and_then_another_writes)
    given = pa.table({"id": ["a"], "city": ["oslo"], "fare": [2.0]})
    with pytest.raises(WriteConflictError, match="merge again"):
        table.merge_into(given)
    assert rows_of(table)[0] == row("a", note="other", ts=11)
    table.merge_into(given)
    assert rows_of(table)[0] == row("a", fare=2.0, note="other", ts=11)


@pytest.mark.parametrize("version", [6, 8, 9])
def test_columns_that_are_not_named_are_not_those_of_a_late_row(tmp_path, version):
    table, _ = created(tmp_path / "t", version=version)
    table.upsert(pa.Table.from_pylist([row("a", note="current")], schema=SCHEMA))
    table.upsert(pa.Table.from_pylist([row("a", ts=9, note="late")], schema=SCHEMA))
    assert rows_of(table) == [row("a", note="current")]
    given = pa.table({"id": ["a"], "city": ["oslo"], "fare": [5.0]})
    table.merge_into(given, when_matched_update=["fare"])
    assert rows_of(table) == [row("a", fare=5.0, note="current")]
    table.compact()
    assert rows_of(table) == [row("a", fare=5.0, note="current")]


PARTIAL_UPDATES = "hoodie.spark.sql.merge.into.partial.updates"
PARTIAL = {PARTIAL_UPDATES: "true"}


def data_blocks(table):
    """The blocks of the table's logs with records: whether they are partial, their columns, the keys in them."""
    found = []
    for path in sorted(Path(table.uri).glob("**/.*.log.*")):
        if ".hoodie" in path.parent.parts:
            continue
        log = mortice.LogFile(path)
        for block in log.blocks():
            if block.type in {"AVRO_DATA_BLOCK", "PARQUET_DATA_BLOCK"}:
                header, records = dict(block.header), log.records(block)
                columns = [name for name in records.schema.names if not name.startswith("_hoodie_")]
                keys = sorted(records["_hoodie_record_key"].to_pylist())
                found.append((block.instant_time, header.get("IS_PARTIAL") == "true", columns, keys))
    return [block[1:] for block in sorted(found)]


@pytest.mark.parametrize(
    ("arguments", "options", "expected"),
    [
        # An ordering value that is missing would be the least.
        ({}, PARTIAL, [(True, ["fare", "ts"], ["a"])]),
        ({}, {}, [(False, SCHEMA.names, ["a"])]),
        ({"ordering": None}, {}, [(True, ["fare"], ["a"])]),
        ({}, PARTIAL | {"hoodie.logfile.data.block.format": "parquet"}, [(True, ["fare", "ts"], ["a"])]),
        ({"ordering": None}, {PARTIAL_UPDATES: "false"}, [(False, SCHEMA.names, ["a"])]),
        ({}, PARTIAL | {"hoodie.index.type": "GLOBAL_SIMPLE"}, [(False, SCHEMA.names, ["a"])]),
        (
            {},
            PARTIAL
            | {
                "hoodie.index.type": "GLOBAL_SIMPLE",
                "hoodie.simple.index.update.partition.path": "false",
            },
            # A global index merges rows with the stored ones of their keys before it places them.
            [(False, SCHEMA.names, ["a"])],
        ),
    ],
)
def test_logs_get_the_updated_columns_alone_where_hudi_writes_them_so(tmp_path, arguments, options, expected):
    table, _ = created(tmp_path / "t", **arguments)
    table.upsert(pa.Table.from_pylist([row("a"), row("b")], schema=SCHEMA), options=options)
    given = pa.table({"id": ["a"], "city": ["oslo"], "fare": [7.0]})
    table.merge_into(given, when_matched_update=["fare"], options=options)
    assert data_blocks(table) == expected
    assert rows_of(table) == [row("a", fare=7.0), row("b")]
    table.compact()
    assert rows_of(table) == [row("a", fare=7.0), row("b")]


def test_new_rows_of_a_log_have_all_columns(tmp_path):
    table, options = created(tmp_path / "t", "bucket")
    options = options | PARTIAL | {"hoodie.bucket.index.num.buckets": "1"}
    table.upsert(pa.Table.from_pylist([row("a"), row("b")], schema=SCHEMA), options=options)
    given = pa.table({"id": ["a", "b", "c"], "city": ["oslo"] * 3, "fare": [7.0, 8.0, 9.0], "ts": [20, 20, 20]})
    deleted = [("fare", "=", 8.0)]
    table.merge_into(given, when_matched_update=["fare"], when_matched_delete=deleted, options=options)
    assert data_blocks(table) == [(False, SCHEMA.names, ["c"]), (True, ["fare", "ts"], ["a"])]
    expected = [row("a", fare=7.0), row("c", fare=9.0, ts=20, note=None) | {"tags": None}]
    assert rows_of(table) == expected
    # A null that a merge sets is one.
    table.merge_into(pa.table({"id": ["a"], "city": ["oslo"], "note": pa.nulls(1, pa.string())}), options=options)
    assert rows_of(table) == [row("a", fare=7.0, note=None), expected[1]]


def test_an_update_of_all_columns_is_a_full_row(table):
    full = pa.Table.from_pylist([row("a", fare=2.0, ts=11, note="all")], schema=SCHEMA)
    table.merge_into(full, when_matched_update=SCHEMA.names, options=PARTIAL)
    assert data_blocks(table) == [(False, SCHEMA.names, ["a"])]
    assert rows_of(table)[0] == row("a", fare=2.0, ts=11, note="all")


# Partition columns whose values queries do not return as they were written.
ALIKE = {
    "slash": (pa.string(), "a/b"),
    "date": (pa.date32(), dt.date(1960, 1, 1)),
    "decimal": (pa.decimal128(20, 5), Decimal("1.5")),
    "nan": (pa.float64(), math.nan),
}


def partitioned(path, kind, value, table_type, **arguments):
    schema = pa.schema([("id", pa.string()), ("p", kind), ("v", pa.int64()), ("note", pa.string())])
    table = mortice.create_table(
        path, schema, name="t", record_key="id", partition_by="p", table_type=table_type, **arguments
    )
    table.upsert(
        pa.table({"id": ["a", "b"], "p": pa.array([value] * 2, kind), "v": [1, 2], "note": ["x", "y"]}, schema=schema)
    )
    return table


def values_and_paths(table):
    names = ["_hoodie_partition_path", "id", "v", "note"]
    found = mortice.Table(table.uri).snapshot(columns=names).to_arrow().sort_by("id").to_pylist()
    return [tuple(row[name] for name in names) for row in found]


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("named", ALIKE)
def test_rows_match_by_partition_path(tmp_path, named, table_type):
    kind, value = ALIKE[named]
    table = partitioned(tmp_path / "t", kind, value, table_type)
    [(path, *_), _] = values_and_paths(table)
    given = pa.table({"id": ["a", "c"], "p": pa.array([value] * 2, kind), "v": [5, 6]})
    commit = table.merge_into(given, when_matched_update=["v"])
    assert (commit.updates, commit.inserts) == (1, 1)
    assert values_and_paths(table) == [(path, "a", 5, "x"), (path, "b", 2, "y"), (path, "c", 6, None)]
    # The files keep the value of the partition column: only so is the next merge in the same partition.
    commit = table.merge_into(given.slice(0, 1).drop_columns(["v"]), when_matched_delete=[("v", "=", 5)])
    assert commit.deletes == 1
    assert values_and_paths(table) == [(path, "b", 2, "y"), (path, "c", 6, None)]


@pytest.mark.parametrize("named", ALIKE)
def test_the_key_alone_does_not_move_rows_to_other_partitions(tmp_path, named):
    kind, value = ALIKE[named]
    table = partitioned(tmp_path / "t", kind, value, "COPY_ON_WRITE")
    [(path, *_), _] = values_and_paths(table)
    given = pa.table({"id": ["a"], "v": [5]})
    table.merge_into(given, on="id", when_not_matched="ignore")
    assert values_and_paths(table) == [(path, "a", 5, "x"), (path, "b", 2, "y")]


def test_one_of_two_partition_columns_matches_by_its_part_of_the_path(tmp_path):
    schema = pa.schema([("id", pa.string()), ("p", pa.string()), ("q", pa.string()), ("v", pa.int64())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id", partition_by=["p", "q"])
    columns = {"id": ["a"] * 3, "p": ["y", "y", "x"], "q": ["1", "2", "1"], "v": [1, 2, 3]}
    table.upsert(pa.table(columns, schema=schema))
    given = pa.table({"id": ["a"], "p": ["y"], "v": [9]})
    table.merge_into(given, when_not_matched="ignore")
    found = table.snapshot(columns=["q", "v"]).to_arrow().to_pylist()
    assert sorted((row["q"], row["v"]) for row in found) == [("1", 3), ("1", 9), ("2", 9)]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_strings_of_all_layouts_are_merged(table, kind):
    given = pa.table(
        {
            "id": pa.array(["a", "x"], kind),
            "city": pa.array(["oslo"] * 2, kind),
            "note": pa.array(["new"] * 2, kind),
            "ts": [11, 11],
            "op": pa.array(["U", "U"], kind),
            "more": pa.array([["x"]] * 2, pa.list_(kind if kind == pa.string_view() else pa.string())),
        }
    )
    commit = table.merge_into(given, when_matched_update=["note"], when_matched_delete=[("op", "=", "D")])
    assert (commit.updates, commit.inserts, commit.deletes) == (1, 1, 0)
    assert [one["note"] for one in rows_of(table) if one["id"] in "ax"] == ["new", "new"]
    table.merge_into(given.slice(0, 1), when_matched_delete=[("op", "=", "U")])
    assert [one["id"] for one in rows_of(table)] == ["b", "c", "x"]


@pytest.mark.parametrize(
    "term",
    [
        ("fare", ">", 1.5),
        ("fare", "=", math.nan),
        ("fare", "in", [math.nan]),
        ("fare", "!=", 1.0),
        ("fare", "<", math.nan),
        ("fare", "not in", [2.0]),
        ("fare", ">=", math.inf),
    ],
    ids=str,
)
@pytest.mark.parametrize("stored", [True, False])
def test_filters_select_what_those_of_queries_select(tmp_path, term, stored):
    deleted, merged = created(tmp_path / "deleted")[0], created(tmp_path / "merged")[0]
    fares = [1.0, math.nan, 2.0, None, -0.0, math.inf]
    given = pa.Table.from_pylist([row(f"k{n}", fare=fare) for n, fare in enumerate(fares)], schema=SCHEMA)
    for table in (deleted, merged):
        table.upsert(given)
    deleted.delete_where([term])
    named = given.select(["id", "city"] if stored else ["id", "city", "fare"])
    merged.merge_into(named, when_matched_update=[], when_matched_delete=[term])
    assert [one["id"] for one in rows_of(merged)] == [one["id"] for one in rows_of(deleted)]


TYPES = pa.schema(
    [
        ("id", pa.string()),
        ("i", pa.int32()),
        ("s", pa.string()),
        ("d", pa.decimal128(10, 2)),
        ("at", pa.timestamp("us")),
        ("zoned", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("f", pa.float32()),
        ("b", pa.bool_()),
        ("st", pa.struct([("x", pa.int64()), ("y", pa.int64())])),
        ("l", pa.list_(pa.int64())),
    ]
)
NOON = dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone.utc)


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    table = mortice.create_table(tmp_path_factory.mktemp("typed") / "t", TYPES, name="t", record_key="id")
    table.upsert(pa.Table.from_pylist([{"id": "a"}], schema=TYPES))
    return table


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("f", pa.array([1e300])),
        ("f", pa.array([0.1])),
        ("d", pa.array([1.234])),
        ("d", pa.array([Decimal("1.234")])),
        ("day", pa.array([NOON.replace(tzinfo=None)])),
        ("b", pa.array([2])),
        ("at", pa.array([NOON])),
        ("zoned", pa.array([NOON.replace(tzinfo=None)])),
        ("at", pa.array([1], pa.timestamp("ns"))),
        ("st", pa.array([{"x": 1, "y": 2, "z": 3}])),
        ("st", pa.array([{"x": 1}])),
        ("i", pa.array([1.5])),
        ("i", pa.array([1 << 40])),
        ("i", pa.array(["12"])),
        ("s", pa.array([5])),
        ("l", pa.array([[1.5]])),
        ("l", pa.array([[1]], pa.list_view(pa.int64()))),
    ],
    ids=str,
)
def test_a_value_that_the_column_does_not_hold_is_refused(typed, column, values):
    before = len(typed.timeline)
    with pytest.raises(InvalidArgumentError, match=f'"{column}'):
        typed.merge_into(pa.table({"id": ["a"], column: values}), when_not_matched="ignore")
    assert len(mortice.Table(typed.uri).timeline) == before


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("i", pa.array([7]), 7),
        ("i", pa.array([7.0]), 7),
        ("i", pa.array([7], pa.uint8()), 7),
        ("f", pa.array([0.5]), 0.5),
        ("f", pa.array([3]), 3.0),
        ("d", pa.array([Decimal("1.5")]), Decimal("1.50")),
        ("at", pa.array([1000], pa.timestamp("ns")), dt.datetime(1970, 1, 1, microsecond=1)),
        ("st", pa.array([{"y": 1, "x": 2}]), {"x": 2, "y": 1}),
        ("l", pa.array([[1]], pa.large_list(pa.int32())), [1]),
        ("s", pa.nulls(1), None),
    ],
    ids=str,
)
def test_a_value_that_the_column_holds_is_written(typed, column, values, expected):
    typed.merge_into(pa.table({"id": ["a"], column: values}), when_not_matched="ignore")
    assert typed.snapshot(columns=[column]).to_arrow()[column].to_pylist() == [expected]
    assert typed.schema.field(column).type == TYPES.field(column).type
