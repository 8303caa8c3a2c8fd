"""A changelog that Hudi has written: `_hoodie_operation` is in its files, and no commit names the column."""

import json

import pyarrow.parquet as pq
import pytest

import mortice
from mortice.errors import InvalidArgumentError
from support.cases import DATA, assert_same_result, unpack

OPERATION = "_hoodie_operation"
CASE = "changelogs/h12_operations"
QUERIES = {
    query["id"]: query for query in json.loads((DATA / CASE / "case.json").read_text(encoding="utf-8"))["queries"]
}


@pytest.fixture
def table(tmp_path):
    return mortice.Table(unpack(CASE, tmp_path / "table"))


def scan(table, query, **arguments):
    options = query["options"]
    if options["hoodie.datasource.query.type"] == "incremental":
        return table.incremental(options["hoodie.datasource.read.begin.instanttime"], **arguments)
    return getattr(table, options["hoodie.datasource.query.type"])(**arguments)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_rows_and_operations_are_those_of_hudi(table, query):
    expected = pq.read_table(DATA / CASE / query["expected"])
    assert OPERATION in expected.column_names
    # A query that does not name the column does not look for it in the files.
    found = scan(table, query)
    assert OPERATION not in found.schema.names
    assert_same_result(expected.drop_columns([OPERATION]), found.to_arrow(), ordered=False)
    assert_same_result(expected, scan(table, query, columns=expected.column_names).to_arrow(), ordered=False)
    inserted = scan(table, query, columns=["id"], filters=[(OPERATION, "=", "I")]).to_arrow()
    assert sorted(inserted["id"].to_pylist()) == [row["id"] for row in expected.to_pylist() if row[OPERATION] == "I"]


def test_a_column_that_no_file_has_is_unknown(table_of):
    with pytest.raises(InvalidArgumentError, match="unknown column"):
        mortice.Table(table_of("h11_event_time_deletes")).snapshot(columns=[OPERATION])


def test_deletes_are_returned_with_emit_deletes(table):
    rows = table.snapshot(columns=["id", OPERATION], emit_deletes=True).to_arrow().to_pylist()
    found = {row["id"]: row[OPERATION] for row in rows}
    assert {key for key, operation in found.items() if operation == "D"} == {"b", "c", "g"}


def test_compactions_delete_what_readers_delete(table):
    expected = table.snapshot(columns=["id", "x", "ts"]).to_arrow().sort_by("id")
    table.compact(options={"hoodie.compact.inline.max.delta.commits": "1"})
    assert table.read_optimized(columns=["id", "x", "ts"]).to_arrow().sort_by("id").equals(expected)


def test_the_changelog_goes_on(table):
    rows = (
        pq.read_table(DATA / CASE / "snapshot.parquet")
        .sort_by("id")
        .slice(0, 2)
        .select([OPERATION, "id", "p", "x", "ts"])
    )
    assert rows["id"].to_pylist() == ["a", "d"]
    rows = rows.set_column(0, OPERATION, [["U", "D"]]).set_column(4, "ts", [[9.0, 9.0]])
    table.upsert(rows, options={"hoodie.allow.operation.metadata.field": "true"})
    found = {row["id"]: row[OPERATION] for row in mortice.Table(table.uri).snapshot().to_arrow().to_pylist()}
    assert found == {"a": "U", "e": None, "f": "I", "h": None, "n": None}
