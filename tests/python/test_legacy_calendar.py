"""Dates before 1582 and times before 1900: files in which they are of the hybrid calendar, and the mark of ours."""

import datetime as dt
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import hudi_result, unpack, with_properties

TABLES = ["h12_legacy_calendar", "h12_legacy_calendar_int96"]
VERSION = b"org.apache.spark.version"
LEGACY = b"org.apache.spark.legacyDateTime"
ZONE = b"org.apache.spark.timeZone"


@pytest.fixture(params=TABLES)
def table(request, tmp_path):
    """A table whose rows Hudi and Spark return as `rows`."""
    return mortice.Table(unpack(request.param, tmp_path / "t"))


def rows(name=TABLES[0]):
    return hudi_result(name).sort_by("id")


def files(path):
    return sorted(path.glob("*/*.parquet"))


def newest(path):
    """Returns the file of each partition that was written last."""
    return [max(folder, key=lambda file: file.name.rsplit("_", 1)[1]) for folder in _by_folder(path).values()]


def _by_folder(path):
    found = {}
    for file in files(path):
        found.setdefault(file.parent.name, []).append(file)
    return found


def read(table, **query):
    return table.snapshot(meta=False, **query).to_arrow().sort_by("id")


def test_columns_of_every_shape_are_those_of_hudi(table):
    expected = rows()
    found = read(table)
    for name in ("d", "t", "n", "s", "l", "m"):
        assert found[name].to_pylist() == expected[name].to_pylist(), name
        assert read(table, columns=["id", name])[name].to_pylist() == expected[name].to_pylist(), name
    assert table.snapshot().count() == expected.num_rows


@pytest.mark.parametrize("column", ["d", "t"])
def test_a_filter_finds_every_row(table, column):
    for key, value in zip(rows()["id"].to_pylist(), rows()[column].to_pylist(), strict=True):
        if value is None:
            continue
        same = table.snapshot(columns=["id"], filters=[(column, "=", value)]).to_arrow()["id"].to_pylist()
        assert key in same, value
        earlier = pc.sum(pc.less(rows()[column], pa.scalar(value, rows()[column].type))).as_py()
        assert table.snapshot(filters=[(column, "<", value)]).count() == earlier, value


def test_a_filter_between_the_calendars_finds_only_the_proper_dates(table):
    # In the hybrid calendar 1500-03-01 is the day that is 1500-03-10 in the proper one.
    assert table.snapshot(filters=[("d", "=", dt.date(1500, 3, 10))]).count() == 0
    assert table.snapshot(filters=[("d", ">", dt.date(1582, 10, 4)), ("d", "<", dt.date(1582, 10, 15))]).count() == 0


def change_by_upsert(table):
    table.upsert(read(table, filters=[("id", "=", "k01")]))
    table.upsert(read(table, filters=[("id", "=", "k18")]))


def change_by_predicate(table):
    table.update_where({"s": "s"}, "id IN ('k01', 'k18')")


def change_by_clustering(table):
    table.cluster()


@pytest.mark.parametrize("change", [change_by_upsert, change_by_predicate, change_by_clustering])
def test_a_rewritten_file_has_proper_values_for_all_readers(table, change, tmp_path):
    before = {file.name for file in files(tmp_path / "t")}
    change(table)
    written = [file for file in newest(tmp_path / "t") if file.name not in before]
    assert len(written) == 2
    raw = pa.concat_tables(pq.ParquetFile(file).read(["id", "d", "t", "s", "l"]) for file in written).sort_by("id")
    for name in ("d", "t", "s"):
        assert raw[name].to_pylist() == rows()[name].to_pylist(), name
    for file in written:
        keys = pq.ParquetFile(file).metadata.metadata
        assert (VERSION in keys, LEGACY in keys) == (True, False)
    table.refresh()
    assert read(table)["d"].to_pylist() == rows()["d"].to_pylist()


def with_footer(tmp_path, keys):
    """Returns the table with other keys in the footers of its files, whose numbers stay."""
    path = unpack(TABLES[0], tmp_path / "t")
    shutil.rmtree(path / ".hoodie" / "metadata")
    with_properties(path, {"hoodie.table.metadata.partitions": None})
    for file in files(path):
        stored = pq.ParquetFile(file).read()
        pq.write_table(stored.replace_schema_metadata(keys), file)
    return mortice.Table(path)


@pytest.mark.parametrize(
    ("keys", "is_hybrid"),
    [
        ({VERSION: "2.4.8", ZONE: "America/Los_Angeles"}, True),
        ({VERSION: "3.5.6", LEGACY: "", ZONE: "America/Los_Angeles"}, True),
        ({VERSION: "4.0.0", LEGACY: "", ZONE: "America/Los_Angeles"}, True),
        ({VERSION: "3.0.0"}, False),
        ({VERSION: "3.5.6", b"org.apache.spark.legacyINT96": ""}, False),
        ({LEGACY: ""}, False),
        ({b"other": ""}, False),
    ],
    ids=str,
)
def test_the_footer_decides(tmp_path, keys, is_hybrid):
    table = with_footer(tmp_path, keys)
    # As numbers: some dates of the hybrid calendar are before the year 1 in the proper one.
    for name, kind in (("d", pa.int32()), ("t", pa.int64())):
        found, expected = (one[name].cast(kind).to_pylist() for one in (read(table), rows()))
        assert (found == expected) == is_hybrid, name
        # Late values are the same in both calendars.
        assert found[15:] == expected[15:]


