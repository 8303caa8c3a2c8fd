"""Attributes of tables, and queries of an instant."""

import datetime as dt
from dataclasses import fields, replace
from urllib.parse import unquote

import pyarrow as pa
import pytest

import mortice
from support.cases import assert_same_result, case, hudi_result

NAME = "h11_event_time_deletes"


@pytest.fixture
def table(table_of):
    return mortice.Table(table_of(NAME))


def test_properties(table, table_of):
    case_metadata = case(NAME)
    assert table.uri == str(table_of(NAME))
    assert table.version == case_metadata["table_version"]
    assert table.merge_mode == case_metadata["merge_mode"]
    assert table.record_key_fields == case_metadata["record_key"]
    assert table.ordering_fields == case_metadata["ordering_fields"]
    assert table.partition_fields == case_metadata["partition_fields"]
    assert table.properties["hoodie.table.type"] == "MERGE_ON_READ"
    with pytest.raises(TypeError):
        table.properties["hoodie.table.type"] = "COPY_ON_WRITE"


def test_the_schema_has_the_meta_columns_first(table):
    assert table.schema.names == hudi_result(NAME).column_names
    assert table.schema.field("fare").type == pa.float64()


def test_the_timeline_has_every_completed_commit(table):
    completed = {(i.requested_time, i.completion_time, i.action) for i in table.timeline.completed}
    assert completed == {(c["instant"], c["completion"], c["action"]) for c in case(NAME)["commits"]}
    assert table.timeline.latest.requested_time == max(c["instant"] for c in case(NAME)["commits"])
    assert list(table.timeline[:2]) == [table.timeline[0], table.timeline[1]]
    assert all(isinstance(instant, mortice.Instant) for instant in table.timeline)


def test_file_slices(table, table_of):
    (slice_,) = table.file_slices()
    assert (slice_.partition, len(slice_.log_files)) == ("", 6)
    base = table_of(NAME) / slice_.base_file.path
    assert base.stat().st_size == slice_.base_file.size
    assert slice_.size == base.stat().st_size + sum(log.size for log in slice_.log_files)
    assert {log.path.split("/")[-1] for log in slice_.log_files} == set(case(NAME)["log_blocks"])
    assert table.file_slices(as_of=case(NAME)["commits"][0]["instant"])[0].log_files == ()


def test_file_slices_of_partitions(table_of):
    table = mortice.Table(table_of("h11_composite_keys_encoded_partitions"))
    slices = table.file_slices()
    assert len({slice_.partition for slice_ in slices}) > 1
    assert slices == table.file_slices(filters=[("shop", "is not null")])
    area = slices[-1].partition.split("/")[0]
    wanted = [slice_ for slice_ in slices if slice_.partition.startswith(f"{area}/")]
    assert table.file_slices(filters=[("area", "=", unquote(area.removeprefix("area=")))]) == wanted
    assert 0 < len(wanted) < len(slices)
    with pytest.raises(mortice.InvalidArgumentError, match="no_such_column"):
        table.file_slices(filters=[("no_such_column", "=", "north")])


@pytest.mark.parametrize(
    "form",
    [
        lambda text: text,
        lambda text: f"{text[:4]}-{text[4:6]}-{text[6:8]} {text[8:10]}:{text[10:12]}:{text[12:14]}.{text[14:]}",
        lambda text: dt.datetime.strptime(text + "000", "%Y%m%d%H%M%S%f"),
    ],
    ids=["instant", "text", "datetime"],
)
def test_as_of_takes_an_instant_in_any_form(table, form):
    instant = "20261121024615652"
    assert_same_result(hudi_result(NAME, "as_of_03"), table.snapshot(as_of=form(instant)).to_arrow())


def test_as_of_an_aware_datetime_is_converted_to_the_timezone_of_the_timeline(table):
    zone = dt.timezone.utc if table.properties.get("hoodie.table.timeline.timezone", "LOCAL") == "UTC" else None
    moment = dt.datetime(2026, 11, 21, 2, 46, 15, 652000, tzinfo=zone).astimezone(dt.timezone(dt.timedelta(hours=5)))
    assert_same_result(hudi_result(NAME, "as_of_03"), table.snapshot(as_of=moment).to_arrow())


