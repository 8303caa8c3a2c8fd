"""A split can be resumed from any row: `to_reader(start_row=n)` returns the remaining rows, for all kinds of splits."""

import pytest

import mortice
from support.oracle import DataBlock, DeleteBlock, Field, Merging, Value
from support.oracle.model import EVENT_TIME
from support.tables.table_writer import Slice, instant, with_meta, write_table

FIELDS = (Field("id", "string"), Field("fare", "long"), Field("ts", "long"))
MERGING = Merging(FIELDS, EVENT_TIME, ("ts",))
CHANGES = ("h12_cdc_odd_data_before_after", "h015_cdc_odd_op_key_only", "h12_cdc_cow_op_key_only")
ROWS = 60


def row(number, commit):
    key = f"{number:03}"
    return with_meta({"id": key, "fare": commit, "ts": commit}, key, commit, f"{commit}{key}")


@pytest.fixture(scope="module", params=[6, 9])
def path(request, tmp_path_factory):
    """A base file with row groups of 7 rows; logs with updates, inserts, a late row and deletes."""
    base = tuple(row(number, 0) for number in range(0, ROWS, 2))
    commits = (
        (DataBlock(tuple(row(number, 1) for number in range(0, ROWS, 5))),),
        (DeleteBlock(tuple((f"{number:03}", Value("Long", 90)) for number in range(3, ROWS, 12))),),
        (DataBlock(tuple(row(number, 2) for number in range(1, ROWS, 9))),),
    )
    slice_ = Slice(base, commits, row_group_rows=7)
    return write_table(tmp_path_factory.mktemp("table"), MERGING, request.param, slice_)


QUERIES = {
    "snapshot": lambda table: table.snapshot(),
    "filtered": lambda table: table.snapshot(columns=["fare"], filters=[("fare", "<", 2), ("id", ">", "01")]),
    "emit deletes": lambda table: table.snapshot(emit_deletes=True),
    "skip merge": lambda table: table.snapshot(merge=False),
    "read optimized": lambda table: table.read_optimized(),
    "without columns": lambda table: table.snapshot(columns=[]),
    "incremental": lambda table: table.incremental(instant(0)),
    "incremental from the earliest": lambda table: table.incremental("earliest", emit_deletes=True),
    "changelog": lambda table: table.incremental("earliest", changelog=True),
}


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("limit", [{}, {"memory_limit": 1}], ids=["in memory", "spilled"])
@pytest.mark.parametrize("query", QUERIES)
def test_from_every_row(path, query, limit, parts):
    scan = QUERIES[query](mortice.Table(path, read_options=mortice.ReadOptions(threads=1, batch_rows=4, **limit)))
    (whole,) = scan.splits()
    splits = scan.splits(max_split_bytes=-(-whole.size // parts))
    assert len(splits) >= parts
    assert sum(resumes_from_every_row(split) for split in splits) > 10


@pytest.mark.parametrize("case", CHANGES)
def test_changes_from_every_row(case, table_of):
    splits = (
        mortice.Table(table_of(case), read_options=mortice.ReadOptions(threads=1, batch_rows=4))
        .changes("earliest")
        .splits()
    )
    assert sum(resumes_from_every_row(split) for split in splits) > 10


def test_a_slice_that_is_merged_in_passes(tmp_path):
    """With more keys than the smallest index has room for."""
    numbers = range(1200)
    rows = (tuple(row(number, commit) for number in numbers) for commit in range(3))
    slice_ = Slice(next(rows), tuple((DataBlock(some),) for some in rows))
    table = mortice.Table(
        write_table(tmp_path / "table", MERGING, 9, slice_),
        read_options=mortice.ReadOptions(memory_limit=1, batch_rows=300, threads=1),
    )
    (split,) = table.snapshot().splits()
    whole = split.to_reader().read_all()
    assert whole.num_rows == len(numbers)
    for start in (0, 1, 299, 300, 301, 777, 1199, 1200, 1201):
        assert split.to_reader(start_row=start).read_all() == whole.slice(start)


def resumes_from_every_row(split):
    """Returns the number of rows."""
    whole = split.to_reader().read_all()
    again = mortice.Split.from_bytes(split.to_bytes())
    for start in range(whole.num_rows + 2):
        rest = again.to_reader(start_row=start).read_all()
        assert rest.num_rows == max(whole.num_rows - start, 0)
        # pyarrow cannot slice batches without columns.
        assert not whole.column_names or rest == whole.slice(start), start
    return whole.num_rows