# Times of the hybrid calendar and the proper ones, as Spark 3.5 converts them: of a few zones.
TIMES = {
    "UTC": [(-12_219_292_800_000_001, -12_220_156_800_000_001), (-12_219_292_800_000_000, -12_219_292_800_000_000)],
    "Asia/Manila": [
        (-12_219_321_600_000_000, -12_219_235_440_000_000),
        (-3_944_620_800_000_000, -3_944_621_040_000_000),
    ],
    "GMT+08:00": [
        (-12_219_321_601_000_000, -12_220_185_601_000_000),
        (-12_219_321_600_000_000, -12_219_321_600_000_000),
    ],
    "Nowhere/Else": [(-70_000_000_000_000_000, -69_999_654_400_000_000), (-2_208_988_800_000_000,) * 2],
}


@pytest.mark.parametrize("zone", TIMES)
def test_times_are_converted_in_the_zone_of_the_writer(tmp_path, zone):
    data = pa.table({"id": ["a", "b"], "t": pa.array([hybrid for hybrid, _ in TIMES[zone]], pa.timestamp("us", "UTC"))})
    table = mortice.create_table(tmp_path / "t", data.schema, record_key="id")
    table.upsert(data, options={"hoodie.metadata.enable": "false"})
    (file,) = (tmp_path / "t").glob("*.parquet")
    keys = {VERSION: "3.5.6", LEGACY: "", ZONE: zone}
    pq.write_table(pq.ParquetFile(file).read().replace_schema_metadata(keys), file)
    found = mortice.Table(tmp_path / "t").snapshot(columns=["t"]).to_arrow()["t"]
    assert sorted(found.cast(pa.int64()).to_pylist()) == sorted(proper for _, proper in TIMES[zone])


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_files_of_ours_say_that_their_dates_are_proper(tmp_path, kind):
    data = pa.table({"id": ["a", "b"], "d": [dt.date(1, 1, 1), dt.date(1500, 3, 1)]})
    table = mortice.create_table(tmp_path / "t", data=data, record_key="id", table_type=kind)
    options = {"hoodie.logfile.data.block.format": "parquet"}
    table.upsert(data.slice(0, 1), options=options)
    for file in (tmp_path / "t").glob("*.parquet"):
        version = pq.ParquetFile(file).metadata.metadata[VERSION]
        # Spark compares strings: later than the releases that wrote the hybrid calendar.
        assert version.decode() >= "3.1.0"
    logs = b"".join(file.read_bytes() for file in (tmp_path / "t").glob(".*.log.*"))
    assert (VERSION in logs) == (kind == "MERGE_ON_READ")
    assert sorted(table.snapshot().to_arrow()["d"].to_pylist()) == data["d"].to_pylist()


def test_parquet_log_blocks_are_converted_and_compacted(tmp_path):
    data = pa.table({"id": ["a", "b"], "d": [dt.date(1500, 3, 1), dt.date(2024, 1, 1)]})
    table = mortice.create_table(tmp_path / "t", data=data, record_key="id", table_type="MERGE_ON_READ")
    # The number of days that the hybrid calendar has for 1501-03-01.
    hybrid = pa.table({"id": ["a"], "d": [dt.date(1501, 3, 11)]})
    table.upsert(hybrid, options={"hoodie.logfile.data.block.format": "parquet"})
    (log,) = (tmp_path / "t").glob(".*.log.*")
    stored = log.read_bytes()
    version = pq.ParquetFile(next((tmp_path / "t").glob("*.parquet"))).metadata.metadata[VERSION]
    assert stored.count(version) == 1
    # A release of Spark 2 of the same length, and no checksum of the footer: the footer stays valid.
    stored = stored.replace(b"mortice.footer.crc32", b"mortice.footer.other")
    log.write_bytes(stored.replace(version, b"2.4.8".ljust(len(version))))
    table.refresh()
    expected = [dt.date(1501, 3, 1), dt.date(2024, 1, 1)]
    assert read(table)["d"].to_pylist() == expected
    assert table.snapshot(filters=[("d", "=", expected[0])]).count() == 1
    assert table.snapshot(filters=[("d", "=", dt.date(1501, 3, 11))]).count() == 0
    table.compact({"hoodie.compact.inline.max.delta.commits": "1"})
    written = max((tmp_path / "t").glob("*.parquet"), key=lambda file: file.name.rsplit("_", 1)[1])
    assert pq.ParquetFile(written).read(["d"])["d"].to_pylist() == expected
