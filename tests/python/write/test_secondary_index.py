"""A secondary index has one key for each row after every operation, and is built as it is kept."""

import json
import pathlib

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError, InvalidTableError, UnsupportedError
from support.tables.written import NO_SMALL_FILES, new_table

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("name", pa.string())])
INDEX = "secondary_index_by_name"
RECORD_INDEX = {"hoodie.index.type": "RECORD_INDEX"} | NO_SMALL_FILES
KINDS = [(version, table_type) for version in (8, 9) for table_type in ("MERGE_ON_READ", "COPY_ON_WRITE")]


def rows(*given):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in given], schema=SCHEMA)


FIRST = rows(
    ("a", "x", 1, "ann"), ("b$", "x", 1, "q\\z$"), ("c", "y", 1, None), ("d", "y", 1, ""), ("e", "y", 1, "ann")
)


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    version, table_type = request.param
    table = new_table(tmp_path / "trips", version, table_type, SCHEMA)
    table.upsert(FIRST, RECORD_INDEX | {"hoodie.metadata.record.index.enable": "true"})
    return table


def escaped(value):
    if value is None:
        return "\0"
    return "".join("\\" + char if char in "\\$\0" else char for char in value)


def keys(table):
    """The keys of all secondary indexes."""
    records = table.metadata_table().snapshot(["key", "type"]).to_arrow().to_pylist()
    return sorted(record["key"] for record in records if record["type"] == 7)


def expected(table, column="name", text=str):
    stored = table.snapshot(["_hoodie_record_key", column]).to_arrow().to_pylist()
    values = [(row[column] if row[column] is None else text(row[column]), row["_hoodie_record_key"]) for row in stored]
    return sorted(f"{escaped(value)}${escaped(key)}" for value, key in values)


def check(table):
    assert keys(table) == expected(table)
    built = table.build_metadata(rebuild=True)
    assert INDEX in built.partitions
    assert keys(table) == expected(table)


def create(table, column="name"):
    return table.build_metadata(add=[f"{INDEX}({column})"])


def test_each_operation_keeps_the_index(table):
    assert create(table).added == [INDEX]
    assert keys(table) == expected(table)
    definition = json.loads((pathlib.Path(table.uri) / ".hoodie/.index_defs/index.json").read_text())
    assert definition["indexDefinitions"][INDEX] == {
        "indexName": INDEX,
        "indexType": "secondary_index",
        "indexFunction": "identity",
        "sourceFields": ["name"],
        "indexOptions": {},
        "version": "V2" if table.version == 9 else "V1",
    }
    table.upsert(rows(("a", "x", 2, "new"), ("c", "y", 2, "was null"), ("f", "z", 1, "ann")), RECORD_INDEX)
    assert keys(table) == expected(table)
    # A late row changes nothing, and its value is not in the index.
    table.upsert(rows(("a", "x", 1, "late")), RECORD_INDEX)
    assert keys(table) == expected(table)
    table.upsert(rows(("b$", "x", 2, None)), RECORD_INDEX)
    table.delete(["d"], RECORD_INDEX)
    assert keys(table) == expected(table)
    table.insert(rows(("g", "x", 1, "$")), RECORD_INDEX)
    table.bulk_insert(rows(("h", "y", 1, "\\")), RECORD_INDEX)
    assert keys(table) == expected(table)
    if table.properties["hoodie.table.type"] == "MERGE_ON_READ":
        table.compact()
        assert keys(table) == expected(table)
    table.cluster(options={"hoodie.clustering.plan.strategy.small.file.limit": "1000000"})
    assert keys(table) == expected(table)
    table.insert_overwrite(rows(("a", "x", 5, "new"), ("i", "x", 5, "ann")), RECORD_INDEX)
    assert keys(table) == expected(table)
    table.delete_partitions(["y"])
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    check(table)


