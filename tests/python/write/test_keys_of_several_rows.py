"""Keys that a table has several times, as inserts leave them: each change of a key reaches all of its rows.

A state is made of where the rows of the key are; the changes are tried in copies of it.
"""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import mortice
from mortice.errors import InvalidArgumentError, MorticeError, TableServiceError
from support.tables.repeated_keys import (
    AGAIN,
    COW,
    ELSEWHERE,
    FIRST,
    MOR,
    OTHER,
    SCHEMA,
    State,
    arrow,
    file_and_logs,
    file_groups,
    one_file,
    one_file_group,
    partitions,
    rows_of,
)

METADATA = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
RECORD_INDEX = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
STATES = [
    *(State(place, kind) for place in (one_file, one_file_group, file_groups, partitions) for kind in (COW, MOR)),
    State(file_and_logs, MOR),
    State(file_and_logs, MOR, version=6),
    State(one_file, MOR, version=6, index="BLOOM"),
    State(one_file, MOR, version=8, ordering=None),
    State(file_groups, MOR, version=6, ordering=None),
    State(file_groups, COW, version=8, index="BLOOM", more=METADATA),
    State(one_file, COW, index="BUCKET"),
    State(one_file, MOR, index="BUCKET", ordering=None),
    State(one_file, COW, index="RECORD_INDEX", more=RECORD_INDEX),
    State(one_file_group, MOR, index="RECORD_INDEX", more=RECORD_INDEX),
    State(one_file, MOR, index="RECORD_INDEX", more=RECORD_INDEX),
    State(file_and_logs, MOR, index="BUCKET"),
    State(one_file, MOR, version=6, index="BUCKET"),
    *(
        State(place, kind, index="RECORD_INDEX", more=RECORD_INDEX)
        for place in (file_groups, partitions)
        for kind in (COW, MOR)
    ),
    State(file_groups, MOR, index="RECORD_INDEX", ordering=None, more=RECORD_INDEX),
    *(State(place, kind, index="GLOBAL_SIMPLE") for place in (file_groups, partitions) for kind in (COW, MOR)),
    State(one_file, MOR, index="GLOBAL_BLOOM", ordering=None),
]


@pytest.fixture(scope="module", params=STATES, ids=str)
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    request.param.build(folder / "built")
    return request.param, folder


@pytest.fixture
def state(built):
    """A copy of the table, and what is known of it."""
    state, folder = built
    copy = folder / f"copy_{len(list(folder.iterdir()))}"
    shutil.copytree(folder / "built", copy)
    return state, mortice.Table(str(copy))


def check(state, table, expected):
    """These are the rows, merged by position or by key, and after a compaction."""
    expected = sorted(expected, key=lambda row: row[2] + row[1])
    for arguments in ({}, {"record_positions": False}, {"use_metadata": False, "prune": False}):
        assert rows_of(table, **arguments) == expected, arguments
    if state.table_type == MOR:
        table.refresh()
        table.compact(state.options)
        assert rows_of(table) == expected
    damage = {one.kind for one in mortice.Table(table.uri).verify().findings}
    assert damage <= {"duplicate_key"}


def keys_of(state):
    rows = [FIRST, ELSEWHERE] if state.is_apart and not state.is_global else [FIRST]
    return arrow(*rows).select(["id", "city"])


def by_key(state, table):
    return table.delete(keys_of(state), state.options)


def by_filter(state, table):
    return table.delete_where([("id", "=", "k")], state.options)


def by_merge(state, table):
    return table.merge(arrow(FIRST), "t.id = s.id", state.options, when_matched_delete=True)


def by_several_rows(state, table):
    given = arrow(FIRST, AGAIN, ("k", "x", "third", 1))
    return table.merge(given, "t.id = s.id", state.options, when_matched_delete="s.ts > 0")


def by_merge_into(state, table):
    given = arrow(FIRST, AGAIN)
    return table.merge_into(given, "id", ["note", "ts"], "ignore", "ts > 0", state.options)


