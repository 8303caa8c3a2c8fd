"""Corrupt log files of tables: skipped and reported, as in Hudi, or refused."""

import pytest

import mortice
from support.cases import assert_same_result, case, hudi_result, logs_of

NAME = "h11_event_time_deletes"


@pytest.fixture
def damaged(copy_of):
    """Returns a table whose last log file is truncated, as by a writer that died, and the rows that its commit had
    upserted."""
    path = copy_of(NAME)
    last = logs_of(path)[-1]
    content = last.read_bytes()
    last.write_bytes(content[: len(content) - 100])
    return path, last


def test_skip_omits_the_block_and_reports_it(damaged):
    path, log = damaged
    scan = mortice.Table(path, read_options=mortice.ReadOptions(on_corrupt="skip")).snapshot()
    with pytest.warns(mortice.DamagedFileWarning, match=log.name):
        rows = scan.to_arrow()
    (corrupt,) = scan.report()["corrupt"]
    assert (corrupt["file"].split("/")[-1], corrupt["offset"]) == (log.name, 0)
    assert corrupt["reason"]
    # The rest is the table before that commit.
    before = case(NAME)["commits"][-2]["instant"]
    assert_same_result(mortice.Table(path).snapshot(as_of=before).to_arrow(), rows)
    assert rows.num_rows != hudi_result(NAME).num_rows


def test_raise_names_the_file_and_the_offset(damaged):
    path, log = damaged
    with pytest.raises(mortice.CorruptLogError) as raised:
        mortice.Table(path, read_options=mortice.ReadOptions(on_corrupt="raise")).snapshot().to_arrow()
    assert raised.value.path.endswith(log.name)
    assert (raised.value.block, raised.value.offset < log.stat().st_size) == (0, True)
    assert log.name in str(raised.value)


def test_skip_is_the_default(damaged):
    path, _ = damaged
    skipped = (
        mortice.Table(path, read_options=mortice.ReadOptions(on_corrupt="skip", on_damage="ignore"))
        .snapshot()
        .to_arrow()
    )
    assert_same_result(
        skipped, mortice.Table(path, read_options=mortice.ReadOptions(on_damage="ignore")).snapshot().to_arrow()
    )


def test_corrupt_content_of_a_block_is_never_skipped(copy_of):
    """The frame is valid, so Hudi fails on decoding: skipping rows silently would be wrong."""
    path = copy_of(NAME)
    log = next(log for log in logs_of(path) if "AVRO" in case(NAME)["log_blocks"][log.name][0])
    (block,) = mortice.LogFile(log).blocks()
    content = bytearray(log.read_bytes())
    # The length of the first record follows the content version and the number of records.
    content[block.content_offset + 8 : block.content_offset + 12] = b"\x7f\xff\xff\xff"
    log.write_bytes(content)
    with pytest.raises(mortice.CorruptLogError) as raised:
        mortice.Table(path, read_options=mortice.ReadOptions(on_corrupt="skip")).snapshot().to_arrow()
    assert raised.value.path.endswith(log.name)
    assert raised.value.offset is not None


def test_read_optimized_queries_ignore_corrupt_logs(damaged):
    path, _ = damaged
    assert_same_result(
        hudi_result(NAME, "read_optimized"),
        mortice.Table(path, read_options=mortice.ReadOptions(on_corrupt="raise")).read_optimized().to_arrow(),
        ordered=False,
    )


@pytest.mark.parametrize(
    ("at", "byte", "kind"),
    [(17, 2, mortice.UnsupportedError), (21, 9, mortice.UnsupportedError), (29, 99, mortice.UnsupportedError)],
    ids=["log format version", "block type", "header key"],
)
def test_a_table_read_stops_at_blocks_that_might_contain_rows(copy_of, at, byte, kind):
    """A log file reader may continue after such a block; a table read would miss rows silently."""
    path = copy_of(NAME)
    log = logs_of(path)[-1]
    content = bytearray(log.read_bytes())
    content[at] = byte
    log.write_bytes(content)
    (block,) = mortice.LogFile(log).blocks()
    assert block.refusal
    with pytest.raises(kind, match=log.name) as raised:
        mortice.Table(path).snapshot().to_arrow()
    assert raised.value.offset is not None
