"""Splits of one slice together return each row once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.exploring import explore
from support.oracle import DataBlock, Field, Merging
from support.oracle.model import KEY, DeleteBlock
from support.tables.histories import SCENARIOS, histories
from support.tables.table_writer import Slice, instant, with_meta, write_table

FEW, MANY = 7, 30  # copies of each key; many are more keys than the smallest index has room for


def copied_rows(rows, copies):
    copies = ((row, f"{row[KEY]}~{copy}") for copy in range(copies) for row in rows)
    return tuple(row | {KEY: key, "id": key} for row, key in copies)


def copied(block, copies):
    if isinstance(block, DataBlock):
        return replace(block, rows=copied_rows(block.rows, copies))
    return DeleteBlock(tuple((f"{key}~{copy}", value) for copy in range(copies) for key, value in block.deletes))


def copy_keys(slice_, copies, row_group_rows, positions):
    """Copies the history of each key to several keys; the base file has row groups, and rows of a key in more than
    one."""
    commits = tuple(tuple(copied(block, copies) for block in commit) for commit in slice_.commits)
    base = slice_.base and copied_rows(slice_.base, copies)
    return replace(slice_, base=base, commits=commits, row_group_rows=row_group_rows, positions=positions)


def rows(parts):
    return sorted(repr(row) for part in parts for row in part.to_reader().read_all().to_pylist())


def read_in_parts(scan, parts):
    whole = scan.splits()
    size = max((split.size for split in whole), default=1)
    return scan.splits(max_split_bytes=-(-size // parts))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
@explore(4, cases=len(SCENARIOS))
@given(data=st.data())
def test_parts_return_all_rows(scenario, data, tmp_path_factory):
    history = data.draw(histories(scenario))
    limit, copies = data.draw(st.sampled_from((({}, FEW), ({"memory_limit": 1}, MANY))))
    slice_ = copy_keys(history.slice, copies, data.draw(st.integers(1, 30)), data.draw(st.booleans()))
    path = write_table(tmp_path_factory.mktemp("table"), history.merging, history.version, slice_)
    merge = not scenario.skip_merge
    choices = {"merge": merge, "emit_deletes": merge and data.draw(st.booleans())}
    table = mortice.Table(
        path, read_options=mortice.ReadOptions(threads=1, semantics=scenario.semantics, batch_rows=10, **limit)
    )
    scans = [table.snapshot(**choices), table.read_optimized()]
    if merge:
        begin = data.draw(st.sampled_from(("earliest", instant(0), instant(1))))
        scans += [table.incremental(begin, changelog=changelog) for changelog in (False, True)]
    parts = data.draw(st.integers(2, 9))
    for scan in scans:
        assert rows(read_in_parts(scan, parts)) == rows(scan.splits())


FIELDS = (Field("id", "string"), Field("text", "string"), Field("ts", "long"))


def row(number, commit):
    return with_meta({"id": f"{number:04}", "text": f"{commit}{number}", "ts": commit}, f"{number:04}", commit, number)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """1,000 keys, every second one in ten row groups of the base file; the log has every fifth."""
    base = tuple(row(number, 0) for number in range(0, 1000, 2))
    log = DataBlock(tuple(row(number, 1) for number in range(0, 1000, 5)))
    slice_ = Slice(base, ((log,),), row_group_rows=50)
    return mortice.Table(write_table(tmp_path_factory.mktemp("parts"), Merging(FIELDS, ordering=("ts",)), 9, slice_))


def test_base_rows_are_assigned_by_row_group_and_inserts_by_key(table):
    scan = table.snapshot(columns=["id", "ts"])
    parts = read_in_parts(scan, 5)
    ids = [[int(key) for key in part.to_reader().read_all()["id"].to_pylist()] for part in parts]
    assert [sum(not key % 2 for key in some) for some in ids[:5]] == [100] * 5
    assert all(5 < sum(key % 2 for key in some) < 40 for some in ids[:5])
    assert sorted(key for some in ids for key in some) == [key for key in range(1000) if not key % 2 or not key % 5]


def test_a_slice_of_few_row_groups_has_parts_without_base_rows(table):
    parts = read_in_parts(table.read_optimized(), 1000)
    counts = [part.to_reader().read_all().num_rows for part in parts]
    assert counts == [50] * 10 + [0] * (len(parts) - 10)


def test_a_part_can_be_pickled_and_has_a_repr(table):
    part = read_in_parts(table.snapshot(), 3)[1]
    again = mortice.Split.from_bytes(part.to_bytes())
    assert again.to_reader().read_all() == part.to_reader().read_all()
    assert f"part 2 of {len(read_in_parts(table.snapshot(), 3))}" in repr(again)


def test_a_part_can_be_resumed_from_any_row(table):
    part = read_in_parts(table.snapshot(columns=["id"]), 5)[2]
    whole = part.to_reader().read_all()
    for start in range(0, whole.num_rows + 2, 7):
        assert part.to_reader(start_row=start).read_all() == whole.slice(start)


@pytest.mark.parametrize("most", [0, -1, 1.5, "1m", True])
def test_the_size_must_be_a_number_of_bytes(table, most):
    with pytest.raises(mortice.InvalidArgumentError, match="max_split_bytes"):
        table.snapshot().splits(max_split_bytes=most)
