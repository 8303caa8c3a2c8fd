"""The options of the Spark source: taken, refused by name, or warned of."""

import warnings

import pytest

from evolving import renamed_table
from mortice import InvalidArgumentError, UnsupportedError
from mortice.spark import options
from mortice.spark.option_names import STREAMING
from mortice.spark.options import read_query
from mortice.spark.stream_options import is_of_stream, read_stream
from table_writer import instant


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch):
    monkeypatch.setattr(options, "_warned", set())


def test_everything_that_is_known():
    query = read_query(
        {
            "path": "/lake/trips",
            "Columns": "rider, fare",
            "filters": '[["fare", ">", 3]]',
            "AS.OF.INSTANT": "20240101000000000",
            "hoodie.datasource.query.type": "READ_OPTIMIZED",
            "hoodie.datasource.merge.type": "payload_combine",
            "hoodie.optimized.log.blocks.scan.enable": "false",
            "hoodie.enable.data.skipping": "false",
            "mortice.semantics": "1.x",
            "mortice.batch.rows": "1000",
            "mortice.threads": "2",
            "mortice.on_corrupt": "raise",
            "mortice.mmap": "FALSE",
            "mortice.column.stats": "false",
            "mortice.record.index": "true",
            "hoodie.merge.use.record.positions": "false",
            "hoodie.memory.merge.max.size": "1048576",
            "hoodie.memory.spillable.map.path": "/spill",
            "hoodie.common.diskmap.compression.enabled": "false",
            "hoodie.common.spillable.diskmap.type": "ROCKS_DB",
            "hoodie.metadata.enable": "false",
            "hoodie.schema.on.read.enable": "true",
        }
    )
    assert (query.uri, query.columns, query.filters) == ("/lake/trips", ["rider", "fare"], [["fare", ">", 3]])
    assert (query.as_of, query.read_optimized) == ("20240101000000000", True)
    assert query.table_arguments == {
        "semantics": "1.x",
        "batch_rows": 1000,
        "threads": 2,
        "on_corrupt": "raise",
        "optimized_log_scan": False,
        "prune": False,
        "use_metadata": False,
        "use_column_stats": False,
        "use_record_index": True,
        "storage_options": {"mmap": False},
        "record_positions": False,
        "memory_limit": 1048576,
        "spill_dir": "/spill",
        "spill_compressed": False,
    }


INCREMENTAL = {
    "path": "t",
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.read.begin.instanttime": "000",
}
CHANGES = INCREMENTAL | {"hoodie.datasource.query.incremental.format": "cdc"}


def test_everything_that_is_known_of_incremental_queries():
    query = read_query(
        INCREMENTAL
        | {
            "hoodie.datasource.read.end.instanttime": "20240101",
            "hoodie.datasource.query.incremental.format": "latest_state",
            "hoodie.read.timeline.holes.resolution.policy": "BLOCK",
            "hoodie.datasource.read.incr.skip_compact": "true",
            "hoodie.datasource.read.incr.skip_cluster": "TRUE",
            "hoodie.datasource.read.incr.fallback.fulltablescan.enable": "true",
            "hoodie.datasource.read.schema.use.end.instanttime": "true",
            "hoodie.datasource.read.incr.table.version": "8",
            "hoodie.datasource.read.incr.filters": "",
            "hoodie.datasource.read.incr.path.glob": "",
            "mortice.changelog": "true",
        }
    )
    assert query.incremental == options.Incremental(
        "000",
        "20240101",
        8,
        {
            "holes": "BLOCK",
            "skip_compact": True,
            "skip_cluster": True,
            "fall_back_to_full_scan": True,
            "schema_at_end": True,
            "changelog": True,
        },
    )
    assert read_query(INCREMENTAL).incremental == options.Incremental("000")
    assert read_query({"path": "t", "hoodie.read.timeline.holes.resolution.policy": "BLOCK"}).incremental is None


def test_bounds_of_another_table_version_are_refused(table_of):
    asked = INCREMENTAL | {"path": str(table_of("h11_v6_uncommitted"))}
    version = "hoodie.datasource.read.incr.table.version"
    for given, rows in ((asked, 93), (asked | {version: "6"}, 93)):
        query = read_query(given)
        assert query.prepare(query.table(), None).scan().count() == rows
    query = read_query(asked | {version: "8"})
    with pytest.raises(UnsupportedError, match=version.replace(".", r"\.")):
        query.prepare(query.table(), None).scan()


