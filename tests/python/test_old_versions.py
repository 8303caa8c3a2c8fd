"""Tables of versions 0 to 5: copies of real ones, changed to the layout of older releases, return the same rows.

The changes are those of Hudi's upgrade handlers (`ZeroToOne…` to `FiveToSix…`), reversed.
"""

import datetime as dt
import shutil

import pytest

import mortice
from support.cases import assert_same_result, hudi_result, queries, with_properties

# Hudi 0.9 wrote the first, at version 2; later releases the others, at version 6.
REAL = ["h009_upsert_delete", "h015_bootstrap_flat", "h11_v6_uncommitted"]
SINCE = {
    6: [],
    4: ["hoodie.table.checksum", "hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight"],
    3: [
        "hoodie.datasource.write.hive_style_partitioning",
        "hoodie.datasource.write.partitionpath.urlencode",
        "hoodie.table.keygenerator.class",
        "hoodie.table.keygenerator.type",
        "hoodie.datasource.write.drop.partition.columns",
        "hoodie.partition.metafile.use.base.format",
        "hoodie.table.timeline.timezone",
        "hoodie.table.cdc.enabled",
        "hoodie.table.format",
        "hoodie.compaction.record.merger.strategy",
        "hoodie.record.merge.strategy.id",
    ],
    2: [
        "hoodie.table.partition.fields",
        "hoodie.table.recordkey.fields",
        "hoodie.populate.meta.fields",
        "hoodie.table.base.file.format",
    ],
    1: ["hoodie.table.version"],
}


def downgraded(path, version):
    """Rewrites the properties of a table of version 6 or less to those of `version`."""
    gone = {key: None for since, keys in SINCE.items() if version < since for key in keys}
    if version > 0:
        gone["hoodie.table.version"] = str(version)
    if version < 2:
        gone["hoodie.table.ro.file.format"] = "PARQUET"
    with_properties(path, gone)
    if version < 4:
        shutil.rmtree(path / ".hoodie" / "metadata", ignore_errors=True)
    return path


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("name", REAL)
def test_every_query_gives_the_same_rows(name, version, copy_of):
    path = downgraded(copy_of(name), version)
    table = mortice.Table(path)
    assert table.version == version
    bundled = [query for query in queries() if query.case == name and not query.path]
    assert len(bundled) > 2
    for query in bundled:
        assert_same_result(query.expected, query.scan(table).to_arrow(), ordered=query.ordered)


@pytest.mark.parametrize("version", [0, 1])
def test_instants_that_were_renamed_in_place(version, copy_of):
    """Timeline layout 0: an instant has only one file, that of its state."""
    name = "h009_upsert_delete"
    path = downgraded(copy_of(name), version)
    with_properties(path, {"hoodie.timeline.layout.version": "0"})
    for file in (path / ".hoodie").iterdir():
        completed = path / ".hoodie" / ".".join(file.name.split(".")[:2])
        pending = file.name.endswith((".requested", ".inflight"))
        if pending and any(completed.with_suffix(f".{action}").exists() for action in ("commit", "deltacommit")):
            file.unlink()
    assert_same_result(hudi_result(name), mortice.Table(path).snapshot().to_arrow())


def test_leftover_files_of_old_writers_are_ignored(copy_of):
    """Markers, copies, an empty commit file, pending commits, files that an upgrade leaves beside the properties."""
    name = "h009_upsert_delete"
    path = downgraded(copy_of(name), 1)
    hidden = path / ".hoodie"
    for leftover in (
        ".temp/20990101000000/p/f-0_0-1-2_20990101000000.parquet.marker.CREATE",
        ".temp/20990101000000/p/f-0_0-1-2_20990101000000.marker",
        ".aux/20990101000000.compaction.requested",
        "20990101000000.inflight",
        "20990101000001.commit.requested",
        "20990101000002.deltacommit.inflight",
        "20990101000003.clean.requested",
        ".20990101000004.commit.crc",
        "hoodie.properties.updated",
    ):
        (hidden / leftover).parent.mkdir(parents=True, exist_ok=True)
        (hidden / leftover).touch()
    (hidden / "20210101000000.commit").touch()
    (hidden / "archived").mkdir(exist_ok=True)
    assert_same_result(hudi_result(name), mortice.Table(path).snapshot().to_arrow())


