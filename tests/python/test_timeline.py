"""The timeline: active and archived instants, merged. The archive is read on demand."""

import json
from pathlib import Path

import fastavro
import pytest

import mortice
from support.cases import TABLES, case, unpack
from support.tables.live_table import LiveTable


@pytest.fixture(params=[6, 9])
def live(request, tmp_path):
    table = LiveTable(tmp_path / "table", request.param)
    for step in range(12):
        table.work(step)
    return table


def described(instants):
    return [(one.requested_time, one.action) for one in instants]


@pytest.mark.parametrize("name", TABLES)
def test_completed_actions_equal_those_that_hudi_lists(name, table_of):
    commits = case(name).get("commits")
    if not commits or not isinstance(commits[0], dict):
        pytest.skip("the case metadata has no timeline")
    active = mortice.Table(table_of(name)).timeline.active.completed
    hudis, ours = {(one["instant"], one["action"]) for one in commits}, set(described(active))
    # The case metadata lists writes; it lists no writes that were rolled back later.
    assert {action for _, action in hudis ^ ours} <= {"rollback", "clean"}
    assert hudis <= ours


def test_archived_and_active_instants_are_merged_in_order(live):
    timeline = mortice.Table(live.folder).timeline
    archived, active = described(timeline.archived), described(timeline.active)
    assert archived
    assert active == sorted((requested, action) for requested, _, action in live.history)
    assert described(timeline) == sorted(archived + active)
    assert len(timeline) == len(archived) + len(active)
    assert not set(archived) & set(active)
    assert described(timeline.completed) == described(timeline)
    assert [one.requested_time for one in timeline] == sorted(one.requested_time for one in timeline)
    if live.version >= 8:
        assert all(one.completion_time for one in timeline)
    assert described(timeline[2:5]) == described(timeline)[2:5]
    assert timeline[-1] == timeline.latest == timeline.active[-1]


def test_an_instant_that_is_being_archived_is_returned_once(live):
    before = described(mortice.Table(live.folder).timeline)
    kept = {path: path.read_bytes() for path in live.timeline.iterdir() if path.is_file()}
    live.archive(keep=1)
    for path, content in kept.items():
        path.write_bytes(content)
    assert described(mortice.Table(live.folder).timeline) == before


def test_an_open_table_does_not_see_later_archives(live):
    table = mortice.Table(live.folder)
    active, names = described(table.timeline.active), described(mortice.Table(live.folder).timeline)
    for step in range(12, 30):
        live.work(step)
    assert described(table.timeline) == names
    # Metadata that was active when the table was opened is read from the archive.
    assert described(table.timeline.active) == active
    for one in table.timeline.active.completed:
        current = table.timeline.metadata(one)
        assert (current is not None) == (one.action != "clean" or live.version >= 8), one


def test_the_archive_is_not_read_for_active_instants(live, tmp_path):
    archive = live.folder / ".hoodie" / "archived" if live.version < 8 else live.timeline / "history"
    archive.rename(tmp_path / "away")
    archive.mkdir()
    (archive / ".commits_.archive.1_1-0-1").write_bytes(b"#HUDI#torn")
    (archive / "_version_").write_text("1", encoding="utf-8")
    (archive / "manifest_1").write_text("{", encoding="utf-8")
    table = mortice.Table(live.folder)
    timeline = table.timeline
    assert timeline.latest
    assert timeline.active
    assert not timeline.pending
    assert "active instants" in repr(timeline)
    assert timeline.metadata(timeline.latest)
    assert table.snapshot().count() == live.commits
    for needed in (
        lambda: len(timeline),
        lambda: list(timeline),
        lambda: timeline.archived,
        lambda: timeline.completed[0],
    ):
        with pytest.raises((mortice.CorruptLogError, mortice.InvalidTableError)):
            needed()


def test_metadata_of_archived_and_active_commits_have_the_same_structure(live):
    timeline = mortice.Table(live.folder).timeline
    for part in (timeline.archived, timeline.active):
        commits = [one for one in part if one.action in {"commit", "deltacommit"}]
        assert commits
        for one in commits:
            metadata = timeline.metadata(one)
            assert metadata["operationType"] == ("COMPACT" if one.action == "commit" else "UPSERT")
            paths = [stat["path"] for stats in metadata["partitionToWriteStats"].values() for stat in stats]
            assert paths
            assert all(one.requested_time in path or live.version < 8 for path in paths)
    assert part.metadata(part[0]) == timeline.metadata(part[0])


def test_plans_are_returned(live):
    timeline = mortice.Table(live.folder).timeline
    planned = live.plan_compaction()
    now = mortice.Table(live.folder).timeline
    (pending,) = now.pending
    assert (pending.requested_time, pending.action, pending.state) == (planned[0], "compaction", "INFLIGHT")
    assert [one["partitionPath"] for one in now.plan(pending)["operations"]] == planned[1]
    assert now.metadata(pending) is None
    (clean,) = [one for one in timeline.active if one.action == "clean"][-1:]
    assert timeline.plan(clean)["filePathsToBeDeletedPerPartition"]
    delta = next(one for one in timeline.active if one.action == "deltacommit")
    assert timeline.plan(delta) is None


def test_an_instant_of_another_table_is_refused(live):
    timeline = mortice.Table(live.folder).timeline
    with pytest.raises(mortice.InvalidArgumentError, match="20200101000000000"):
        timeline.metadata(mortice.Instant("20200101000000000", None, "commit", "COMPLETED"))


def test_active_metadata_equals_the_files(table_of):
    path = Path(table_of("h11_event_time_deletes"))
    table = mortice.Table(path)
    for one in table.timeline.completed:
        file = path / ".hoodie" / "timeline" / f"{one.requested_time}_{one.completion_time}.{one.action}"
        with file.open("rb") as opened:
            (expected,) = fastavro.reader(opened)
        assert json.loads(json.dumps(expected)) == table.timeline.metadata(one)


@pytest.mark.parametrize("name", ["v6_actions", "v9_actions"])
def test_archives_of_hudi(name, tmp_path):
    """Every action of Hudi, mostly archived by Hudi itself, compared with the metadata next to the table."""
    place = Path(__file__).parent.parent / "data" / "timelines" / name
    path = unpack(place, tmp_path)
    expected = json.loads((place / "instants.json").read_text(encoding="utf-8"))
    table = mortice.Table(path)
    for part in ("active", "archived"):
        instants = getattr(table.timeline, part)
        assert sorted(described(instants)) == sorted((one[0], one[2]) for one in expected[part])
        if table.version >= 8:
            assert {one.requested_time: one.completion_time for one in instants} == {
                one[0]: one[1] for one in expected[part]
            }
    actions = {one.action for one in table.timeline}
    assert actions >= {"commit", "deltacommit", "replacecommit", "clean", "restore"}
    for one in table.timeline:
        assert table.timeline.metadata(one), one
