"""Logs with record positions are merged by position. The rows equal those of a merge by keys, as long as no key is in a
base file several times (see `test_duplicate_keys.py`)."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.exploring import explore
from support.oracle import DataBlock, DeleteBlock, Field, Merging, Value
from support.oracle.model import KEY
from support.tables.histories import SCENARIOS, UNSUPPORTED, histories
from support.tables.table_writer import Slice, with_meta, write_table

TAKEN = [one for one in SCENARIOS if max(one.versions) >= 8 and one.name not in UNSUPPORTED and not one.skip_merge]


def first_of_each(entries, key):
    """Returns entries of different keys, in their order."""
    return tuple({key(entry): entry for entry in reversed(entries)}.values())[::-1]


def with_positions(slice_, more):
    """Returns the slice with positions as Hudi writes them: each key once in the base file and in a block."""
    base = first_of_each(slice_.base, lambda row: row[KEY])
    there = {row[KEY] for row in base}

    def with_distinct_keys(block):
        if isinstance(block, DataBlock):
            rows = first_of_each([row for row in block.rows if row[KEY] in there], lambda row: row[KEY])
            return rows and replace(block, rows=rows)
        deletes = first_of_each([entry for entry in block.deletes if entry[0] in there], lambda entry: entry[0])
        return deletes and DeleteBlock(deletes)

    commits = tuple(tuple(filter(None, map(with_distinct_keys, commit))) for commit in slice_.commits)
    if more and slice_.commits:
        # One block without positions, so that all are merged by key.
        commits = (*commits[:-1], slice_.commits[-1])
    return replace(slice_, base=base, commits=commits, positions=True)


def rows(table, **choices):
    return list(map(repr, table.snapshot(**choices).to_arrow().to_pylist()))


@pytest.mark.parametrize("scenario", TAKEN, ids=str)
@explore(4, cases=len(TAKEN))
@given(data=st.data())
def test_merges_by_position_and_by_key_return_the_same_rows(scenario, data, tmp_path_factory):
    history = data.draw(histories(scenario).filter(lambda history: history.slice.base and history.version >= 8))
    slice_ = with_positions(history.slice, data.draw(st.integers(0, 3)) == 0)
    path = write_table(tmp_path_factory.mktemp("table"), history.merging, history.version, slice_)
    arguments = {"threads": 1, "batch_rows": data.draw(st.sampled_from((2, 1000)))}
    by_keys = mortice.Table(path, read_options=mortice.ReadOptions(record_positions=False, **arguments))
    by_numbers = mortice.Table(path, read_options=mortice.ReadOptions(**arguments))
    choices = {
        "emit_deletes": data.draw(st.booleans()),
        "columns": data.draw(st.sampled_from((None, ["id"], ["text"]))),
    }
    assert rows(by_numbers, **choices) == rows(by_keys, **choices)


FIELDS = (Field("id", "string"), Field("text", "string"), Field("ts", "long"))


def row(key, commit, name=None):
    return with_meta({"id": name or key, "text": f"{commit}", "ts": commit}, key, commit, key)


def table_of(folder, base, *commits, mode="EVENT_TIME_ORDERING", **arguments):
    merging = Merging(FIELDS, mode, ordering=("ts",))
    path = write_table(folder, merging, 9, Slice(base, commits, positions=True))
    return mortice.Table(path, read_options=mortice.ReadOptions(**arguments))


def strings(table, **choices):
    return table.snapshot(columns=["text"], **choices).to_arrow()["text"].to_pylist()


@pytest.mark.parametrize("mode", ["EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"])
@pytest.mark.parametrize("limit", [None, 1])
def test_many_rows(tmp_path, mode, limit):
    keys = [f"{number:05}" for number in range(3000)]
    chance = random.Random(7)
    updated, deleted = chance.sample(keys, 1000), set(chance.sample(keys, 500))
    commits = (
        (DataBlock(tuple(row(key, 1) for key in updated)),),
        (DeleteBlock(tuple((key, Value("Long", 2)) for key in deleted)),),
    )
    base = tuple(row(key, 0) for key in keys)
    table = table_of(tmp_path, base, *commits, mode=mode, memory_limit=limit, batch_rows=700)
    expected = ["1" if key in updated else "0" for key in keys if key not in deleted]
    assert strings(table) == expected
    assert table.snapshot().count() == len(expected)


def test_a_key_that_is_in_the_base_file_twice(tmp_path):
    """The log has the position of the first row only; a merge by keys updates the first row, too."""
    base = (row("k", 0), row("k", 0), row("l", 0))
    for positions in (True, False):
        folder = tmp_path / str(positions)
        folder.mkdir()
        table = table_of(folder, base, (DataBlock((row("k", 1),)),), record_positions=positions)
        assert strings(table) == ["1", "0", "0"]


def test_rows_are_merged_by_position_if_there_are_positions(tmp_path):
    """A log record has another key than its base row. No writer does this, but it shows how rows are merged."""
    base = (row("a", 0), row("b", 0))
    table = table_of(tmp_path, base, (DataBlock((row("b", 1),)),))
    path = next(tmp_path.glob(".*.log.*"))
    # Replaces the key by another of the same length, in the content only.
    path.write_bytes(path.read_bytes().replace(b"\x02\x02b", b"\x02\x02z"))
    assert strings(table) == ["0", "1"]
    by_keys = mortice.Table(str(tmp_path), read_options=mortice.ReadOptions(record_positions=False))
    assert strings(by_keys) == ["0", "0", "1"]
    # A filter on the key does not change this.
    assert strings(table, filters=[("_hoodie_record_key", "=", "z")]) == ["1"]


@pytest.mark.parametrize("wrong", ["instant", "bitmap"])
def test_invalid_positions_are_ignored(tmp_path, wrong):
    """Positions in another base file, or not a bitmap."""
    base = (row("a", 0), row("b", 0), row("c", 0))
    table = table_of(tmp_path, base, (DataBlock((row("a", 1), row("c", 1))),))
    path = next(tmp_path.glob(".*.log.*"))
    content = path.read_bytes()
    bitmap = content.index(b"AQAAAAAAAA")
    if wrong == "instant":
        at = content.rindex(b"20260102030000000")
        content = content[:at] + b"20250102030000000" + content[at + 17 :]
    else:
        content = content[:bitmap] + b"!" + content[bitmap + 1 :]
    path.write_bytes(content)
    assert strings(table) == ["1", "0", "1"]
