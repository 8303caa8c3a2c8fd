"""A merge by a condition makes batches of so many bytes: the rows are the same for any size of them.

`rust/client/src/row_changes/merge.rs` has the same with batches of one row, `one_batch.rs` columns of 2 GiB.
"""

import pyarrow as pa
import pytest

import mortice
from support.tables.written import NO_METADATA


def stored(size):
    values = ["v" * (at % 50) * size for at in range(300)]
    return pa.table({"id": [f"k{at}" for at in range(300)], "n": range(300), "s": values})


def given(size):
    values = ["w" * (at % 7) * 9 * size for at in range(300)]
    return pa.table({"id": [f"k{at}" for at in range(100, 400)], "n": range(1000, 1300), "s": values})


@pytest.mark.parametrize("size", [1, 10_000], ids=["one batch", "several batches of 64 MiB"])
def test_a_merge_does_not_depend_on_the_size_of_its_batches(tmp_path, size):
    before, rows = stored(size), given(size)
    table = mortice.create_table(tmp_path / "t", before.schema, name="t", record_key="id")
    table.bulk_insert(before, NO_METADATA)
    merge = table.merge(rows, "t.id = s.id", NO_METADATA)
    merge.when_matched_update({"n": "s.n", "s": "concat(t.s, s.s)"}, "s.n < 1150").when_not_matched_insert().execute()
    expected = {row["id"]: row for row in before.to_pylist()}
    for row in rows.to_pylist():
        known = expected.get(row["id"])
        if known is None:
            expected[row["id"]] = row
        elif row["n"] < 1150:
            expected[row["id"]] = row | {"s": known["s"] + row["s"]}
    found = mortice.Table(tmp_path / "t").to_arrow().to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, expected.values()))
