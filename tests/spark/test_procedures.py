"""`CALL` of `mortice.spark.sql`: services that read rows run as tasks, with the results of the methods of `Table`."""

import json
import shutil

import pytest

import mortice
import mortice.spark
from mortice.spark.writing import services, write_stages
from support.object_stores.fixtures import bucket, moto, no_ambient_credentials
from support.spark_stages import is_written_by_tasks
from support.tables.written import CHANGED, FIRST, NO_METADATA, NO_SMALL_FILES, SCHEMA, both, new_table, rows

__all__ = ["bucket", "moto", "no_ambient_credentials"]
pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
TWO_BLOCKS = "hoodie.log.compaction.blocks.threshold"


@pytest.fixture
def table(tmp_path):
    """A table with two file groups in x, and logs in x and y."""
    table = new_table(tmp_path / "trips")
    for given in (FIRST, rows(("e", "x", 1, 5.0)), CHANGED, rows(("a", "x", 3, 11.0), ("c", "y", 3, 31.0))):
        table.upsert(given, NO_SMALL_FILES)
    return table


@pytest.fixture
def stages_run(monkeypatch):
    """The numbers of tasks of the stages that were run for builds of metadata tables and verifications."""
    ran = []

    class Recorded(write_stages.SparkTasks):
        def run(self, stage, tasks):
            ran.append(tasks)
            return super().run(stage, tasks)

        def exchange(self, read, tasks, then, partitions):
            ran.append(tasks)
            return super().exchange(read, tasks, then, partitions)

    monkeypatch.setattr(services, "SparkTasks", Recorded)
    return ran


def metadata_of(table, instant):
    [found] = [one for one in table.timeline.completed if one.requested_time == instant]
    return table.timeline.metadata(found)


def call(spark, text):
    return [row.asDict() for row in mortice.spark.sql(spark, f"CALL {text}").collect()]


@pytest.mark.parametrize(
    ("procedure", "method", "options"),
    [
        ("run_compaction", "compact", {}),
        ("run_log_compaction", "log_compact", {TWO_BLOCKS: "2"}),
        ("run_clustering", "cluster", {"hoodie.clustering.plan.strategy.sort.columns": "fare"}),
    ],
)
def test_tasks_execute_the_plan_that_one_process_would(spark, table, procedure, method, options):
    shutil.copytree(table.uri, f"{table.uri}-copy")
    expected = getattr(mortice.Table(f"{table.uri}-copy"), method)(options).commit
    assert not is_written_by_tasks(spark, [one.path for one in expected.stats])
    before = both(table)
    given = ",".join(f"{name}={value}" for name, value in options.items())
    [done] = call(spark, f"{procedure}(path => '{table.uri}', options => '{given}')")
    table.refresh()
    commit = metadata_of(table, done["timestamp"] if "timestamp" in done else done["scheduled"])
    assert commit["operationType"] == expected.operation
    stats = [(partition, one) for partition, of in commit["partitionToWriteStats"].items() for one in of]
    counts = sorted((partition, one["numWrites"]) for partition, one in stats)
    assert counts == sorted((one.partition, one.rows_written) for one in expected.stats)
    assert is_written_by_tasks(spark, [one["path"] for _, one in stats])
    assert both(table) == before


def test_a_plan_can_be_made_by_one_call_and_executed_by_another(spark, table):
    path = table.uri
    [planned] = call(spark, f"run_compaction(op => 'schedule', path => '{path}')")
    assert planned == {"timestamp": planned["timestamp"], "operation_size": 2, "state": "REQUESTED"}
    assert call(spark, f"show_compaction(path => '{path}')") == [planned]
    with pytest.raises(mortice.InvalidArgumentError, match=f"1 is not pending; pending are {planned['timestamp']}"):
        call(spark, f"run_compaction(op => 'execute', instants => '1', path => '{path}')")
    [done] = call(spark, f"run_compaction(op => 'execute', instants => '{planned['timestamp']}', path => '{path}')")
    assert done == {**planned, "state": "COMPLETED"}
    assert call(spark, f"run_compaction(op => 'run', path => '{path}')") == []
    with pytest.raises(mortice.InvalidArgumentError, match="op must be run"):
        call(spark, f"run_compaction(op => 'both', path => '{path}')")