def test_rows_that_move_stay_in_the_index(table):
    create(table)
    move = RECORD_INDEX | {"hoodie.record.index.update.partition.path": "true"}
    table.upsert(rows(("a", "z", 3, "ann"), ("c", "x", 3, "moved")), move)
    check(table)


def test_a_rolled_back_write_is_not_in_the_index(table):
    create(table)
    before = keys(table)
    commit = table.upsert(rows(("a", "x", 2, "undone"), ("j", "x", 1, "undone")), RECORD_INDEX)
    assert keys(table) != before
    table.rollback(commit.instant)
    assert keys(table) == before == expected(table)


def test_the_metadata_table_is_compacted_with_the_index(table):
    create(table)
    for step in range(12):
        table.upsert(rows(("a", "x", 10 + step, f"n{step}")), RECORD_INDEX)
    assert keys(table) == expected(table)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.int32(), 7, str),
        (pa.int64(), -7, str),
        (pa.date32(), 18263, str),
        (pa.timestamp("us", "UTC"), 1_577_934_245_678_000, str),
    ],
)
def test_values_of_other_types(tmp_path, kind, value, text):
    schema = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("v", kind)])
    table = new_table(tmp_path / "trips", 9, schema=schema)
    column = pa.array([value], pa.int64() if kind != pa.int32() and kind != pa.date32() else pa.int32()).cast(kind)
    given = pa.table([pa.array(["a"]), pa.array(["x"]), pa.array([1]), column], schema=schema)
    table.upsert(given, RECORD_INDEX | {"hoodie.metadata.record.index.enable": "true"})
    create(table, "v")
    assert keys(table) == [f"{text(value)}$a"]


def test_two_indexes_on_one_column(table):
    create(table)
    table.build_metadata(add=["secondary_index_again(name)"])
    table.upsert(rows(("a", "x", 2, "new")), RECORD_INDEX)
    assert keys(table) == sorted(expected(table) * 2)
    table.build_metadata(drop=[INDEX])
    assert keys(table) == expected(table)
    assert "again" in str(table.build_metadata(drop=["secondary_index_again"]).dropped)
    assert keys(table) == []


def test_what_cannot_be_indexed_is_refused_by_name(table):
    for add, kind, word in (
        (f"{INDEX}", InvalidArgumentError, "column"),
        (f"{INDEX}(nosuch)", InvalidTableError, "nosuch"),
        ("record_index(id)", InvalidArgumentError, "record_index"),
    ):
        with pytest.raises(kind, match=word):
            table.build_metadata(add=[add])
    create(table)
    with pytest.raises(InvalidArgumentError, match="by_name"):
        create(table, "city")
    with pytest.raises(InvalidArgumentError, match="by_name"):
        table.build_metadata(drop=["record_index"])
    assert create(table).added == []


def test_damaged_definitions_name_the_index(table):
    create(table)
    path = pathlib.Path(table.uri) / ".hoodie/.index_defs/index.json"
    definitions = json.loads(path.read_text())
    del definitions["indexDefinitions"][INDEX]
    path.write_text(json.dumps(definitions))
    with pytest.raises(InvalidTableError, match=INDEX):
        mortice.Table(table.uri).upsert(rows(("a", "x", 2, "new")), RECORD_INDEX)
    path.write_text("{")
    with pytest.raises(InvalidTableError, match=r"index\.json"):
        mortice.Table(table.uri).upsert(rows(("a", "x", 2, "new")), RECORD_INDEX)
    assert len(mortice.Table(table.uri).snapshot(["id"]).to_arrow()) == 5


def test_a_float_has_no_secondary_index(tmp_path):
    schema = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("v", pa.float64())])
    table = new_table(tmp_path / "trips", 9, schema=schema)
    given = pa.table([["a"], ["x"], [1], [1.0]], schema=schema)
    table.upsert(given, RECORD_INDEX | {"hoodie.metadata.record.index.enable": "true"})
    with pytest.raises(UnsupportedError, match=INDEX):
        create(table, "v")