@pytest.mark.parametrize(
    ("value", "merged"), [("payload_combine", True), ("SKIP_MERGE", False), ("REALTIME_SKIP_MERGE", False)]
)
def test_merge_types(value, merged):
    assert read_query({"path": "t", "hoodie.datasource.merge.type": value}).merge is merged


def test_one_thread_for_a_task_unless_asked():
    assert read_query({"path": "t"}).table_arguments == {"batch_rows": 65536, "threads": 1}


def test_columns_as_json_keep_commas_and_spaces():
    assert read_query({"path": "t", "columns": '["a,b", " c"]'}).columns == ["a,b", " c"]


def test_one_path_in_a_list():
    assert read_query({"paths": '["/a b"]'}).uri == "/a b"
    assert read_query({"path": "/a"}, "/b").uri == "/b"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"paths": '["/a", "/b"]'},
        {"path": "t", "columns": ""},
        {"path": "t", "columns": "a,,b"},
        {"path": "t", "columns": "[1]"},
        {"path": "t", "columns": '["a"'},
        {"path": "t", "filters": "fare > 3"},
        {"path": "t", "mortice.batch.rows": "0"},
        {"path": "t", "mortice.batch.rows": "70000"},
        {"path": "t", "mortice.threads": "many"},
        {"path": "t", "mortice.mmap": "perhaps"},
        {"path": "t", "mortice.no_such_thing": "1"},
        {"path": "t", "hoodie.datasource.query.type": "realtime"},
        {"path": "t", "hoodie.datasource.query.type": "incremental"},
        {"path": "t", "hoodie.datasource.read.begin.instanttime": "000"},
        {"path": "t", "hoodie.datasource.read.end.instanttime": "000"},
        {"path": "t", "mortice.changelog": "true"},
        INCREMENTAL | {"as.of.instant": "000"},
        INCREMENTAL | {"hoodie.datasource.merge.type": "skip_merge"},
        INCREMENTAL | {"hoodie.datasource.query.incremental.format": "newest"},
        INCREMENTAL | {"hoodie.datasource.read.incr.skip_compact": "perhaps"},
        CHANGES | {"mortice.changelog": "true"},
        CHANGES | {"mortice.emit_deletes": "true"},
        {"path": "t", "hoodie.datasource.merge.type": "combine"},
    ],
    ids=str,
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(InvalidArgumentError):
        read_query(wrong)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hoodie.datasource.read.incr.path.glob", "*"),
        ("hoodie.datasource.read.incr.filters", "fare > 3"),
        ("hoodie.datasource.read.incr.something.new", "true"),
        ("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING"),
        ("hoodie.payload.delete.field", "op"),
        ("hoodie.payload.delete.marker", "D"),
        ("hoodie.compaction.payload.class", "x"),
        ("hoodie.datasource.view.type", "read_optimized"),
        ("glob.paths", "*"),
    ],
)
def test_what_could_change_the_rows_is_refused_by_name(name, value):
    with pytest.raises(UnsupportedError, match=name.replace(".", r"\.")):
        read_query({"path": "t", name: value})


def test_schema_on_read_may_be_off_where_columns_have_no_ids(tmp_path, table_of):
    off = {"hoodie.schema.on.read.enable": "false"}

    def scanned(path, **more):
        query = read_query({"path": str(path), **off, **more})
        return query.prepare(query.table(), None).scan()

    path, _ = renamed_table(tmp_path)
    assert scanned(table_of("h11_event_time_deletes")).schema
    assert scanned(path, **{"as.of.instant": instant(0)}).schema
    with pytest.raises(UnsupportedError, match=r"hoodie\.schema\.on\.read"):
        scanned(path)