def test_tasks_build_metadata_tables_and_compare_keys(spark, table, stages_run):
    path = table.uri
    table.delete_metadata()
    indexed = "hoodie.metadata.record.index.enable=true"
    [built] = call(spark, f"create_metadata_table(path => '{path}', options => '{indexed}')")
    assert built["result"].startswith(f"Created Metadata Table in {path}/.hoodie/metadata (duration=")
    assert "record_index" in mortice.Table(path).properties["hoodie.table.metadata.partitions"]
    with pytest.raises(mortice.InvalidArgumentError, match="init_metadata_table brings it up to date"):
        call(spark, f"create_metadata_table(path => '{path}')")
    assert stages_run
    stages_run.clear()
    [found] = call(spark, f"run_verify(path => '{path}')")
    assert (found["findings"], found["rows"], stages_run) == ("[]", "4", [])
    table.insert(rows(("a", "x", 9, 1.0)), NO_METADATA | NO_SMALL_FILES)
    for level in ("keys", "global_keys"):
        [found] = call(spark, f"run_verify(path => '{path}', {level} => true, contents => false)")
        assert {one["kind"] for one in json.loads(found["findings"])} >= {"duplicate_key"}
    assert len(stages_run) == 2
    with pytest.raises(mortice.InvalidArgumentError, match="keys must be True or False"):
        call(spark, f"run_verify(path => '{path}', keys => 'yes')")


@pytest.mark.filterwarnings("ignore:mortice does not know the option:UserWarning")
def test_options_of_a_call_take_precedence_over_those_of_its_table(spark, table):
    view = f"CREATE OR REPLACE TEMPORARY VIEW logs USING mortice OPTIONS (path '{table.uri}', '{TWO_BLOCKS}' '100')"
    mortice.spark.sql(spark, view)
    assert call(spark, "run_log_compaction(table => 'logs')")[0]["commits"] == "[]"
    [done] = call(spark, f"run_log_compaction(table => 'logs', options => '{TWO_BLOCKS}=2')")
    assert len(json.loads(done["commits"])) == 1


def test_tasks_have_the_storage_options_of_a_call_and_of_its_table(spark, moto, bucket):
    keys = {"fs.s3a.endpoint": moto, "fs.s3a.path.style.access": "true", "fs.s3a.access.key": "A"}
    keys["fs.s3a.secret.key"] = "hunter2"
    path = f"s3a://{bucket}/called"
    names = {"record_key": "id", "partition_by": "city", "ordering": "ts"}
    table = mortice.create_table(path, SCHEMA, name="trips", **names, storage_options=keys)
    for given in (FIRST, CHANGED):
        table.upsert(given, NO_METADATA)
    given = ",".join(f"{name}={value}" for name, value in keys.items())
    with pytest.raises(mortice.MorticeError):
        call(spark, f"run_compaction(path => '{path}')")
    [done] = call(spark, f"run_compaction(path => '{path}', options => '{given}')")
    assert done["state"] == "COMPLETED"
    options = ", ".join(f"'{name}' '{value}'" for name, value in keys.items())
    mortice.spark.sql(
        spark, f"CREATE OR REPLACE TEMPORARY VIEW called USING mortice OPTIONS (path '{path}', {options})"
    )
    table.upsert(CHANGED, NO_METADATA)
    [found] = call(spark, "run_verify(table => 'called', keys => true)")
    assert (found["findings"], found["rows"]) == ("[]", "3")
    [done] = call(spark, "run_compaction(table => 'called', options => 'hoodie.metadata.enable=false')")
    assert done["state"] == "COMPLETED"


def test_an_argument_that_a_procedure_does_not_have_is_refused_before_it_runs(spark, table):
    before = len(mortice.Table(table.uri).timeline)
    with pytest.raises(mortice.InvalidArgumentError, match=r"no argument oop; its arguments are .*, op, timestamp"):
        call(spark, f"run_compaction(path => '{table.uri}', oop => 'schedule')")
    with pytest.raises(mortice.InvalidArgumentError, match="no argument user"):
        call(spark, f"delete_savepoint(path => '{table.uri}', instant_time => '20240101000000000', user => 'me')")
    assert len(mortice.Table(table.uri).timeline) == before


