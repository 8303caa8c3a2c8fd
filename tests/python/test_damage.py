"""A damaged log in a table: skipped and reported, as Hudi does, or refused."""

import pytest

import mortice
from support.cases import answer, assert_same_answer, case, logs_of

NAME = "h11_event_time_deletes"


@pytest.fixture
def damaged(copy_of):
    """A table whose last log file lost its end, as a writer that died leaves it; and what its commit had upserted."""
    path = copy_of(NAME)
    last = logs_of(path)[-1]
    content = last.read_bytes()
    last.write_bytes(content[: len(content) - 100])
    return path, last


def test_skip_leaves_the_block_out_and_reports_it(damaged):
    path, log = damaged
    scan = mortice.Table(path, on_corrupt="skip").snapshot()
    rows = scan.to_arrow()
    (corrupt,) = scan.report()["corrupt"]
    assert (corrupt["file"].split("/")[-1], corrupt["offset"]) == (log.name, 0)
    assert corrupt["reason"]
    # What remains is the table as it was before that commit.
    before = case(NAME)["commits"][-2]["instant"]
    assert_same_answer(mortice.Table(path).snapshot(as_of=before).to_arrow(), rows)
    assert rows.num_rows != answer(NAME).num_rows


def test_raise_names_the_file_and_the_offset(damaged):
    path, log = damaged
    with pytest.raises(mortice.CorruptLogError) as raised:
        mortice.Table(path, on_corrupt="raise").snapshot().to_arrow()
    assert raised.value.path.endswith(log.name)
    assert (raised.value.block, raised.value.offset < log.stat().st_size) == (0, True)
    assert log.name in str(raised.value)


def test_skip_is_what_happens_by_default(damaged):
    path, _ = damaged
    assert_same_answer(
        mortice.Table(path, on_corrupt="skip").snapshot().to_arrow(), mortice.Table(path).snapshot().to_arrow()
    )


def test_damage_within_a_block_is_never_skipped(copy_of):
    """The frame is sound, so Hudi fails on decoding: leaving rows out in silence would be wrong."""
    path = copy_of(NAME)
    log = next(log for log in logs_of(path) if "AVRO" in case(NAME)["log_blocks"][log.name][0])
    (block,) = mortice.LogFile(log).blocks()
    content = bytearray(log.read_bytes())
    # The length of the first record, after the content's version and its count of records.
    content[block.content_offset + 8 : block.content_offset + 12] = b"\x7f\xff\xff\xff"
    log.write_bytes(content)
    with pytest.raises(mortice.CorruptLogError) as raised:
        mortice.Table(path, on_corrupt="skip").snapshot().to_arrow()
    assert raised.value.path.endswith(log.name)
    assert raised.value.offset is not None


def test_read_optimized_does_not_mind(damaged):
    path, _ = damaged
    assert_same_answer(
        answer(NAME, "read_optimized"),
        mortice.Table(path, on_corrupt="raise").read_optimized().to_arrow(),
        ordered=False,
    )


@pytest.mark.parametrize(
    ("at", "byte", "kind"),
    [(17, 2, mortice.UnsupportedError), (21, 9, mortice.UnsupportedError), (29, 99, mortice.UnsupportedError)],
    ids=["log format version", "block type", "header key"],
)
def test_a_table_read_stops_at_what_might_hold_rows(copy_of, at, byte, kind):
    """A log file alone can be looked at beyond such a block; a table would miss rows in silence."""
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
