"""Bulk inserts by several threads: rows keep their order in each file, and an error of one thread undoes the write."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from mortice.errors import InvalidArgumentError

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64())])
BATCHES, ROWS = 60, 300


def new_table(path):
    return mortice.create_table(path, SCHEMA, name="t", record_key="id", partition_by="part", ordering="ts")


def batches(bad=None):
    """Batches whose rows are of three partitions each. The last row of the batch `bad` has no key."""
    for number in range(BATCHES):
        at = range(number * ROWS, (number + 1) * ROWS)
        keys = [f"k{row:06}" for row in at]
        if number == bad:
            keys[-1] = None
        yield pa.record_batch([keys, [f"p{row % 3}" for row in at], list(at)], schema=SCHEMA)


def base_files(path):
    return sorted(Path(path).glob("p*/*.parquet"))


@pytest.mark.parametrize("mode", ["NONE", "PARTITION_PATH_REPARTITION", "GLOBAL_SORT"])
def test_rows_keep_their_order(tmp_path, mode):
    reader = pa.RecordBatchReader.from_batches(SCHEMA, batches())
    commit = new_table(tmp_path).bulk_insert(reader, options={"hoodie.bulkinsert.sort.mode": mode})
    assert commit.inserts == BATCHES * ROWS
    files = [pq.ParquetFile(file).read() for file in base_files(tmp_path)]
    assert len(files) == 3
    for file in files:
        assert file["ts"].to_pylist() == list(range(file["ts"][0].as_py(), BATCHES * ROWS, 3))
        numbers = [int(number.rpartition("_")[2]) for number in file["_hoodie_commit_seqno"].to_pylist()]
        assert numbers == list(range(len(numbers)))


@pytest.mark.parametrize("bad", [0, BATCHES - 1])
def test_an_error_of_one_thread_undoes_the_write(tmp_path, bad):
    table = new_table(tmp_path)
    with pytest.raises(InvalidArgumentError, match=f"row {(bad + 1) * ROWS - 1}"):
        table.bulk_insert(pa.RecordBatchReader.from_batches(SCHEMA, batches(bad)))
    assert base_files(tmp_path) == []
    assert not [instant for instant in mortice.Table(tmp_path).timeline if instant.action != "rollback"]
    table.bulk_insert(pa.RecordBatchReader.from_batches(SCHEMA, batches()))
    assert mortice.Table(tmp_path).snapshot(columns=["id"]).to_arrow().num_rows == BATCHES * ROWS
