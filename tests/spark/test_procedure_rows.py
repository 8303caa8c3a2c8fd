"""What procedures do where no answer of Hudi is recorded: those that change a table, and those that differ."""

import json
from pathlib import Path

import pytest

import mortice
import mortice.spark
from mortice import _mortice
from support.cases import DATA
from support.hudi.procedure_calls import parts_of
from support.tables.written import CHANGED, FIRST, NO_METADATA, NO_SMALL_FILES, content, new_table, rows

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")


@pytest.fixture
def table(tmp_path):
    table = new_table(tmp_path / "trips")
    for given in (FIRST, CHANGED):
        table.upsert(given, NO_SMALL_FILES)
    return table


@pytest.fixture
def call(spark, table):
    """Calls a procedure of the table, which is also the view `called`."""
    mortice.spark.sql(spark, f"CREATE OR REPLACE TEMPORARY VIEW called USING mortice OPTIONS (path '{table.uri}')")

    def run(text):
        return [tuple(row) for row in mortice.spark.sql(spark, f"CALL {text}").collect()]

    return run


def test_all_procedures_of_hudi_are_known():
    kinds = {one.name: one.kind for one in _mortice.procedures()}
    own = {"restore_to_instant", "run_log_compaction", "run_repair", "run_rollback", "run_verify"}
    of_hudi = [kind for name, kind in kinds.items() if name not in own and kind != "function"]
    assert (len(of_hudi), of_hudi.count("refused")) == (72, 5)


# What help says otherwise than Hudi: calls of Hudi need no argument that they have not, and columns may be null.
MORE_CALLS = {
    "downgrade_table": [["table", "string", "null", "false"], ["path", "string", "null", "false"]],
    "run_compaction": [["op", "string", "run", "false"]],
    "run_rollback_inflight_tableservice": [["table", "string", "null", "false"], ["path", "string", "null", "false"]],
    "upgrade_table": [["table", "string", "null", "false"], ["path", "string", "null", "false"]],
}


def test_arguments_and_columns_are_those_of_hudi():
    said = json.loads((DATA / "procedures" / "help.json").read_text(encoding="utf-8"))
    answered = {one.name for one in _mortice.procedures() if one.kind not in {"refused", "function"}}
    for name in sorted(answered & set(said)):
        parameters, columns = parts_of(_mortice.procedure_rows("help", "", {}, {"cmd": name})[0][0])
        own = [one for one in parameters if one not in said[name]["parameters"]]
        assert own == MORE_CALLS.get(name, []), name
        assert [one[0] for one in parameters if one[0] != "path"] == [
            one[0] for one in said[name]["parameters"] if one[0] != "path"
        ]
        assert [one[:2] for one in columns] == [one[:2] for one in said[name]["columns"]], name
    assert (len(said), len(answered & set(said))) == (72, 67)


def test_refused_procedures_say_what_to_use(call):
    for name in [one.name for one in _mortice.procedures() if one.kind == "refused"]:
        with pytest.raises(mortice.UnsupportedError, match=f"unsupported procedure {name}: .{{20}}"):
            call(f"{name}(table => 'called')")


def test_services_return_the_columns_of_hudi(spark, table, call):
    for name in ("run_clean", "run_clustering", "run_compaction", "archive_commits"):
        columns = next(one.columns for one in _mortice.procedures() if one.name == name)
        frame = mortice.spark.sql(spark, f"CALL {name}(table => 'called')")
        assert [(field.name, field.dataType.simpleString()) for field in frame.schema.fields] == columns
    assert call("archive_commits(table => 'called', min_commits => 2, max_commits => 3)") == [(0,)]


def test_a_clean_returns_what_it_deleted(table, call):
    assert call("run_clean(table => 'called', retain_commits => 1)") == []
    for ts in (3, 4, 5):
        table.compact()
        table.upsert(rows(("a", "x", ts, 9.0)), NO_SMALL_FILES | {"hoodie.clean.automatic": "false"})
    [(instant, millis, files, earliest, bootstrap, version)] = call("run_clean('called', true, retain_commits => 1)")
    clean = next(one for one in mortice.Table(table.uri).timeline if one.action == "clean")
    assert (instant, bootstrap, version) == (clean.requested_time, "{}", 2)
    assert millis >= 0
    assert files > 0
    assert earliest
    assert call("show_cleans('called')")[0][3:7] == (instant, millis, files, earliest)


def test_clustering_of_partitions(table, call):
    assert call("run_clustering('called', predicate => \"city = 'nowhere'\")") == []
    [(instant, groups, state, partitions)] = call(
        "run_clustering('called', predicate => \"city = 'y'\", show_involved_partition => true, order => 'fare')"
    )
    assert (groups, state, partitions) == (1, "COMPLETED", "y")
    assert call("show_clustering('called')") == [(instant, 1, "COMPLETED", "*")]
    with pytest.raises(mortice.InvalidArgumentError, match="must select whole partitions"):
        call("run_clustering('called', predicate => \"fare = 10\")")


