"""A read with a very small memory limit returns the same rows and removes its spill files."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.exploring import explore
from support.oracle import DataBlock, Field, Merging, Value
from support.oracle.model import KEY, DeleteBlock
from support.tables.histories import SCENARIOS, histories
from support.tables.table_writer import Slice, with_meta, write_table

COPIES = 60  # copies of each key, more than the smallest index has room for
TAKEN = [one for one in SCENARIOS if one.payload != "EmptyHoodieRecordPayload"]


def copied_rows(rows):
    copies = ((row, f"{row[KEY]}~{copy}") for copy in range(COPIES) for row in rows)
    return tuple(row | {KEY: key, "id": key} for row, key in copies)


def copied(block):
    if isinstance(block, DataBlock):
        return replace(block, rows=copied_rows(block.rows))
    return DeleteBlock(tuple((f"{key}~{copy}", value) for copy in range(COPIES) for key, value in block.deletes))


def with_many_keys(slice_):
    commits = tuple(tuple(copied(block) for block in commit) for commit in slice_.commits)
    return replace(slice_, base=slice_.base and copied_rows(slice_.base), commits=commits)


def rows(table, **choices):
    return sorted(map(repr, table.snapshot(**choices).to_arrow().to_pylist()))


@pytest.mark.parametrize("scenario", TAKEN, ids=str)
@explore(2, cases=len(TAKEN))
@given(data=st.data())
def test_rows_do_not_depend_on_the_memory_limit(scenario, data, tmp_path_factory):
    history = data.draw(histories(scenario))
    folder, aside = tmp_path_factory.mktemp("table"), tmp_path_factory.mktemp("aside")
    path = write_table(folder, history.merging, history.version, with_many_keys(history.slice))
    merge = not scenario.skip_merge
    emit_deletes = merge and data.draw(st.booleans())
    mapped = data.draw(st.booleans())
    arguments = {"semantics": scenario.semantics, "mmap": mapped, "batch_rows": 100}
    free = mortice.Table(path, read_options=mortice.ReadOptions(threads=1, **arguments))
    tight = mortice.Table(
        path, read_options=mortice.ReadOptions(threads=1, memory_limit=1, spill_dir=aside, **arguments)
    )
    choices = {"merge": merge, "emit_deletes": emit_deletes}
    assert rows(tight, **choices) == rows(free, **choices)
    assert not list(aside.iterdir())


FIELDS = (Field("id", "string"), Field("text", "string"), Field("ts", "long"))
KEYS = 20_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """20,000 keys, every second one in the base file, all in the log, every fourth deleted there."""

    def row(number, commit):
        return with_meta({"id": f"{number:06}", "text": f"{commit}" * 20, "ts": commit}, f"{number:06}", commit, number)

    base = tuple(row(number, 0) for number in range(0, KEYS, 2))
    log = DataBlock(tuple(row(number, 1) for number in range(KEYS)))
    deletes = DeleteBlock(tuple((f"{number:06}", Value("Long", 2)) for number in range(0, KEYS, 4)))
    table = Slice(base, ((log,), (deletes,)))
    return write_table(tmp_path_factory.mktemp("large"), Merging(FIELDS, ordering=("ts",)), 9, table)


def test_a_small_limit_causes_passes_and_no_limit_one_pass(large, tmp_path):
    scan = mortice.Table(
        large, read_options=mortice.ReadOptions(memory_limit=400_000, spill_dir=tmp_path / "made")
    ).snapshot(columns=["id", "ts"])
    ids = [int(key) for key in scan.to_arrow()["id"].to_pylist()]
    assert sorted(ids) == [number for number in range(KEYS) if number % 4]
    # Base rows come first, in their order, with any number of passes.
    assert ids[: KEYS // 4] == list(range(2, KEYS, 4))
    report = scan.report()
    assert report["passes"] >= 3
    assert report["records_read"] == KEYS + KEYS // 4
    assert not list((tmp_path / "made").iterdir())
    scan = mortice.Table(large).snapshot()
    scan.to_arrow()
    assert scan.report()["passes"] == 0


@pytest.mark.parametrize("compressed", [True, False])
def test_spill_errors_name_the_directory_and_the_reason(large, compressed):
    table = mortice.Table(
        large, read_options=mortice.ReadOptions(memory_limit=1, spill_dir="/dev/null/none", spill_compressed=compressed)
    )
    with pytest.raises(mortice.MorticeError, match=r"spill_dir.*/dev/null/none|/dev/null/none.*spill_dir"):
        table.snapshot().to_arrow()


@pytest.mark.slow
def test_a_dropped_reader_removes_its_spill_files(large, tmp_path):
    reader = (
        mortice.Table(large, read_options=mortice.ReadOptions(memory_limit=1, spill_dir=tmp_path, batch_rows=10))
        .snapshot()
        .to_reader()
    )
    assert reader.read_next_batch().num_rows
    reader.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("limit", [0, -1, 1.5, "1g", True])
def test_the_limit_must_be_a_number_of_bytes(large, limit):
    with pytest.raises(mortice.InvalidArgumentError, match="memory_limit"):
        mortice.Table(large, read_options=mortice.ReadOptions(memory_limit=limit))
