"""Updates, deletes and merges of tables with a column that marks deletes.

It is `_hoodie_is_deleted`, the column that properties name, or `_hoodie_operation`.
"""

import subprocess
import sys

import pyarrow as pa
import pytest

import mortice

FLAG, OPERATION = "_hoodie_is_deleted", "_hoodie_operation"
MARKER = {"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "D"}
ALLOWED = {"hoodie.allow.operation.metadata.field": "true"}
MARKS = {
    # The column, its type, values of live rows, the value of a delete, and properties.
    "flag": (FLAG, pa.bool_(), (False, None, False), True, {}),
    "property": ("op", pa.string(), ("I", None, "U"), "D", MARKER),
    "operation": (OPERATION, pa.string(), ("I", "I", "I"), "D", {}),
}
KINDS = {
    "mor-9": {"ordering": "ts"},
    "cow-9": {"ordering": "ts", "table_type": "COPY_ON_WRITE"},
    "mor-9 by commit time": {},
    "mor-6": {"ordering": "ts", "version": 6},
}
OWN = [("id", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())]


def rows(mark, *given):
    """Rows of key, fare, ordering value and mark."""
    name, kind, *_ = MARKS[mark]
    types = [*(own for _, own in OWN), kind]
    columns = [pa.array(column, own) for column, own in zip(zip(*given, strict=True), types, strict=True)]
    return pa.table(columns, names=[*(name for name, _ in OWN), name])


def table_of(path, mark, kind):
    name, kind_of_mark, live, _, properties = MARKS[mark]
    columns = [*OWN] if name == OPERATION else [*OWN, (name, kind_of_mark)]
    table = mortice.create_table(path, pa.schema(columns), record_key="id", properties=properties, **KINDS[kind])
    given = rows(mark, *((key, fare, 1, one) for key, fare, one in zip("abc", (1.0, 2.0, 3.0), live, strict=True)))
    table.upsert(given, ALLOWED if name == OPERATION else None)
    return table


def fares(table):
    found = mortice.Table(table.uri).snapshot(columns=["id", "fare"]).to_arrow().to_pylist()
    return {row["id"]: row["fare"] for row in found}


@pytest.fixture(params=[(mark, kind) for mark in MARKS for kind in KINDS], ids=" ".join)
def marked(tmp_path, request):
    mark, kind = request.param
    return mark, table_of(tmp_path / "t", mark, kind)


def test_rows_are_updated_and_deleted_by_conditions(marked):
    mark, table = marked
    name, *_ = MARKS[mark]
    assert table.update_where({"fare": "fare + 10"}, "id <> 'b'").updates == 2
    assert fares(table) == {"a": 11.0, "b": 2.0, "c": 13.0}
    live, others = ("false", "false") if mark == "flag" else ("'U'", "'I', 'U'")
    table.update_where({"fare": "5", name: live}, f"id = 'b' AND coalesce({name}, {live}) IN ({others})")
    table.delete_where([("id", "=", "c")])
    assert fares(table) == {"a": 11.0, "b": 5.0}


def test_rows_are_merged(marked):
    _, table = marked
    new = pa.table({"id": ["a", "b", "d"], "fare": [7.0, None, 8.0], "ts": [2, 2, 2]})
    commit = table.merge(
        new,
        "id",
        when_matched_delete="s.fare IS NULL",
        when_matched_update={"fare": "s.fare"},
        when_not_matched_insert="all",
        when_not_matched_by_source_update={"fare": "t.fare * 2"},
    )
    assert (commit.inserts, commit.deletes) == (1, 1)
    assert fares(table) == {"a": 7.0, "c": 6.0, "d": 8.0}
    again = pa.table({"id": ["a", "c", "e"], "fare": [1.0, 2.0, 3.0], "ts": [3, 3, 3]})
    table.merge_into(again, when_matched_update=["fare"], when_matched_delete=[("fare", "=", 2.0)])
    assert fares(table) == {"a": 1.0, "d": 8.0, "e": 3.0}
    table.merge(again, "id", when_not_matched_by_source_delete=True)
    assert fares(table) == {"a": 1.0, "e": 3.0}


def test_a_mark_that_a_statement_sets_deletes(marked):
    mark, table = marked
    name, _, _, deletes, _ = MARKS[mark]
    value = "true" if deletes is True else f"'{deletes}'"
    table.update_where({name: value}, "id = 'a'")
    assert fares(table) == {"b": 2.0, "c": 3.0}
    given = rows(mark, ("b", 5.0, 2, deletes), ("x", 5.0, 2, deletes), ("y", 6.0, 2, None))
    # A row that is marked is not inserted.
    table.merge(given, "id", when_matched_update={"fare": "s.fare", name: f"s.{name}"}, when_not_matched_insert="all")
    assert fares(table) == {"c": 3.0, "y": 6.0}


def test_an_insert_clause_with_a_mark_deletes_nothing(tmp_path):
    """Its key may be in another partition under a global index."""
    schema = pa.schema([("id", pa.string()), ("city", pa.string()), (FLAG, pa.bool_())])
    for index in ("GLOBAL_SIMPLE", "SIMPLE"):
        options = {"hoodie.index.type": index}
        table = mortice.create_table(tmp_path / index, schema, record_key="id", partition_by="city")
        table.upsert(pa.table({"id": ["a"], "city": ["oslo"], FLAG: [False]}), options)
        given = pa.table({"id": ["a"], "city": ["rome"], FLAG: [True]})
        table.merge(given, ["id", "city"], options, when_not_matched_insert="all")
        table.merge_into(given, on=["id", "city"], when_matched_update=[], options=options)
        assert mortice.Table(table.uri).to_arrow(["id", "city"]).to_pylist() == [{"id": "a", "city": "oslo"}]


def test_the_command_line_updates_rows_of_a_table_with_a_mark(tmp_path):
    table = table_of(tmp_path / "t", "flag", "mor-9")
    given = [sys.executable, "-m", "mortice", "update", table.uri, "--set", "fare=3", "--filter", "id = 'a'"]
    done = subprocess.run(given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert fares(table) == {"a": 3.0, "b": 2.0, "c": 3.0}