def test_other_options_are_warned_of_once():
    with pytest.warns(UserWarning, match="mergeschema"):
        read_query({"path": "t", "mergeSchema": "true"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_query({"path": "t", "mergeSchema": "true"})


STREAM = {"path": "t"}


def test_everything_that_is_known_of_streams():
    stream = read_stream(
        STREAM
        | {
            "start": " 2024-01-01 10:00:00 ",
            "start_inclusive": "TRUE",
            "maxInstantsPerTrigger": "5",
            "maxBytesPerTrigger": "1000000",
            "columns": "a,b",
            "mortice.emit_deletes": "true",
            "mortice.split.bytes": "1000",
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.incr.skip_cluster": "true",
            "hoodie.datasource.read.incr.fallback.fulltablescan.enable": "true",
            "hoodie.read.timeline.holes.resolution.policy": "block",
            "hoodie.datasource.read.streaming.table.version": "8",
        }
    )
    assert (stream.start, stream.start_inclusive) == ("2024-01-01 10:00:00", True)
    assert (stream.max_instants, stream.max_bytes) == (5, 1_000_000)
    batch = stream.between("20240101", "20240102")
    assert (batch.columns, batch.emit_deletes, batch.tasks.split_bytes) == (["a", "b"], True, 1000)
    assert (batch.incremental.begin, batch.incremental.end, batch.incremental.table_version) == (
        "20240101",
        "20240102",
        8,
    )
    assert batch.incremental.arguments == {
        "skip_cluster": True,
        "fall_back_to_full_scan": True,
        "skip_log_compact": True,
        "holes": "FAIL",
    }
    assert batch.incremental.changes is False


def test_a_stream_begins_with_the_earliest():
    stream = read_stream(STREAM)
    assert (stream.start, stream.start_inclusive, stream.max_instants, stream.max_bytes) == (
        "earliest",
        False,
        None,
        None,
    )
    assert read_stream(STREAM | {"hoodie.datasource.streaming.startOffset": "latest"}).start == "latest"
    same = {"start": "latest", "hoodie.datasource.streaming.startOffset": "latest"}
    assert read_stream(STREAM | same).start == "latest"


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"start": ""}, InvalidArgumentError),
        ({"start": "latest", "hoodie.datasource.streaming.startOffset": "earliest"}, InvalidArgumentError),
        ({"start": "latest", "start_inclusive": "true"}, InvalidArgumentError),
        ({"start": "2024", "start_inclusive": "maybe"}, InvalidArgumentError),
        ({"maxInstantsPerTrigger": "0"}, InvalidArgumentError),
        ({"maxBytesPerTrigger": "1m"}, InvalidArgumentError),
        ({"hoodie.datasource.read.begin.instanttime": "000"}, InvalidArgumentError),
        ({"hoodie.datasource.read.end.instanttime": "2024"}, InvalidArgumentError),
        ({"as.of.instant": "2024"}, InvalidArgumentError),
        ({"hoodie.datasource.query.type": "read_optimized"}, InvalidArgumentError),
        ({"hoodie.datasource.merge.type": "skip_merge"}, InvalidArgumentError),
        ({"hoodie.datasource.read.schema.use.end.instanttime": "true"}, InvalidArgumentError),
        ({"hoodie.datasource.query.incremental.format": "cdc"}, InvalidArgumentError),
        ({"mortice.changelog": "true"}, InvalidArgumentError),
        ({"mortice.nope": "1"}, InvalidArgumentError),
        ({"hoodie.read.timeline.holes.resolution.policy": "FAIL"}, UnsupportedError),
        ({"hoodie.datasource.streaming.nope": "1"}, UnsupportedError),
        ({"hoodie.datasource.read.streaming.nope": "1"}, UnsupportedError),
        (
            {
                "hoodie.datasource.query.type": "incremental",
                "hoodie.datasource.query.incremental.format": "cdc",
                "mortice.emit_deletes": "true",
            },
            InvalidArgumentError,
        ),
    ],
    ids=str,
)
def test_wrong_options_of_streams_are_refused(options, kind):
    with pytest.raises(kind):
        read_stream(STREAM | options)


@pytest.mark.parametrize("name", STREAMING)
def test_options_of_streams_are_not_for_batch_queries(name):
    assert is_of_stream({name.upper(): "1"})
    with pytest.raises(InvalidArgumentError, match="streams"):
        read_query(STREAM | {name: "1"})


def test_a_query_without_a_begin_can_only_be_a_stream():
    assert is_of_stream({"Hoodie.datasource.query.type": "Incremental"})
    assert not is_of_stream(INCREMENTAL)
    assert not is_of_stream(STREAM)
