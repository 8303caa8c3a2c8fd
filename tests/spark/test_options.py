"""The options of the Spark source: supported, refused by name, or ignored with a warning."""

import warnings

import pytest

import mortice
from mortice import InvalidArgumentError, ReadOptions, UnsupportedError
from mortice.spark.settings import options
from mortice.spark.settings.option_names import STREAMING
from mortice.spark.settings.options import read_query
from mortice.spark.settings.stream_options import is_of_stream, read_stream
from support.tables.evolving import renamed_table
from support.tables.table_writer import instant


@pytest.fixture(autouse=True)
def reset_warnings(monkeypatch):
    monkeypatch.setattr(options, "_warned", set())


def scanned(options):
    """Returns the scan of a query with these Spark options."""
    query = read_query(options)
    return query.prepare(query.table(), query.columns).scan()


TABLE = "h11_event_time_deletes"


@pytest.mark.parametrize("filters", ['[["fare", ">", 20]]', "fare > 20 and trip_id like 't%'"])
def test_columns_and_filters_have_any_case(table_of, filters):
    path = table_of(TABLE)
    scan = scanned({"path": str(path), "Columns": "trip_id, fare", "FILTERS": filters})
    expected = mortice.Table(path).snapshot(columns=["trip_id", "fare"], filters=[("fare", ">", 20)]).to_arrow()
    assert 0 < expected.num_rows < 118
    assert scan.to_arrow().combine_chunks().sort_by("trip_id").equals(expected.combine_chunks().sort_by("trip_id"))


def test_batch_rows_limits_the_rows_of_batches(table_of):
    batches = list(scanned({"path": str(table_of(TABLE)), "mortice.batch.rows": "10"}).to_reader())
    assert sum(batch.num_rows for batch in batches) == 118
    assert max(batch.num_rows for batch in batches) <= 10


def test_a_merge_that_exceeds_its_memory_is_split_and_spills(table_of):
    limited = {"path": str(table_of(TABLE)), "hoodie.memory.merge.max.size": "1"}
    scan = scanned(limited)
    assert scan.to_arrow().num_rows == 118
    assert scan.report()["passes"] > 0
    with pytest.raises(mortice.MorticeError, match="/dev/null"):
        scanned(limited | {"hoodie.memory.spillable.map.path": "/dev/null/none"}).to_arrow()


def test_rows_are_merged_by_position_or_by_key(table_of):
    by_position = {"path": str(table_of("h12_duplicate_keys_event_time"))}
    by_key = by_position | {"hoodie.merge.use.record.positions": "false"}
    assert scanned(by_position).to_arrow().num_rows != scanned(by_key).to_arrow().num_rows


@pytest.mark.parametrize("switch", ["hoodie.enable.data.skipping", "mortice.column.stats"])
def test_data_skipping_can_be_disabled(table_of, switch):
    filtered = {"path": str(table_of("h12_column_stats")), "filters": '[["n", ">", 1000000]]'}
    pruned, whole = scanned(filtered), scanned(filtered | {switch: "FALSE"})
    assert len(pruned.splits()) < len(whole.splits())
    assert pruned.to_arrow().num_rows == whole.to_arrow().num_rows


def test_a_corrupt_log_is_reported_or_raised(copy_of):
    path = copy_of(TABLE)
    log = next(path.rglob(".*.log.*"))
    log.write_bytes(log.read_bytes() + b"#HUDI#" + bytes(50))
    scan = scanned({"path": str(path), "mortice.on_corrupt": "skip"})
    scan.to_arrow()
    assert scan.report()["corrupt"]
    with pytest.raises(mortice.CorruptLogError, match="offset 9668"):
        scanned({"path": str(path), "mortice.on_corrupt": "raise"}).to_arrow()


INCREMENTAL = {
    "path": "t",
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.read.begin.instanttime": "000",
}
CHANGES = INCREMENTAL | {"hoodie.datasource.query.incremental.format": "cdc"}


def test_a_range_whose_files_were_cleaned_needs_a_full_scan(table_of):
    end = {"hoodie.datasource.read.end.instanttime": "20261122102237476"}
    cleaned = INCREMENTAL | end | {"path": str(table_of("h12_cleaned_range"))}
    fallback = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"
    assert scanned(cleaned | {fallback: "true"}).to_arrow().num_rows == 4
    with pytest.raises(mortice.FileCleanedError):
        scanned(cleaned | {fallback: "false"}).to_arrow()


@pytest.mark.parametrize("end", ["20261121024613800", "2026-11-21 02:46:13.800", "20261121024615652"])
def test_a_range_of_commits(table_of, end):
    path = table_of(TABLE)
    ranged = scanned(
        INCREMENTAL | {"path": str(path), "hoodie.datasource.read.end.instanttime": end, "mortice.changelog": "true"}
    )
    expected = mortice.Table(path).incremental("earliest", end, changelog=True)
    assert ranged.to_arrow().num_rows == expected.to_arrow().num_rows > 0


def test_bounds_of_another_table_version_are_refused(table_of):
    arguments = INCREMENTAL | {"path": str(table_of("h11_v6_uncommitted"))}
    version = "hoodie.datasource.read.incr.table.version"
    for given, rows in ((arguments, 93), (arguments | {version: "6"}, 93)):
        query = read_query(given)
        assert query.prepare(query.table(), None).scan().count() == rows
    query = read_query(arguments | {version: "8"})
    with pytest.raises(UnsupportedError, match=version.replace(".", r"\.")):
        query.prepare(query.table(), None).scan()


@pytest.mark.parametrize(
    ("value", "merged"), [("payload_combine", True), ("SKIP_MERGE", False), ("REALTIME_SKIP_MERGE", False)]
)
def test_merge_types(value, merged):
    assert read_query({"path": "t", "hoodie.datasource.merge.type": value}).asked.merge is merged


def test_a_task_uses_one_thread_by_default():
    assert read_query({"path": "t"}).read_options == ReadOptions(batch_rows=8192, threads=1)


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
        {"path": "t", "filters": "fare >"},
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
def test_invalid_options_are_refused(wrong):
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
def test_options_that_could_change_the_rows_are_refused_by_name(name, value):
    with pytest.raises(UnsupportedError, match=name.replace(".", r"\.")):
        read_query({"path": "t", name: value})


def test_schema_on_read_can_be_disabled_if_columns_have_no_ids(tmp_path, table_of):
    off = {"hoodie.schema.on.read.enable": "false"}

    def scanned(path, **more):
        query = read_query({"path": str(path), **off, **more})
        return query.prepare(query.table(), None).scan()

    path, _ = renamed_table(tmp_path)
    assert scanned(table_of("h11_event_time_deletes")).schema
    assert scanned(path, **{"as.of.instant": instant(0)}).schema
    with pytest.raises(UnsupportedError, match=r"hoodie\.schema\.on\.read"):
        scanned(path)


def test_other_options_cause_one_warning():
    with pytest.warns(UserWarning, match="mergeschema"):
        read_query({"path": "t", "mergeSchema": "true"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_query({"path": "t", "mergeSchema": "true"})


STREAM = {"path": "t"}


def test_a_stream_starts_with_the_earliest_commit():
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
def test_invalid_options_of_streams_are_refused(options, kind):
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
