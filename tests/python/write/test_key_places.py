"""Each operation under each index, with keys that are stored in the row's partition, in another one, or nowhere.

An INSERT clause never replaces a stored row or moves it, as far as the index looks for keys.
"""

import pyarrow as pa
import pytest

import mortice
from mortice.errors import InvalidArgumentError
from support.key_places import (
    CASES,
    GIVEN_FARE,
    INDEXES,
    STORED,
    given,
    places_deleted,
    places_inserted,
    places_upserted,
    rows_of,
    stored_table,
)

BY_PLACE = "t.id = s.id AND t.city = s.city"
REFUSED = "the row to insert with the key .* is in the table, in partition .*, though no stored row matches it"


def merged(table, options, data):
    return table.merge(data, BY_PLACE, options).when_not_matched_insert().execute()


def merged_into(table, options, data):
    return table.merge_into(data, on=["id", "city"], when_matched_update=[], options=options)


@pytest.mark.parametrize(("index", "kind"), CASES)
def test_an_upsert_goes_where_its_index_finds_the_key(tmp_path, index, kind):
    table = stored_table(tmp_path / "t", index, kind)
    # Hudi writes a key of a base file that a log has deleted to its old partition, if rows neither move nor are merged.
    kept_out = ["elsewhere"] if index.endswith("stays") and kind == "mor-9 by commit time" else []
    expected = {place: fare for place, fare in places_upserted(index).items() if place[0] not in kept_out}
    table.upsert(given(kept_out), INDEXES[index][0])
    assert rows_of(table.uri) == expected


@pytest.mark.parametrize("insert", [merged, merged_into])
@pytest.mark.parametrize(("index", "kind"), CASES)
def test_an_insert_clause_changes_no_stored_row(tmp_path, index, kind, insert):
    options, is_global, _ = INDEXES[index]
    table = stored_table(tmp_path / "t", index, kind)
    if is_global:
        with pytest.raises(InvalidArgumentError, match=REFUSED):
            insert(table, options, given())
        assert rows_of(table.uri) == STORED
    else:
        insert(table, options, given())
        assert rows_of(table.uri) == places_inserted(index)
        return
    insert(table, options, given(["other"]))
    assert rows_of(table.uri) == places_inserted(index, ["other"])


@pytest.mark.parametrize(("index", "kind"), CASES)
def test_deletes_and_updates_of_keys_and_of_conditions(tmp_path, index, kind):
    options, *_ = INDEXES[index]
    table = stored_table(tmp_path / "t", index, kind)
    table.merge(given(), "id", options, when_matched_update={"fare": "s.fare"})
    found = {("same", "oslo"): GIVEN_FARE, ("other", "oslo"): GIVEN_FARE, ("kept", "oslo"): 1.0}
    assert rows_of(table.uri) == found
    table.update_where({"fare": "fare - 8"}, "fare = 9", options)
    assert rows_of(table.uri) == STORED
    table.delete(given().select(["id", "city"]), options)
    assert rows_of(table.uri) == places_deleted(index)
    table.delete_where([("id", "in", ["same", "other"])], options)
    assert rows_of(table.uri) == {("kept", "oslo"): 1.0}
    table.merge(given(), "t.id = 'kept' AND s.id = 'new'", options, when_matched_delete=True)
    assert rows_of(table.uri) == {}


COMPOSITE = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("id", "kind", "city", "day", "name")),
        pa.field("fare", pa.float64()),
    ]
)


def composite(*rows):
    return pa.Table.from_pylist([dict(zip(COMPOSITE.names, row, strict=True)) for row in rows], schema=COMPOSITE)


CONDITIONS = {
    "one of two partition columns": "t.id = s.id AND t.kind = s.kind AND t.city = s.city",
    "another column": "t.id = s.id AND t.kind = s.kind AND t.name = s.name",
    "an expression": "t.id = s.id AND t.kind = s.kind AND lower(t.name) = s.name",
    "a part of the key": "t.id = s.id AND t.name = s.name",
    "a constant": "t.id = s.id AND t.kind = s.kind AND s.fare = 1",
    "nothing": "1 = 2",
}


@pytest.mark.parametrize("index", ["simple", "bucket", "record index"])
@pytest.mark.parametrize("on", CONDITIONS.values(), ids=CONDITIONS)
def test_an_insert_clause_refuses_a_key_that_its_condition_does_not_match(tmp_path, index, on):
    options, is_global, _ = INDEXES[index]
    keys = {"record_key": ["id", "kind"], "partition_by": ["city", "day"]}
    table = mortice.create_table(tmp_path / "t", COMPOSITE, **keys)
    stored = composite(("a", "x", "oslo", "1", "Ann", 1.0), ("b", None, "oslo", None, "Bob", 1.0))
    table.upsert(stored, options)
    again = [("a", "x", "oslo", "1", "Cid", 2.0), ("b", None, "oslo", None, "Bob", 1.0)]
    elsewhere = ("a", "x", "rome", "1", "Cid", 2.0)

    def insert(row):
        table.merge(composite(row), on, options).when_not_matched_insert().execute()

    def rows():
        return sorted(mortice.Table(table.uri).snapshot(columns=COMPOSITE.names).to_arrow().to_pylist(), key=str)

    # Null equals nothing, and a key may have it.
    matched = {CONDITIONS["one of two partition columns"]: "a", CONDITIONS["a part of the key"]: "b"}
    for row in again:
        if matched.get(on) != row[0]:
            with pytest.raises(InvalidArgumentError, match="though no stored row matches it"):
                insert(row)
        else:
            insert(row)
    assert rows() == sorted(stored.to_pylist(), key=str)
    if is_global:
        with pytest.raises(InvalidArgumentError, match="though no stored row matches it"):
            insert(elsewhere)
    else:
        insert(elsewhere)
    assert len(rows()) == (2 if is_global else 3)


@pytest.mark.parametrize("combines", ["true", "false"])
def test_two_rows_of_one_key_are_not_both_new_under_a_global_index(tmp_path, combines):
    options = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.combine.before.upsert": combines}
    table = stored_table(tmp_path / "t", "global simple", "mor-9")
    twice = pa.table({"id": ["new", "new"], "city": ["oslo", "rome"], "fare": [1.0, 2.0], "ts": [5, 5]})
    for insert in (merged, merged_into):
        with pytest.raises(InvalidArgumentError, match="several rows have the key"):
            insert(table, options, twice)
    assert rows_of(table.uri) == STORED


def test_partition_columns_change_only_if_the_index_moves_rows(tmp_path):
    for index in ("record index", "global simple, stays"):
        table = stored_table(tmp_path / index, index, "mor-9")
        with pytest.raises(InvalidArgumentError, match="'city' is part of the partition path"):
            table.update_where({"city": "'rome'"}, "id = 'same'", INDEXES[index][0])
        assert rows_of(table.uri) == STORED
    table = stored_table(tmp_path / "moves", "record index, moves", "mor-9")
    table.update_where({"city": "'rome'"}, "id = 'same'", INDEXES["record index, moves"][0])
    assert rows_of(table.uri) == {("same", "rome"): 1.0, ("other", "oslo"): 1.0, ("kept", "oslo"): 1.0}
