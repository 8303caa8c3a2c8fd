"""A merge by a condition makes batches of so many bytes: the rows are the same for any size of them."""

import pyarrow as pa
import pytest

import mortice
from mortice.errors import InvalidArgumentError
from mortice.writing import merge_run
from support.tables.written import NO_METADATA

STORED = pa.table(
    {"id": [f"k{at}" for at in range(300)], "n": range(300), "s": ["v" * (at % 50) * 100 for at in range(300)]}
)
GIVEN = pa.table(
    {
        "id": [f"k{at}" for at in range(100, 400)],
        "n": range(1000, 1300),
        "s": ["w" * (at % 7) * 900 for at in range(300)],
    }
)


@pytest.mark.parametrize("size", [1, 5_000, 64 << 20])
def test_a_merge_does_not_depend_on_the_size_of_its_batches(tmp_path, monkeypatch, size):
    monkeypatch.setattr(merge_run, "_BATCH_BYTES", size)
    table = mortice.create_table(tmp_path / "t", STORED.schema, name="t", record_key="id")
    table.bulk_insert(STORED, NO_METADATA)
    merge = table.merge(GIVEN, "t.id = s.id", NO_METADATA)
    merge.when_matched_update({"n": "s.n", "s": "concat(t.s, s.s)"}, "s.n < 1150").when_not_matched_insert().execute()
    expected = {row["id"]: row for row in STORED.to_pylist()}
    for row in GIVEN.to_pylist():
        known = expected.get(row["id"])
        if known is None:
            expected[row["id"]] = row
        elif row["n"] < 1150:
            expected[row["id"]] = row | {"s": known["s"] + row["s"]}
    found = mortice.Table(tmp_path / "t").to_arrow().to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, expected.values()))


def test_rows_that_are_no_single_batch_are_refused():
    class Chunks:
        """A table whose chunks cannot be combined, as those of a column of 2 GiB and more."""

        def combine_chunks(self):
            return self

        def to_batches(self):
            return STORED.slice(0, 10).to_batches() + STORED.slice(10).to_batches()

    with pytest.raises(InvalidArgumentError, match="2 GiB"):
        merge_run._one_batch(Chunks())
