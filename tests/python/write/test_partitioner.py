"""`Table.bulk_insert` with a user-defined partitioner: which rows share a file."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import mortice
from mortice.errors import InvalidArgumentError, UnsupportedError

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("zone", pa.int64())])


class NoZoneError(Exception):
    """What a user raises."""


@pytest.fixture
def table(tmp_path):
    return mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id", partition_by="city")


def rows(count):
    numbers = range(count)
    columns = [list(numbers), [("oslo", "rome")[n % 2] for n in numbers], [n * 7919 % 5 for n in numbers]]
    return pa.table(columns, schema=SCHEMA)


def files(table):
    return [pq.read_table(path) for path in sorted(Path(table.uri).glob("*/*.parquet"))]


def test_rows_of_one_output_share_files_in_their_order(table):
    given = rows(1000)
    batches = []

    def by_zone(batch):
        batches.append(batch.num_rows)
        return batch["zone"]

    commit = table.bulk_insert(given.to_reader(max_chunksize=300), partitioner=by_zone)
    assert batches == [300, 300, 300, 100]
    assert commit.inserts == 1000
    found = files(table)
    assert len(found) == 10
    for file in found:
        assert len(pc.unique(file["zone"])) == len(pc.unique(file["city"])) == 1
        assert file["id"].to_pylist() == sorted(file["id"].to_pylist())
    read = mortice.Table(table.uri).snapshot(columns=SCHEMA.names).to_arrow().sort_by("id")
    assert read.equals(given)


def test_outputs_of_any_integers(table):
    table.bulk_insert(rows(8), partitioner=lambda batch: [1 << 40, -1] * (batch.num_rows // 2))
    assert sorted(len(file) for file in files(table)) == [4, 4]
    assert "_mortice_output" not in mortice.Table(table.uri).schema.names


@pytest.mark.parametrize(
    ("partitioner", "message"),
    [
        ("zone", "must be a function"),
        (lambda batch: [1], "each of 4 rows, got 1 values"),
        (lambda batch: [1, None, 2, 3], "1 nulls"),
        (lambda batch: ["a"] * 4, "must return integers"),
        (lambda batch: [0.5] * 4, "must return integers"),
    ],
)
def test_what_is_no_partitioner_is_refused(table, partitioner, message):
    with pytest.raises(InvalidArgumentError, match=message):
        table.bulk_insert(rows(4), partitioner=partitioner)
    assert not files(table)
    assert mortice.Table(table.uri).snapshot().count() == 0


def test_an_exception_of_the_function_ends_the_write(table):
    calls = []

    def fails_later(batch):
        calls.append(1)
        if len(calls) == 3:
            raise NoZoneError("no zone")
        return batch["zone"]

    with pytest.raises(NoZoneError, match="no zone"):
        table.bulk_insert(rows(1000).to_reader(max_chunksize=100), partitioner=fails_later)
    assert not files(table)
    table.bulk_insert(rows(10), partitioner=lambda batch: batch["zone"])
    assert mortice.Table(table.uri).snapshot().count() == 10


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"},
        {"hoodie.combine.before.insert": "true"},
        {"hoodie.write.ignore.failed": "true"},
        {"hoodie.index.type": "BUCKET"},
    ],
)
def test_options_that_distribute_rows_otherwise_are_refused(table, options):
    with pytest.raises(UnsupportedError, match="user-defined partitioner with"):
        table.bulk_insert(rows(4), options, partitioner=lambda batch: batch["zone"])
    assert len(mortice.Table(table.uri).timeline) == 0
