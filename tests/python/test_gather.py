"""Batches gathered for engines: the same rows in the same order, in few tables, the first at once."""

import pyarrow as pa

from mortice.engines.scans import gathered


def batches(counts, text="x"):
    first = 0
    for count in counts:
        numbers = pa.array(range(first, first + count), pa.int64())
        yield pa.record_batch({"n": numbers, "t": pa.array([text] * count, pa.string())})
        first += count


def test_small_batches_become_few_tables():
    tables = list(gathered(batches([5] * 1_000)))
    assert pa.concat_tables(tables)["n"].to_pylist() == list(range(5_000))
    assert len(tables) == 2


def test_the_first_rows_are_not_waited_for():
    def two_then_fail():
        yield from batches([0, 0, 3])
        raise AssertionError("another batch was asked for")

    assert next(gathered(two_then_fail())).num_rows == 3


def test_tables_are_of_bounded_rows_and_bytes():
    assert [table.num_rows for table in gathered(batches([1, *[40_000] * 5]))] == [1, 80_000, 80_000, 40_000]
    tables = list(gathered(batches([1, *[10] * 40], text="x" * 1_000_000)))
    assert max(table.nbytes for table in tables) < (16 << 20) + 11_000_000
    assert sum(table.num_rows for table in tables) == 401


def test_rows_without_columns_are_counted():
    nothing = pa.record_batch({"n": [1, 2, 3]}).select([])
    assert sum(table.num_rows for table in gathered([nothing, nothing])) == 6
    assert list(gathered([])) == []
