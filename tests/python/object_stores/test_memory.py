"""Fetched bytes stay within `memory_limit`, and reads make progress with any limit."""

import pytest

import mortice
from support.object_stores.fixtures import StoredTable
from support.object_stores.large_table import write_large_table
from support.object_stores.uploads import upload

ROWS, SLICES = 60_000, 8
MIB = 1 << 20
KEYS = {"access_key_id": "A", "secret_access_key": "B"}


@pytest.fixture(scope="module")
def stored(moto, bucket, tmp_path_factory):
    """Eight base files of 7 MiB, which are fetched whole if memory allows."""
    path = write_large_table(tmp_path_factory.mktemp("large"), ROWS, ROWS, SLICES)
    upload(moto, bucket, path, "lake/eight_slices")
    return StoredTable(f"s3://{bucket}/lake/eight_slices", {"endpoint": moto, "region": "us-east-1", **KEYS}, moto)


def read(stored, limit, threads, columns=("n0",)):
    table = mortice.Table(
        stored.uri,
        storage_options=stored.options,
        read_options=mortice.ReadOptions(memory_limit=limit, threads=threads),
    )
    scan = table.snapshot(columns=columns)
    assert scan.to_arrow().num_rows == ROWS * SLICES
    return scan.report()


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("limit", [64 * MIB, 16 * MIB])
def test_fetched_bytes_stay_within_a_quarter_of_the_limit(stored, limit, threads):
    report = read(stored, limit, threads)
    # Each reader may need one column chunk more than the budget has room for.
    assert 0 < report["peak_fetched_bytes"] <= limit // 4 + threads * MIB


def test_files_are_fetched_once_if_memory_allows(stored):
    report = read(stored, 1 << 30, 1, columns=None)
    assert report["read_requests"] == SLICES
    assert report["peak_fetched_bytes"] > 8 * MIB


@pytest.mark.parametrize("threads", [1, 8])
def test_a_limit_of_one_byte_returns_all_rows(stored, threads):
    report = read(stored, 1, threads, columns=None)
    # A reader needs a part of each column chunk at once, less than its file of 7 MiB.
    assert report["peak_fetched_bytes"] < 7 * threads * MIB