def test_partitions_are_dropped_and_tables_truncated(table, call):
    assert call("drop_partition(table => 'called', partition => 'y')") == [("Success",)]
    assert {row[1] for row in content(mortice.Table(table.uri))} == {"x"}
    assert call("truncate_table(table => 'called', partitions => 'x')") == []
    assert content(mortice.Table(table.uri)) == []
    mortice.Table(table.uri).upsert(FIRST, NO_METADATA)
    [(result, millis)] = call("truncate_table('called')")
    assert (result, millis >= 0, content(mortice.Table(table.uri))) == ("SUCCESS", True, [])


def test_the_metadata_table_is_deleted_and_built(table, call):
    folder = f"{table.uri}/.hoodie/metadata"
    assert call("init_metadata_table('called', true)") == [(f"Opened Metadata Table in {folder} (duration=0.0sec)",)]
    assert call("init_metadata_table('called')")[0][0].startswith(f"Initialized Metadata Table in {folder}")
    assert dict(call("show_metadata_table_stats('called')"))["files.baseFileCount"].isdecimal()
    assert call("delete_metadata_table('called')") == [(f"Deleted Metadata Table at '{folder}'",)]
    with pytest.raises(mortice.InvalidArgumentError, match="create_metadata_table builds it"):
        call("init_metadata_table('called')")
    with pytest.raises(mortice.InvalidArgumentError, match="no metadata table with the partition files"):
        call("show_metadata_table_files('called')")


def test_copies_of_queries(spark, table, call):
    first = table.timeline.completed[0].requested_time
    assert call("copy_to_temp_view('called', view_name => 'copied', replace => true)") == [(0,)]
    assert spark.sql("SELECT id FROM copied").count() == 3
    call(f"copy_to_temp_view('called', view_name => 'copied', replace => true, as_of_instant => '{first}')")
    assert {row[0] for row in spark.sql("SELECT fare FROM copied").collect()} == {1.0, 2.0, 3.0}
    with pytest.raises(mortice.InvalidArgumentError, match="needs begin_instance_time and end_instance_time"):
        call("copy_to_temp_view('called', 'incremental', 'copied')")
    spark.sql("DROP TABLE IF EXISTS copied_rows")
    try:
        assert call("copy_to_table('called', new_table => 'copied_rows', columns => 'id,fare')") == [(0,)]
        assert spark.table("copied_rows").columns == ["id", "fare"]
        call("copy_to_table('called', new_table => 'copied_rows', save_mode => 'append')")
        assert spark.table("copied_rows").count() == 6
    finally:
        spark.sql("DROP TABLE IF EXISTS copied_rows")


def test_a_pending_compaction_is_rolled_back_with_its_plan(table, call):
    [(instant, _, _)] = call("run_compaction('schedule', 'called')")
    with pytest.raises(mortice.UnsupportedError, match="delete_request_instant_file => true"):
        call(f"run_rollback_inflight_tableservice(table => 'called', pending_instant => '{instant}')")
    given = f"'called', pending_instant => '{instant}', delete_request_instant_file => true"
    done = call(f"run_rollback_inflight_tableservice({given})")
    assert (done[0][0], done[0][1].isdecimal()) == (instant, True)
    assert call("show_compaction('called')") == []


def test_files_that_are_wrong_are_found_and_deleted(table, call):
    path = Path(table.uri) / table.file_slices()[0].base_file.path
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    assert call(f"show_invalid_parquet(path => '{table.uri}')") == [(f"file:{path}",)]
    assert call(f"show_invalid_parquet(path => '{table.uri}', instants => '2020')") == []
    assert call(f"show_invalid_parquet(path => '{table.uri}', needDelete => true)") == []
    assert not path.exists()
    path.write_bytes(whole)
    mark = Path(table.uri) / "x" / ".hoodie_partition_metadata"
    before = mark.read_text()
    mark.unlink()
    assert ("x", "No", "None") in call("repair_add_partition_meta('called')")
    assert ("x", "No", "Repaired") in call("repair_add_partition_meta('called', false)")
    assert set(mark.read_text().splitlines()[1:]) >= {before.splitlines()[-1]}
    with pytest.raises(mortice.UnsupportedError, match="readers take either form"):
        call("repair_migrate_partition_meta('called', false)")


def test_markers_and_unreadable_cleans_are_deleted(table, call):
    markers = Path(table.uri) / ".hoodie" / ".temp" / "20200101000000000" / "x"
    markers.mkdir(parents=True)
    (markers / "a_0-0-0_20200101000000000.parquet.marker.CREATE").touch()
    assert call("delete_marker('called', '20200101000000000')") == [(True,)]
    assert not markers.exists()
    clean = Path(table.uri) / ".hoodie" / "timeline" / "20200101000000000.clean.requested"
    clean.write_bytes(b"nothing")
    assert call("repair_corrupted_clean_files('called')") == [(True,)]
    assert not clean.exists()


