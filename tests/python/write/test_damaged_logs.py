"""Services and writes that merge logs refuse damaged ones, change nothing, and go on only by an option."""

import pathlib

import pytest

import mortice
from support.tables.damaged import (
    UPDATES,
    cut_between_blocks,
    cut_in_block,
    flip_length,
    newest_log,
    table_with_logs,
)
from support.tables.written import NO_METADATA, NO_SMALL_FILES

DAMAGES = [cut_in_block, cut_between_blocks, flip_length]
SERVICES = {
    "compact": lambda table, options: table.compact(options),
    "schedule": lambda table, options: table.compact(options, run=False),
    "log_compact": lambda table, options: table.log_compact({**options, "hoodie.log.compaction.blocks.threshold": "2"}),
    "cluster": lambda table, options: table.cluster(options),
}


def files(table):
    """All files, except for those that writers create to keep out of each other's way."""
    found = pathlib.Path(table.uri).rglob("*")
    kept = (path for path in found if path.is_file() and not {".heartbeat", ".locks"} & set(path.parts))
    return {str(path): path.read_bytes() for path in kept}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("metadata", [True, False], ids=["listed", "unlisted"])
@pytest.mark.parametrize("version", [6, 9])
def test_services_refuse_damaged_logs_and_change_nothing(tmp_path, version, metadata, service, damage):
    table = table_with_logs(tmp_path / "t", version, metadata=metadata)
    log = newest_log(table)
    damage(log)
    before = files(table)
    with pytest.raises(mortice.CorruptLogError, match="damaged") as raised:
        SERVICES[service](table, {} if metadata else NO_METADATA)
    assert raised.value.path == str(log)
    assert raised.value.offset is not None
    assert raised.value.instant == table.timeline[-1].requested_time
    assert files(table) == before


@pytest.mark.parametrize("by", ["table", "option"])
@pytest.mark.parametrize("choice", ["warn", "ignore"])
@pytest.mark.parametrize("version", [6, 9])
def test_a_compaction_goes_on_by_an_option(tmp_path, version, choice, by):
    table = table_with_logs(tmp_path / "t", version)
    cut_between_blocks(newest_log(table))
    if by == "table":
        done = mortice.Table(table.uri, read_options=mortice.ReadOptions(on_damage=choice)).compact()
    else:
        done = table.compact({"mortice.on_damage": choice})
    assert done.commit is not None
    # What was lost stays lost, and verify says so for as long as the file and its commit exist.
    found = mortice.Table(table.uri).verify().findings
    assert "wrong_length" in {one.kind for one in found}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("metadata", ["true", "false"], ids=["listed", "unlisted"])
@pytest.mark.parametrize("version", [6, 9])
def test_verify_finds_damage_before_and_after_a_compaction(tmp_path, version, metadata, damage):
    table = table_with_logs(tmp_path / "t", version, metadata=metadata == "true")
    assert table.verify().findings == []
    log = newest_log(table)
    damage(log)
    expected = "damaged_log" if damage is flip_length else "wrong_length"
    for _ in range(2):
        found = {one.kind for one in table.verify().findings if one.path.endswith(log.name)}
        assert expected in found
        mortice.Table(table.uri, read_options=mortice.ReadOptions(on_damage="ignore")).compact(
            {} if metadata == "true" else NO_METADATA
        )
        table.refresh()


def test_writes_that_merge_logs_refuse_damaged_ones(tmp_path):
    table = table_with_logs(tmp_path / "t", 9)
    cut_in_block(newest_log(table))
    before = [one for one in table.timeline if one.action == "deltacommit"]
    with pytest.raises(mortice.CorruptLogError):
        table.delete_where([("fare", "<", 0.0)], NO_SMALL_FILES)
    with pytest.raises(mortice.CorruptLogError):
        table.merge_into(UPDATES, when_matched_update=["fare"], options=NO_SMALL_FILES)
    table.refresh()
    assert [one for one in table.timeline if one.action == "deltacommit"] == before
    assert (
        mortice.Table(table.uri, read_options=mortice.ReadOptions(on_damage="ignore"))
        .delete_where([("fare", "<", 0.0)], NO_SMALL_FILES)
        .stats
    )
