"""The ordering column of base rows is not read if all log records are later than the base file's statistics."""

import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.cases import multiset
from support.exploring import explore
from support.oracle import DataBlock, DeleteBlock, Field, Merging, Value
from support.oracle.model import EVENT_TIME
from support.oracle.ordering import CLASSES
from support.tables.histories import ORDERING_VALUES
from support.tables.table_writer import Slice, with_meta, write_table

KINDS = ("int", "long", "date", "timestamp", "double", "string")


def row(key, x, ts, commit, number):
    return with_meta({"id": key, "x": x, "ts": ts}, key, commit, number)


def table(folder, kind, base, *commits, row_group_rows=None, version=9):
    fields = (Field("id", "string"), Field("x", "long"), Field("ts", kind))
    base = tuple(row(key, x, ts, 0, number) for number, (key, x, ts) in enumerate(base))
    slice_ = Slice(base, commits, row_group_rows=row_group_rows)
    return write_table(folder, Merging(fields, EVENT_TIME, ("ts",)), version, slice_)


def updates(*rows, commit=1):
    return DataBlock(tuple(row(key, x, ts, commit, number) for number, (key, x, ts) in enumerate(rows)))


def x_values(path, **options):
    rows = (
        mortice.Table(path, read_options=mortice.ReadOptions(**options))
        .snapshot(columns=["id", "x"])
        .to_arrow()
        .to_pylist()
    )
    return {row["id"]: row["x"] for row in rows}


def corrupt_ordering_column(path):
    """Corrupts the ordering column of the base file."""
    (base,) = Path(path).glob("*.parquet")
    content = bytearray(base.read_bytes())
    groups = pq.ParquetFile(base).metadata
    for group in range(groups.num_row_groups):
        columns = (groups.row_group(group).column(at) for at in range(groups.num_columns))
        (column,) = (column for column in columns if column.path_in_schema == "ts")
        first = column.dictionary_page_offset or column.data_page_offset
        content[first : first + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    base.write_bytes(content)
    return path


BASE = [("a", 1, 10), ("b", 2, 30), ("c", 3, 20)]


def test_later_updates_win_without_the_ordering_column(tmp_path):
    path = corrupt_ordering_column(
        table(tmp_path, "long", BASE, (updates(("a", 7, 30), ("d", 8, 31)),), row_group_rows=2)
    )
    assert x_values(path) == {"a": 7, "b": 2, "c": 3, "d": 8}
    with pytest.raises(mortice.MorticeError):
        x_values(path, prune=False)


@pytest.mark.parametrize("update", [("a", 7, 29), ("a", 7, None)])
def test_one_earlier_update_requires_the_ordering_column(tmp_path, update):
    path = table(tmp_path, "long", BASE, (updates(update, ("c", 9, 40)),))
    assert x_values(path) == {"a": 7 if update[2] else 1, "b": 2, "c": 9}
    with pytest.raises(mortice.MorticeError):
        x_values(corrupt_ordering_column(path))


def test_a_null_ordering_value_requires_the_ordering_column(tmp_path):
    path = table(tmp_path, "long", [*BASE, ("n", 4, None)], (updates(("a", 7, 50)),))
    assert x_values(path)["a"] == 7
    with pytest.raises(mortice.MorticeError):
        x_values(corrupt_ordering_column(path))


@pytest.mark.property
@pytest.mark.parametrize("kind", KINDS)
def test_rows_do_not_depend_on_statistics(kind):
    keys = "abcdef"

    @explore(60, cases=len(KINDS))
    @given(data=st.data())
    def run(data):
        values = st.sampled_from(ORDERING_VALUES[kind])
        value = values if data.draw(st.booleans()) else st.one_of(st.none(), values)
        base = [(key, number, data.draw(value)) for number, key in enumerate(keys)]
        rows = st.tuples(st.sampled_from(keys + "xy"), st.integers(10, 99), value)
        commits = []
        for commit in range(1, data.draw(st.integers(1, 2)) + 1):
            deletes = data.draw(st.lists(st.tuples(st.sampled_from(keys), value), max_size=2))
            blocks = [
                updates(*data.draw(st.lists(rows, min_size=1, max_size=3, unique_by=lambda row: row[0])), commit=commit)
            ]
            if deletes:
                blocks.append(
                    DeleteBlock(tuple((key, None if at is None else Value(CLASSES[kind], at)) for key, at in deletes))
                )
            commits.append(tuple(blocks))
        with tempfile.TemporaryDirectory() as folder:
            groups = data.draw(st.sampled_from([None, 2]))
            path = table(Path(folder), kind, base, *commits, row_group_rows=groups)
            whole = (
                mortice.Table(path, read_options=mortice.ReadOptions(prune=False))
                .snapshot()
                .to_arrow()
                .select(["id", "x"])
                .to_pylist()
            )
            part = mortice.Table(path).snapshot(columns=["id", "x"]).to_arrow().to_pylist()
            assert multiset(part) == multiset(whole)

    run()