def test_the_audit_of_locks(table, call):
    config = f"file:{table.uri}/.hoodie/.locks/audit_enabled.json"
    audit = Path(table.uri) / ".hoodie" / ".locks" / "audit"
    assert call("set_audit_lock('called', state => 'Enabled')")[0][1:] == (
        "enabled",
        "Lock audit logging successfully enabled",
    )
    assert call("show_audit_lock_status('called')") == [("called", True, config, f"file:{audit}")]
    audit.mkdir()
    state = {"ownerId": "a", "transactionStartTime": 1, "state": "START", "timestamp": 10, "lockExpiration": 50}
    (audit / "1.jsonl").write_text(json.dumps(state) + "\n" + json.dumps({**state, "state": "END"}))
    (audit / "2.jsonl").write_text(json.dumps({**state, "timestamp": 20}))
    [(_, result, count, issues, details)] = call("validate_audit_lock('called')")
    assert (result, count, issues) == ("WARNING", 2, 1)
    assert details.startswith("Audit Files: 2 total, 2 parsed successfully, 0 failed to parse. [WARNING] 2.jsonl")
    assert call("cleanup_audit_lock('called')")[0][1:] == (0, False, 7, "No audit files older than 7 days found")


def test_instants_are_exported(tmp_path, table, call):
    folder = tmp_path / "exported"
    with pytest.raises(mortice.InvalidArgumentError, match="is not a local folder"):
        call(f"export_instants('called', '{folder}')")
    folder.mkdir()
    assert call(f"export_instants('called', '{folder}', 1)") == [(f"Exported 1 Instants to {folder}",)]
    call(f"export_instants('called', '{folder}')")
    commits = [path.name for path in (Path(table.uri) / ".hoodie" / "timeline").glob("*.deltacommit")]
    assert sorted(path.name for path in folder.iterdir()) == sorted(commits)


def test_options_of_writes_say_nothing_of_a_sync(call):
    with pytest.raises(mortice.InvalidArgumentError, match="a sync needs the address of the metastore"):
        call("hive_sync(table => 'called', options => 'hoodie.parquet.small.file.limit=0')")


def test_blocks_of_deletes_and_records_of_all_log_files(table, call):
    table.delete(["b"])
    pattern = f"{table.uri}/x/.*log*"
    blocks = call(f"show_logfile_metadata(table => 'called', log_file_path_pattern => '{pattern}')")
    assert sorted((kind, count) for _, count, kind, _, _ in blocks) == [("AVRO_DATA_BLOCK", 1), ("DELETE_BLOCK", 1)]
    [(record,)] = call(f"show_logfile_records(table => 'called', log_file_path_pattern => '{pattern}')")
    assert json.loads(record)["fare"] == 10.0
    for text, error in [
        (f"log_file_path_pattern => '{pattern}', merge => true", mortice.UnsupportedError),
        ("log_file_path_pattern => '/elsewhere/*'", mortice.InvalidArgumentError),
        (f"log_file_path_pattern => '{table.uri}/x/none*'", mortice.InvalidArgumentError),
    ]:
        with pytest.raises(error):
            call(f"show_logfile_records(table => 'called', {text})")


def test_bounds_of_all_columns_and_their_overlap(table, call):
    table.build_metadata(add=["column_stats"])
    names = {row[1] for row in call("show_metadata_table_column_stats('called')")}
    assert names == {"id", "city", "ts", "fare"}
    [row] = call("show_metadata_column_stats_overlap('called', targetColumns => 'fare', partition => 'x')")
    assert row[:5] == ("x", "fare", 1.0, 1, 1)


def test_help_and_wrong_arguments(call):
    [(text,)] = call("help(cmd => 'show_commits')")
    assert text.startswith("parameters:\n\tparam ")
    assert "\tlimit                         \tinteger                       \t10 " in text
    with pytest.raises(mortice.InvalidArgumentError, match="there is no procedure"):
        call("help(cmd => 'nothing')")
    with pytest.raises(mortice.InvalidArgumentError, match="the argument instant_time is missing"):
        call("show_commit_files(table => 'called')")
    with pytest.raises(mortice.InvalidArgumentError, match="there is no completed commit 2020"):
        call("show_commit_files('called', 1, '2020')")
    with pytest.raises(mortice.InvalidArgumentError, match="limit must be of the type int"):
        call("show_commits('called', 'many')")
    with pytest.raises(Exception, match="nothing"):
        call("show_timeline('called', filter => 'nothing = 1')")