def is_forgotten(state):
    """Whether the index knows one of the file groups of the key alone: that of the row that was inserted last."""
    return state.index == "RECORD_INDEX" and state.place in {file_groups, partitions}


def is_one_of(state, *states):
    """Whether a state is one of those that a test is tried with that is like another one."""
    return is_forgotten(state) or any(
        (state.place, state.table_type, state.index) == (place, kind, "SIMPLE") for place, kind in states
    )


@pytest.mark.parametrize("delete", [by_key, by_filter, by_merge, by_several_rows, by_merge_into])
def test_a_delete_reaches_all_rows_of_a_key(state, delete):
    state, table = state
    if is_forgotten(state) and delete is by_key:
        pytest.skip("rows of the user name what the index knows")
    few = ((one_file, COW), (file_and_logs, MOR), (file_groups, MOR), (partitions, COW))
    if delete not in {by_key, by_filter} and not is_one_of(state, *few):
        pytest.skip("deletes of merges are written like others")
    assert delete(state, table).deletes == 2
    check(state, table, [OTHER if state.place is not file_and_logs else (*OTHER[:3], 11)])


def test_a_row_that_is_named_takes_the_others_of_its_key_with_it(state):
    """Changes are by record key, as in Hudi."""
    state, table = state
    commit = table.delete_where([("note", "=", "again")], state.options)
    left = [row for row in rows_of(table) if row[0] == "k"]
    assert left == ([FIRST] if state.is_apart and (not state.is_global or is_forgotten(state)) else [])
    assert commit.deletes == 2 - len(left)


def test_an_upsert_changes_all_rows_of_a_key(state):
    state, table = state
    if is_forgotten(state):
        pytest.skip("rows of the user name what the index knows")
    new = ("k", "x", "new", 30)
    table.upsert(arrow(new), state.options)
    found = rows_of(table, "k")
    if state.is_apart:
        assert found == ([new] if state.is_global else [ELSEWHERE, new])
    elif state.place is file_groups and state.is_global:
        assert set(found) == {new}
    else:
        assert found == [new, new]
    assert rows_of(table, "k", record_positions=False) == found


@pytest.mark.parametrize("condition", ["id = 'k'", "note = 'again'"])
def test_an_update_that_would_copy_a_row_is_refused(state, condition):
    state, table = state
    before = rows_of(table)

    def update():
        return table.update_where({"note": "concat(note, '!')"}, condition, state.options)

    if state.is_apart and (not state.is_global or (is_forgotten(state) and "id" not in condition)):
        # The key is another one in each partition, or the row of another partition is forgotten.
        update()
        assert sum("!" in row[2] for row in rows_of(table)) == (2 if "id" in condition else 1)
        return
    with pytest.raises(InvalidArgumentError, match=r"several rows of the key ['\"]k['\"]"):
        update()
    assert rows_of(table) == before


def test_an_update_that_makes_rows_equal_is_one(state):
    state, table = state
    if state.is_apart:
        pytest.skip("the rows differ in their partitions")
    table.update_where({"note": "'same'", "ts": "50"}, "id = 'k'", state.options)
    found = rows_of(table, "k")
    assert set(found) == {("k", "x", "same", 50)}
    assert len(found) == 2


def test_a_merge_of_all_columns_changes_all_rows(state):
    state, table = state
    if not is_one_of(state, (one_file, COW), (file_and_logs, MOR), (file_groups, COW)):
        pytest.skip("its rows are written like those of an update")
    given = arrow(("k", "x", "merged", 50))
    table.merge_into(given, options=state.options)
    found = rows_of(table, "k")
    # By the record index rows stay in their partitions, unless an option says otherwise.
    assert {(row[0], *row[2:]) for row in found} == {("k", "merged", 50)}
    assert len(found) == 2


