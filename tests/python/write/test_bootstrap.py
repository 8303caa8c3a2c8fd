"""Tables that are made of folders of Parquet files. Hudi reads them in `tests/spark/test_bootstrap.py`."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice

NAMES = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
}
BY_DAY = {**NAMES, "hoodie.datasource.write.partitionpath.field": "day"}
FIRST = "00000000000001"


def write(folder, name, ids, **columns):
    folder.mkdir(parents=True, exist_ok=True)
    rows = {"id": ids, "ts": list(range(len(ids))), "note": [f"note {one}" for one in ids], **columns}
    pq.write_table(pa.table(rows), folder / name, row_group_size=7)


@pytest.fixture
def source(tmp_path):
    """Files of two days, which only their folders name."""
    source = tmp_path / "source"
    for day in ("2026-01-01", "2026-01-02"):
        for part in range(2):
            write(source / f"day={day}", f"part-{part}.parquet", [f"{day[-1]}{part}{row:02}" for row in range(20)])
    (source / "_SUCCESS").touch()
    return source


def rows_of(table):
    rows = table.snapshot(columns=["id", "ts", "note", "day"]).to_arrow().sort_by("id")
    return rows.to_pylist()


def expected(source):
    rows = []
    for file in source.rglob("*.parquet"):
        day = file.parent.name.removeprefix("day=")
        rows += [{**row, "day": day} for row in pq.read_table(file, partitioning=None).to_pylist()]
    return sorted(rows, key=lambda row: row["id"])


@pytest.mark.parametrize("version", ["9", "8", "6"])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_skeletons_beside_the_files(source, tmp_path, version, kind):
    options = {**BY_DAY, "hoodie.write.table.version": version, "hoodie.datasource.write.table.type": kind}
    table = mortice.bootstrap(tmp_path / "table", source, options)
    assert [one.requested_time for one in table.timeline.active] == [FIRST]
    assert rows_of(table) == expected(source)
    meta = table.snapshot().to_arrow()
    assert meta["_hoodie_record_key"].to_pylist() == meta["id"].to_pylist()
    assert set(meta["_hoodie_partition_path"].to_pylist()) == {"day=2026-01-01", "day=2026-01-02"}
    assert len(list((tmp_path / "table").rglob("*.parquet"))) == 4
    assert table.snapshot(filters=[("id", "=", "1003")]).to_arrow()["note"].to_pylist() == ["note 1003"]
    with pytest.raises(mortice.UnsupportedError, match="bootstrapped"):
        table.upsert(pa.table({"id": ["1003"], "ts": [9], "note": ["x"], "day": ["2026-01-01"]}))


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_all_rows_are_written(source, tmp_path, kind):
    options = {**BY_DAY, "hoodie.datasource.write.table.type": kind}
    table = mortice.bootstrap(tmp_path / "table", source, options, full=True)
    before = expected(source)
    assert rows_of(table) == before
    # It needs its source no more, and is written to.
    for file in source.rglob("*.parquet"):
        file.unlink()
    table.upsert(pa.table({"id": ["1003"], "ts": [99], "note": ["new"], "day": ["2026-01-01"]}))
    before[[row["id"] for row in before].index("1003")] |= {"ts": 99, "note": "new"}
    assert rows_of(table) == before


def test_a_folder_without_partitions(tmp_path):
    write(tmp_path / "source", "a.parquet", ["a", "b"])
    write(tmp_path / "source", "b.parquet", ["c"], more=[1.5])
    for full in (False, True):
        table = mortice.bootstrap(tmp_path / f"table {full}", tmp_path / "source", NAMES, full=full)
        rows = table.snapshot(columns=["id", "more"]).to_arrow().sort_by("id")
        assert rows.to_pylist() == [{"id": "a", "more": None}, {"id": "b", "more": None}, {"id": "c", "more": 1.5}]


def test_rows_of_another_partition_than_their_folder(tmp_path):
    write(tmp_path / "source" / "day=1", "a.parquet", ["a", "b"], day=["1", "2"])
    with pytest.raises(mortice.InvalidArgumentError, match=r"\"day=2\""):
        mortice.bootstrap(tmp_path / "table", tmp_path / "source", BY_DAY)
    assert mortice.Table(tmp_path / "table").snapshot().to_arrow().num_rows == 0


def test_a_bootstrap_that_failed_is_run_again(tmp_path):
    write(tmp_path / "source", "a.parquet", ["a", "b"])
    write(tmp_path / "source", "b.parquet", pa.array([None], pa.string()))
    with pytest.raises(mortice.InvalidArgumentError, match=r"b\.parquet"):
        mortice.bootstrap(tmp_path / "table", tmp_path / "source", NAMES)
    write(tmp_path / "source", "b.parquet", ["c"])
    table = mortice.bootstrap(tmp_path / "table", tmp_path / "source", NAMES)
    assert sorted(table["id"].to_pylist()) == ["a", "b", "c"]
    assert len(list((tmp_path / "table").glob("*.parquet"))) == 2
    with pytest.raises(mortice.TableExistsError):
        mortice.bootstrap(tmp_path / "table", tmp_path / "source", NAMES)


def test_what_makes_no_table_is_refused_before_there_is_one(tmp_path):
    write(tmp_path / "source" / "day=1", "a.parquet", ["a"])
    write(tmp_path / "types", "a.parquet", ["a"], n=[1])
    write(tmp_path / "types", "b.parquet", ["a"], n=["x"])
    (tmp_path / "empty").mkdir()
    for source, options, message in [
        ("empty", NAMES, "no Parquet file"),
        ("types", NAMES, 'column "n"'),
        ("source", NAMES, "partition columns"),
        ("source", {**NAMES, "hoodie.datasource.write.partitionpath.field": "a,b"}, "day=1"),
        ("source", {**BY_DAY, "hoodie.bootstrap.mode.selector": "a.b.BootstrapRegexModeSelector"}, "selector"),
    ]:
        with pytest.raises(mortice.MorticeError, match=message):
            mortice.bootstrap(tmp_path / "table", tmp_path / source, options)
        assert not (tmp_path / "table").exists()