def test_as_of_before_the_first_commit_has_no_rows(table):
    with pytest.warns(mortice.TimeTravelWarning, match="the first commit of .* is 20261121024610515"):
        assert table.snapshot(as_of="20200101000000000").count() == 0


@pytest.mark.parametrize("as_of", ["", "yesterday", 20240101])
def test_as_of_must_be_an_instant(table, as_of):
    with pytest.raises(mortice.InvalidArgumentError):
        table.snapshot(as_of=as_of).to_arrow()


def test_a_table_keeps_the_state_of_its_opening(copy_of):
    path = copy_of(NAME)
    last = max(path.glob(".hoodie/timeline/*.deltacommit"))
    aside = last.rename(path.parent / last.name)
    table = mortice.Table(path)
    before = table.snapshot().to_arrow()
    aside.rename(last)
    assert_same_result(before, table.snapshot().to_arrow())
    after = mortice.Table(path)
    assert len(after.timeline.completed) == len(table.timeline.completed) + 1
    assert_same_result(hudi_result(NAME), after.snapshot().to_arrow())


def test_unmerged_rows_are_those_of_base_files_and_data_blocks(table_of):
    path = table_of(NAME)
    logs = [mortice.LogFile(log) for log in path.rglob(".*.log.*") if not log.name.endswith(".crc")]
    counts = [block.record_count for log in logs for block in log.blocks() if block.type == "AVRO_DATA_BLOCK"]
    table = mortice.Table(path)
    unmerged = table.snapshot(merge=False)
    assert unmerged.count() == unmerged.to_arrow().num_rows == table.read_optimized().count() + sum(counts)
    assert sum(counts) > 0
    with pytest.raises(mortice.InvalidArgumentError):
        table.snapshot(merge="no")


@pytest.mark.parametrize(
    "wrong",
    [
        {"semantics": "2.x"},
        {"semantics": "0.x"},  # no Hudi 0.x reads this table
        {"on_corrupt": "ignore"},
        {"threads": 0},
        {"threads": True},
        {"batch_rows": 0},
        {"prune": 1},
        {"batch_rows": "many"},
        {"memory_limit": -1},
        {"mmap": "perhaps"},
        {"spill_dir": 3},
    ],
    ids=str,
)
def test_invalid_read_options_are_refused(table, wrong):
    with pytest.raises(mortice.InvalidArgumentError) as refused:
        mortice.Table(table.uri, read_options=mortice.ReadOptions(**wrong))
    assert next(iter(wrong)).split("_")[0] in str(refused.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"storage_options": ["mmap"]},
        {"storage_options": {"no.such.option": "1"}},
        {"storage_options": {"mmap": "perhaps"}},
        {"read_options": {"mmap": True}},
    ],
    ids=str,
)
def test_invalid_arguments_are_refused(table, wrong):
    with pytest.raises(mortice.InvalidArgumentError) as refused:
        mortice.Table(table.uri, **wrong)
    assert next(iter(wrong)).split("_")[0] in str(refused.value)


@pytest.mark.parametrize("name", [one.name for one in fields(mortice.ReadOptions)])
def test_a_read_option_can_be_an_argument(table, name):
    value = getattr(mortice.ReadOptions(), name)
    pytest.importorskip("polars")
    mortice.Table(table.uri, **{name: value}).snapshot()
    mortice.scan_polars(table.uri, **{name: value})
    for opened in (mortice.Table, mortice.scan_polars):
        with pytest.raises(TypeError, match=rf"\(\) has no argument '{name}s'; use {name}$"):
            opened(table.uri, **{f"{name}s": value})


