"""The number of tasks of a query depends on its work, not on its files."""

from dataclasses import dataclass

import pytest

import mortice
from mortice.spark.execution.tasks import DEFAULT_SPLIT_BYTES, tasks_of

MIB = 1 << 20
PARTITIONED = "h11_composite_keys_encoded_partitions"


@dataclass(frozen=True)
class OneSplit:
    size: int
    log_size: int = 0


class OneScan:
    """A scan of slices of these sizes, of which a query reads a share; each can be divided."""

    def __init__(self, sizes, share=1.0, log_size=0):
        self.sizes, self.share, self.log_size = sizes, share, log_size

    def base_share(self):
        return self.share

    def splits(self, max_split_bytes=None):
        found = []
        for size in self.sizes:
            parts = 1 if max_split_bytes is None else -(-size // max_split_bytes)
            found += [OneSplit(size // parts, self.log_size // parts)] * parts
        return found


@pytest.mark.parametrize(
    ("sizes", "share", "cores", "tasks"),
    [
        ([5 * MIB] * 4, 0.1, 200, 1),
        ([44 * MIB] * 4, 1.0, 200, 4),
        ([44 * MIB] * 4, 0.1, 200, 2),
        ([44 * MIB] * 4, 0.1, 2, 2),
        ([45 * MIB, 44 * MIB, 44 * MIB, 43 * MIB], 1.0, 2, 2),
        ([100 * MIB] * 16, 1.0, 8, 16),
        ([1 * MIB] * 1000, 1.0, 4, 40),
        ([], 1.0, 4, 0),
    ],
)
def test_small_queries_take_few_tasks(sizes, share, cores, tasks):
    assert len(tasks_of(OneScan(sizes, share), cores=cores)) == tasks


def test_large_slices_are_divided():
    assert len(tasks_of(OneScan([1024 * MIB]))) == 8
    # A column of it is as much work as 100 MiB: no task has less work than a quarter of a second.
    assert len(tasks_of(OneScan([1024 * MIB], share=0.1))) == 5
    assert len(tasks_of(OneScan([1024 * MIB], share=0.1), cores=1)) == 1
    assert len(tasks_of(OneScan([20 * 1024 * MIB], share=0.1), cores=1)) == 16


def test_logs_are_work_independent_of_the_columns():
    of_base, of_logs = (OneScan([100 * MIB] * 4, share=0.01, log_size=size) for size in (0, 90 * MIB))
    assert len(tasks_of(of_base)) < len(tasks_of(of_logs))


@pytest.mark.parametrize("share", [1.0, 0.1])
@pytest.mark.parametrize("cores", [1, 8, 200])
def test_every_split_is_in_one_task_within_the_limit(share, cores):
    scan = OneScan([300 * MIB, 90 * MIB, *[7 * MIB] * 50], share)
    tasks = tasks_of(scan, cores=cores)
    assert sum(split.size for task in tasks for split in task) == sum(scan.sizes)
    work = [sum(split.size * share for split in task) for task in tasks]
    assert max(work) <= DEFAULT_SPLIT_BYTES
    assert work == sorted(work, reverse=True)


def test_the_share_of_base_files_depends_on_the_columns(table_of):
    table = mortice.Table(table_of(PARTITIONED))
    every = table.snapshot()
    assert every.base_share() == 1.0
    assert all(0 <= split.log_size <= split.size for split in every.splits())
    shares = [table.snapshot(columns=every.schema.names[:count]).base_share() for count in range(1, len(every.schema))]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.5
    # A column of a filter is read as well.
    filters = [[(name, "is null", None) for name in every.schema.names if not name.startswith("_hoodie")]]
    assert table.snapshot(columns=every.schema.names[:1], filters=filters).base_share() > shares[0]
