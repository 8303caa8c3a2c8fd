"""Tables whose schema has changed: each file is read with the query's schema."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.exploring import explore
from support.oracle.model import KEY, META
from support.tables.evolving import ID, RENAMED, Column, Write, expected, histories, renamed_table, write_history
from support.tables.table_writer import instant


def rows_by_key(scan, columns):
    return {row[KEY]: {name: row[name] for name in columns} for row in scan.to_arrow().to_pylist()}


@pytest.mark.parametrize("by", ["id", "name"])
@explore(40, cases=2)
@given(data=st.data())
def test_files_are_read_with_the_last_schema(by, data):
    history = data.draw(histories(by))
    with tempfile.TemporaryDirectory() as folder:
        path = write_history(Path(folder) / "t", history)
        names = [column.name for column in history.columns]
        table = mortice.Table(path)
        assert [name for name in table.schema.names if name not in META] == names
        wanted = expected(history)
        assert rows_by_key(table.snapshot(), names) == wanted
        # A projection, and a filter on one of its columns.
        name = data.draw(st.sampled_from(names))
        assert rows_by_key(table.snapshot(columns=[KEY, name]), [name]) == {
            key: {name: row[name]} for key, row in wanted.items()
        }
        for test in ("is null", "is not null"):
            passing = {key for key, row in wanted.items() if (row[name] is None) == (test == "is null")}
            assert rows_by_key(table.snapshot(filters=[(name, test)]), []).keys() == passing


@pytest.mark.parametrize("version", [6, 9])
def test_schema_and_names_are_those_at_the_instant_of_the_query(tmp_path, version):
    path, rows = renamed_table(tmp_path, version)
    table = mortice.Table(path)
    assert rows_by_key(table.snapshot(), ["id", "full_name", "price"]) == rows
    assert table.read_optimized(columns=["full_name"]).to_arrow().to_pylist()[7] == {"full_name": "n7"}
    before = table.snapshot(as_of=instant(0)).to_arrow()
    assert before.schema.names[5:] == ["id", "name", "price"]
    assert before.to_pylist()[0]["name"] == "n0"


def test_columns_have_ids_once_one_is_renamed(tmp_path):
    table = mortice.Table(renamed_table(tmp_path)[0])
    assert table.has_column_ids()
    assert not table.has_column_ids(instant(0))


def test_renamed_columns_prune_row_groups(tmp_path):
    path, _ = renamed_table(tmp_path)
    scan = mortice.Table(path).read_optimized(columns=["id"], filters=[("full_name", "=", "n2")])
    assert scan.to_arrow().to_pylist() == [{"id": 2}]
    assert scan.report()["row_groups_pruned"] == 3


def test_another_column_of_the_same_name_does_not_prune(tmp_path):
    added_again = (ID, Column(13, "full_name", "string"), Column(12, "price", "long"))
    path, rows = renamed_table(tmp_path, more=[(ID, RENAMED[2]), added_again])
    assert {row["full_name"] for row in rows.values()} == {None}
    scan = mortice.Table(path).snapshot(filters=[("full_name", "is null"), ("price", "<", 9)])
    assert len(rows_by_key(scan, ["id"])) == 7


def test_schemas_are_read_from_commits_if_the_history_is_missing(tmp_path):
    """All schemas but that before the first change: its files are read by name."""
    again = (ID, Column(11, "whole_name", "string"), RENAMED[2])
    path, rows = renamed_table(tmp_path, more=[again])
    for file in Path(path, ".hoodie", ".schema").iterdir():
        file.unlink()
    read = rows_by_key(mortice.Table(path).snapshot(), ["id", "whole_name", "price"])
    assert read["k7"] == rows["k7"]
    assert read["k0"] == {"id": 0, "whole_name": None, "price": 0}


def test_the_schema_history_is_used_for_archived_commits(tmp_path):
    path, rows = renamed_table(tmp_path, version=6, more=[Write(RENAMED, {"k1": {10: 1, 11: "x", 12: 1}})])
    for number in (0, 1):
        for file in Path(path, ".hoodie").glob(f"{instant(number)}.*"):
            file.unlink()
    assert rows_by_key(mortice.Table(path).snapshot(), ["id", "full_name", "price"]) == {**rows}


def test_a_truncated_history_is_an_error_with_its_path(tmp_path):
    path, _ = renamed_table(tmp_path)
    for file in Path(path, ".hoodie", ".schema").glob("*.schemacommit"):
        file.write_text("{")
    with pytest.raises(mortice.InvalidTableError) as caught:
        mortice.Table(path).snapshot()
    assert ".schema/" in str(caught.value)