def test_rollback_to_instant_undoes_that_instant_and_restore_keeps_it(spark, table):
    path, instants = table.uri, [one.requested_time for one in table.timeline.completed]
    before = rows_of(path)
    with pytest.raises(mortice.InvalidArgumentError, match="later"):
        call(spark, f"rollback_to_instant(path => '{path}', instant_time => '{instants[-2]}')")
    with pytest.raises(mortice.InvalidArgumentError, match="20200101000000000"):
        call(spark, f"rollback_to_instant(path => '{path}', instant_time => '20200101000000000')")
    assert rows_of(path) == before
    done = call(spark, f"rollback_to_instant(path => '{path}', instant_time => '{instants[-1]}')")
    assert done == [{"rollback_result": True}]
    left = [one.requested_time for one in mortice.Table(path).timeline.completed if one.action != "rollback"]
    assert left == instants[:-1]
    mortice.spark.sql(spark, f"CREATE OR REPLACE TEMPORARY VIEW undone USING mortice OPTIONS (path '{path}')")
    [done] = call(spark, f"restore_to_instant('undone', '{instants[0]}')")
    assert (done["restore_result"], done["instants_rolled_back"]) == (True, len(instants) - 2)
    assert {one.requested_time for one in mortice.Table(path).timeline.completed} >= {instants[0]}
    assert instants[1] not in {one.requested_time for one in mortice.Table(path).timeline.completed}


def rows_of(path):
    return mortice.Table(path).to_arrow().sort_by("id").to_pylist()


def test_savepoints_are_by_default_those_of_the_latest_write(spark, table):
    path, latest = table.uri, table.timeline.completed[-1].requested_time
    for name in ("delete_savepoint", "rollback_to_savepoint"):
        with pytest.raises(mortice.InvalidArgumentError, match="has no savepoint"):
            call(spark, f"{name}(path => '{path}')")
    assert call(spark, f"create_savepoint(path => '{path}', comments => 'c')") == [{"create_savepoint_result": True}]
    before = rows_of(path)
    first = table.timeline.completed[0].requested_time
    with pytest.raises(mortice.InvalidArgumentError, match=f"no savepoint of {first}; those of the table are {latest}"):
        call(spark, f"rollback_to_savepoint(path => '{path}', instant_time => '{first}')")
    mortice.Table(path).upsert(rows(("z", "x", 9, 1.0)), NO_METADATA)
    assert call(spark, f"rollback_to_savepoint(path => '{path}')") == [{"rollback_savepoint_result": True}]
    assert rows_of(path) == before
    assert call(spark, f"delete_savepoint(path => '{path}')") == [{"delete_savepoint_result": True}]


def test_arguments_without_names_are_in_the_order_of_hudi(spark, table):
    mortice.spark.sql(spark, f"CREATE OR REPLACE TEMPORARY VIEW ordered USING mortice OPTIONS (path '{table.uri}')")
    assert len(call(spark, "show_commits('ordered', 2)")) == 2
    [planned] = call(spark, "run_compaction('schedule', 'ordered')")
    assert planned["state"] == "REQUESTED"
    [done] = call(spark, "run_compaction('run', 'ordered', NULL, options => 'hoodie.metadata.enable=false')")
    assert done["timestamp"] == planned["timestamp"]
    with pytest.raises(mortice.InvalidArgumentError, match="in this order, op, table, path"):
        call(spark, "run_compaction(op => 'run', 'ordered')")
    with pytest.raises(mortice.InvalidArgumentError, match="the argument table is given twice"):
        call(spark, "show_commits('ordered', table => 'ordered')")
    with pytest.raises(mortice.UnsupportedError, match="leave out schedule_in_line"):
        call(spark, "run_clean('ordered', false)")


def test_versions_are_changed_by_hudis_names(spark, table):
    before = both(table)
    assert call(spark, f"downgrade_table(path => '{table.uri}', to_version => 'SIX')") == [{"result": True}]
    assert (mortice.Table(table.uri).version, both(mortice.Table(table.uri))) == (6, before)
    assert call(spark, f"upgrade_table(path => '{table.uri}', to_version => 'EIGHT')") == [{"result": True}]
    with pytest.raises(mortice.InvalidArgumentError, match="to_version must be one of SIX"):
        call(spark, f"upgrade_table(path => '{table.uri}', to_version => 'LAST')")
    with pytest.raises(mortice.InvalidArgumentError, match="downgrade it"):
        call(spark, f"upgrade_table(path => '{table.uri}', to_version => '6')")