def test_an_argument_replaces_the_same_of_the_read_options(table):
    options = mortice.ReadOptions(batch_rows=7, threads=1)
    changed = mortice.Table(table.uri, read_options=options, batch_rows=3)
    batches = [batch.num_rows for batch in changed.snapshot().to_reader()]
    assert max(batches) <= 3
    with pytest.raises(mortice.InvalidArgumentError, match="batch_rows"):
        mortice.Table(table.uri, read_options=options, batch_rows=0)
    with pytest.raises(mortice.InvalidArgumentError, match="read_options is an argument of a path"):
        mortice.scan_polars(table, batch_rows=3)


def test_read_options_are_checked_before_there_is_a_table(tmp_path):
    options = mortice.ReadOptions(threads=2, spill_dir=tmp_path)
    assert options.spill_dir == str(tmp_path)
    assert replace(options, threads=3) == mortice.ReadOptions(threads=3, spill_dir=str(tmp_path))
    with pytest.raises(mortice.InvalidArgumentError, match="threads must be an integer"):
        replace(options, threads=0)
    with pytest.raises(TypeError, match=r"ReadOptions\(\) has no argument 'thread'; use threads$"):
        mortice.ReadOptions(thread=1)


@pytest.mark.parametrize("columns", [b"fare", ["fare", "fare"], [3], ["no_such_column"], ["fare.x"]], ids=str)
def test_invalid_columns_are_refused(table, columns):
    with pytest.raises(mortice.InvalidArgumentError):
        table.snapshot(columns=columns)


def test_an_empty_projection_keeps_the_number_of_rows(table):
    scan = table.snapshot(columns=[])
    assert len(scan.schema) == 0
    assert sum(batch.num_rows for batch in scan.to_reader()) == hudi_result(NAME).num_rows


def test_reprs_contain_the_essential_attributes(table):
    scan = table.snapshot(columns=["fare"], filters=[("seats", ">", 2)])
    assert "EVENT_TIME_ORDERING" in repr(table)
    assert "trip_id" in repr(table)
    assert "fare: double" in repr(scan)
    assert "seats" in repr(scan)
    assert "deltacommit" in repr(table.timeline)
    assert "bytes" in repr(scan.splits()[0])
    assert table.uri in scan.explain() or "snapshot" in scan.explain().lower()
    with pytest.raises(TypeError):
        len(scan)


def test_batches_have_at_most_batch_rows_rows(table_of):
    scan = mortice.Table(table_of(NAME), read_options=mortice.ReadOptions(batch_rows=7)).snapshot()
    sizes = [batch.num_rows for batch in scan.to_reader()]
    assert max(sizes) <= 7
    assert sum(sizes) == hudi_result(NAME).num_rows


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_rows_do_not_depend_on_the_number_of_threads(table_of, threads):
    name = "h11_composite_keys_encoded_partitions"
    assert_same_result(
        hudi_result(name),
        mortice.Table(table_of(name), read_options=mortice.ReadOptions(threads=threads)).snapshot().to_arrow(),
    )


def test_a_split_can_be_resumed(table):
    (split,) = table.snapshot().splits()
    whole = split.to_reader().read_all()
    assert split.to_reader(start_row=40).read_all().equals(whole.slice(40))
    assert split.to_reader(start_row=10**9).read_all().num_rows == 0
    with pytest.raises(mortice.InvalidArgumentError):
        split.to_reader(start_row=-1)


def test_the_report_counts_what_was_read(table):
    scan = table.snapshot()
    with pytest.raises(mortice.InvalidArgumentError):
        scan.report()
    scan.to_arrow()
    report = scan.report()
    assert report["rows"] == hudi_result(NAME).num_rows
    assert report["corrupt"] == []
    assert sum(report["blocks"].values()) == sum(len(blocks) for blocks in case(NAME)["log_blocks"].values())


def test_only_the_uri_is_a_positional_argument(table_of):
    with pytest.raises(TypeError):
        mortice.Table(table_of(NAME), {"mmap": "false"})


def test_the_type_of_ranges_is_exported(table):
    assert isinstance(table.ranges("earliest"), mortice.Ranges)