def test_an_interrupted_update_of_the_properties(copy_of):
    name = "h009_upsert_delete"
    path = downgraded(copy_of(name), 2)
    properties = path / ".hoodie" / "hoodie.properties"
    whole = properties.read_bytes()
    backup = properties.with_name("hoodie.properties.backup")
    backup.write_bytes(whole)
    for torn in (b"", whole[:20]):
        properties.write_bytes(torn)
        assert_same_result(hudi_result(name), mortice.Table(path).snapshot().to_arrow())
    properties.unlink()
    assert_same_result(hudi_result(name), mortice.Table(path).snapshot().to_arrow())


def test_class_names_from_before_apache(copy_of):
    name = "h009_upsert_delete"
    path = downgraded(copy_of(name), 0)
    payload = {"hoodie.compaction.payload.class": "com.uber.hoodie.common.model.OverwriteWithLatestAvroPayload"}
    with_properties(path, payload | {"hoodie.archivelog.folder": ""})
    table = mortice.Table(path)
    assert_same_result(hudi_result(name), table.snapshot().to_arrow())
    everything = table.incremental("000").to_arrow()
    assert everything.num_rows == hudi_result(name).num_rows


def test_partition_markers_with_an_extension(copy_of):
    """`hoodie.partition.metafile.use.base.format`."""
    name = "h009_upsert_delete"
    path = copy_of(name)
    markers = [file for file in path.rglob(".hoodie_partition_metadata") if ".hoodie" not in file.parent.parts]
    assert markers
    for marker in markers:
        marker.rename(marker.with_name(".hoodie_partition_metadata.parquet"))
    assert_same_result(hudi_result(name), mortice.Table(path).snapshot().to_arrow())


@pytest.mark.parametrize("version", ["11", "42", "1000"])
def test_later_versions_are_refused_by_name(version, copy_of):
    path = copy_of("h009_upsert_delete")
    with_properties(path, {"hoodie.table.version": version})
    with pytest.raises(mortice.UnsupportedError, match=f"unsupported table version {version}.*0 to 10"):
        mortice.Table(path)


@pytest.mark.parametrize("zone", ["UTC", "LOCAL", "utc"])
def test_instants_are_in_the_timezone_of_the_timeline(zone, copy_of, monkeypatch):
    """Strings are digits in the timezone of the timeline, as in Hudi; a datetime with a zone is converted to it."""
    import time

    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        path = copy_of("h009_upsert_delete")
        with_properties(path, {"hoodie.table.timeline.timezone": zone})
        table = mortice.Table(path)
        second = [instant.requested_time for instant in table.timeline if instant.state == "COMPLETED"][1]
        wall = dt.datetime.strptime(second[:14], "%Y%m%d%H%M%S").replace(microsecond=999_000)
        offset = dt.timedelta(0) if zone.upper() == "UTC" else dt.timedelta(hours=5, minutes=30)
        elsewhere = dt.timezone(dt.timedelta(hours=-8))
        moment = (wall - offset).replace(tzinfo=dt.timezone.utc).astimezone(elsewhere)
        expected = table.snapshot(as_of=second).to_arrow()
        assert expected.num_rows > 0
        for as_of in (f"{wall:%Y-%m-%d %H:%M:%S}", wall, moment, moment.isoformat()):
            assert_same_result(expected, table.snapshot(as_of=as_of).to_arrow())
        after = table.incremental(second).count()
        assert table.incremental(moment).count() == after == table.incremental(f"{wall:%Y-%m-%d %H:%M:%S}").count()
        with pytest.warns(mortice.TimeTravelWarning, match="no rows as of"):
            assert table.snapshot(as_of="2024-01-01T00:00:00+05:30").count() == 0
    finally:
        monkeypatch.undo()
        time.tzset()


def test_an_invalid_timezone_is_refused(copy_of):
    path = copy_of("h009_upsert_delete")
    with_properties(path, {"hoodie.table.timeline.timezone": "CET"})
    with pytest.raises(mortice.InvalidTableError, match="CET"):
        mortice.Table(path)
