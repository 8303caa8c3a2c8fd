"""The batches of a scan are bit-identical for any number of threads, also if several threads read one file slice."""

import pytest

import mortice
from support.cases import TABLES


def batches(path, threads, **arguments):
    return list(
        mortice.Table(path, read_options=mortice.ReadOptions(threads=threads, batch_rows=7))
        .snapshot(**arguments)
        .to_reader()
    )


def outcome(path, threads, **arguments):
    try:
        return [batch.serialize().to_pybytes() for batch in batches(path, threads, **arguments)]
    except mortice.MorticeError as error:
        return str(error)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "arguments", [{}, {"columns": ["_hoodie_record_key"]}, {"merge": False}], ids=["all", "key", "each"]
)
def test_batches_do_not_depend_on_the_number_of_threads(name, arguments, table_of):
    path = table_of(name)
    alone = outcome(path, 1, **arguments)
    assert all(outcome(path, threads, **arguments) == alone for threads in (2, 5))


def test_a_scan_of_one_slice_can_be_dropped_midway(table_of):
    table = mortice.Table(table_of("h12_column_stats"), read_options=mortice.ReadOptions(threads=8, batch_rows=1))
    for split in table.snapshot().splits()[:1]:
        reader = table.snapshot(filters=[("_hoodie_partition_path", "=", split.partition)]).to_reader()
        assert reader.read_next_batch().num_rows == 1
        reader.close()