def test_an_erasure_leaves_no_row(state):
    state, table = state
    if not is_one_of(state, (one_file, COW), (file_and_logs, MOR), (file_groups, MOR), (partitions, COW)):
        pytest.skip("an erasure deletes by filter")
    done = table.erase([("id", "=", "k")], state.options)
    assert done.rows == 2
    check(state, table, [OTHER if state.place is not file_and_logs else (*OTHER[:3], 11)])


@pytest.mark.parametrize("kind", [COW, MOR])
@pytest.mark.parametrize("place", [file_groups, partitions])
def test_rows_of_the_user_name_what_the_record_index_knows(tmp_path, place, kind):
    """It has one file group of a key, as in Hudi. Rows that are read from the table are named by themselves."""
    state = State(place, kind, index="RECORD_INDEX", more=RECORD_INDEX)
    last = ELSEWHERE if place is partitions else AGAIN
    for name, change in (("upserted", mortice.Table.upsert), ("deleted", mortice.Table.delete)):
        table = state.build(tmp_path / name)
        change(table, arrow(("k", last[1], "new", 30)), state.options)
        left = [] if name == "deleted" else [("k", last[1], "new", 30)]
        assert rows_of(table, "k") == [FIRST, *left]
        table.delete_where([("id", "=", "k")], state.options)
        assert rows_of(table) == [OTHER]


@pytest.mark.parametrize("index", ["BUCKET", "RECORD_INDEX"])
def test_logs_get_keys_that_no_base_file_has_twice(tmp_path, index):
    """The footer of a base file says so: then its keys are not read, and the file is not rewritten."""
    more = RECORD_INDEX if index == "RECORD_INDEX" else {}
    state = State(one_file, MOR, index=index, more=more)
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id", partition_by="city", ordering="ts",
                                 table_type=MOR)  # fmt: skip
    table.insert(arrow(FIRST, OTHER), state.options)
    files = [one for one in Path(table.uri).rglob("*.parquet") if ".hoodie" not in one.parts]
    assert [pq.read_metadata(one).metadata[b"mortice.distinct.keys"] for one in files] == [b"2"]
    table.upsert(arrow(("k", "x", "new", 30)), state.options)
    assert rows_of(table, "k") == [("k", "x", "new", 30)]
    assert [one for one in Path(table.uri).rglob("*.parquet") if ".hoodie" not in one.parts] == files


def test_an_erasure_reads_the_table_again(tmp_path, monkeypatch):
    """A row that is left is found, though its values count as those of another row."""
    state = State(one_file, COW)
    table = state.build(tmp_path / "t")
    monkeypatch.setattr(mortice.Table, "delete_where", lambda *_: None)
    with pytest.raises(TableServiceError, match="2 rows that the filters select are in the table"):
        table.erase([("id", "=", "k")], state.options)
    assert len(rows_of(table, "k")) == 2


def test_a_pending_compaction_of_the_file_group_is_executed_first(tmp_path):
    state = State(file_and_logs, MOR)
    table = state.build(tmp_path / "t")
    table.compact(state.options, run=False)
    with pytest.raises(MorticeError, match="pending"):
        table.delete_where([("id", "=", "k")], state.options)
    table.compact(state.options, schedule=False)
    assert table.delete_where([("id", "=", "k")], state.options).deletes == 2
    assert rows_of(table, "k") == []


def test_changes_have_each_deleted_row(tmp_path):
    table = mortice.create_table(
        tmp_path / "t", SCHEMA, name="t", record_key="id", partition_by="city", ordering="ts", table_type=COW,
        properties={"hoodie.table.cdc.enabled": "true"},
    )  # fmt: skip
    one_file(table, {})
    commit = table.delete_where([("id", "=", "k")])
    table.refresh()
    changes = table.changes(table.timeline.active.completed[0].completion_time).to_arrow()
    assert commit.deletes == 2
    assert sorted(changes.column("op").to_pylist()) == ["d", "d"]
