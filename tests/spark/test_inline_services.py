"""Table services after `mortice.spark.write`: tasks execute the plans that a write in one process would."""

import pathlib

import pytest

import mortice
import mortice.spark
from mortice.errors import TableServiceError
from mortice.spark.settings.write_options import DRIVER_BYTES
from mortice.spark.writing import write as module
from support.spark_stages import is_written_by_tasks
from support.tables.written import FIRST, both, new_table, rows

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
DDL = "id string, city string, ts long, fare double"
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
COMPACT_LOGS = {"hoodie.log.compaction.inline": "true", "hoodie.log.compaction.blocks.threshold": "2"}
CLUSTER = {
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "2",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.clustering.plan.strategy.sort.columns": "fare",
}
IS_WARNING = {"hoodie.fail.writes.on.inline.table.service.exception": "false"}
WRITES = [
    FIRST,
    rows(("a", "x", 2, 9.0), ("c", "y", 2, 30.0)),
    rows(("a", "x", 3, 8.0), ("d", "x", 1, 4.0), ("e", "y", 1, 5.0)),
    rows(("b", "x", 4, 7.0), ("c", "y", 4, 31.0)),
    rows(("a", "x", 5, 6.0), ("f", "z", 1, 6.0)),
]
SERVICES = ("COMPACT", "LOG_COMPACT", "CLUSTER")


def spark_write(spark, table, given, options, operation="upsert"):
    """Writes by tasks, unless `options` have bytes for the driver: the plans of these tables are small."""
    options = {DRIVER_BYTES: "0", **options}
    frame = spark.createDataFrame([tuple(row.values()) for row in given.to_pylist()], DDL)
    commit = mortice.spark.write(frame, table.uri, operation, options=options)
    table.refresh()
    return commit


def services_of(table):
    """The operation of each service that was completed, and the files that it wrote, in order."""
    metadata = [table.timeline.metadata(one) for one in table.timeline if one.is_completed]
    return [
        (one["operationType"], [stats["path"] for of in one["partitionToWriteStats"].values() for stats in of])
        for one in metadata
        if one is not None and one.get("operationType") in SERVICES
    ]


def states(table):
    return [(one.action, one.state) for one in table.timeline]


def leftovers(table):
    folders = [pathlib.Path(table.uri, ".hoodie", name) for name in (".temp", ".aux/open_writes", ".heartbeat")]
    return [str(file) for folder in folders for file in folder.rglob("*") if file.is_file()]


def damaged(path):
    """A table whose compaction fails in y, and what repairs it. Writes of rows in x do not read y."""
    table = new_table(path)
    for given in WRITES[:2]:
        table.upsert(given)
    [base] = pathlib.Path(table.uri, "y").glob("*.parquet")
    kept = base.read_bytes()
    base.write_bytes(kept[: len(kept) // 2])
    return table, lambda: base.write_bytes(kept)


@pytest.mark.parametrize(
    ("version", "options"),
    [
        pytest.param(9, COMPACT, id="compaction-9"),
        pytest.param(6, COMPACT, id="compaction-6", marks=pytest.mark.slow),
        pytest.param(9, COMPACT_LOGS, id="logs-9", marks=pytest.mark.newest),
        pytest.param(6, COMPACT_LOGS, id="logs-6", marks=pytest.mark.slow),
        pytest.param(9, CLUSTER, id="clustering-9", marks=pytest.mark.newest),
        pytest.param(6, CLUSTER, id="clustering-6"),
    ],
)
def test_tasks_do_what_writes_in_one_process_do(spark, tmp_path, version, options):
    local, table, small = (new_table(tmp_path / name, version) for name in ("local", "trips", "small"))
    for given in WRITES:
        spark_write(spark, small, given, options | {DRIVER_BYTES: "10000000"})
        local.upsert(given, options)
        spark_write(spark, table, given, options)
        local.refresh()
        assert states(table) == states(local)
        assert both(table) == both(local)
    done = services_of(table)
    assert [(name, len(files)) for name, files in done] == [(name, len(files)) for name, files in services_of(local)]
    assert done
    assert all(is_written_by_tasks(spark, files) for _, files in done)
    assert not any(is_written_by_tasks(spark, files) for _, files in services_of(local))
    # The driver executes plans of few bytes itself.
    assert (states(small), both(small)) == (states(local), both(local))
    assert not any(is_written_by_tasks(spark, files) for _, files in services_of(small))
    assert leftovers(table) == []
    assert table.verify(keys=True).findings == []


@pytest.mark.parametrize("fails", [True, False])
def test_a_plan_whose_tasks_fail_stays_pending_and_the_write_is_in_the_table(spark, tmp_path, fails):
    given, options = rows(("a", "x", 3, 8.0)), COMPACT | ({} if fails else IS_WARNING)
    writes = (lambda table: spark_write(spark, table, given, options), lambda table: table.upsert(given, options))
    tables, repairs = zip(*(damaged(tmp_path / name) for name in ("trips", "local")), strict=True)
    for table, write in zip(tables, writes, strict=True):
        if fails:
            with pytest.raises(TableServiceError, match=r"is part of the table.*compaction.*Parquet"):
                write(table)
        else:
            with pytest.warns(UserWarning, match=r"the compaction after the write \d+ failed: .*Parquet"):
                assert write(table).updates == 1
        table.refresh()
    table, local = tables
    assert states(table) == states(local)
    [planned] = table.timeline.pending
    assert (planned.action, planned.state, leftovers(table)) == ("compaction", "REQUESTED", [])
    repairs[0]()
    assert both(table)[0] == ("a", "x", 3, 8.0)
    spark_write(spark, table, rows(("b", "x", 4, 7.0)), options)
    assert planned.requested_time not in [one.requested_time for one in table.timeline.pending]
    [(operation, files)] = services_of(table)
    assert operation == "COMPACT"
    assert is_written_by_tasks(spark, files)
    assert both(table)[:2] == [("a", "x", 3, 8.0), ("b", "x", 4, 7.0)]


def test_an_interrupt_of_tasks_is_raised_and_leaves_the_plan_pending(spark, tmp_path, monkeypatch):
    class Interrupted:
        parallelism = 2

        def __init__(self, *given):
            pass

        def run(self, stage, tasks):
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "SparkTasks", Interrupted)
    table = new_table(tmp_path / "trips")
    spark_write(spark, table, WRITES[0], COMPACT)
    with pytest.raises(KeyboardInterrupt):
        spark_write(spark, table, WRITES[1], COMPACT | IS_WARNING)
    table.refresh()
    assert [(one.action, one.state) for one in table.timeline.pending] == [("compaction", "REQUESTED")]
    assert both(table)[0] == ("a", "x", 2, 9.0)
    assert leftovers(table) == []
