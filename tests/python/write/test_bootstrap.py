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


def changed(*ids, ts=99, note="new"):
    """Rows with new values. Keys begin with the day."""
    days = [f"2026-01-0{key[0]}" for key in ids]
    return pa.table({"id": list(ids), "ts": [ts] * len(ids), "note": [note] * len(ids), "day": days})


def written_over(source, table, *steps):
    """Returns the rows that a table should have, after these steps: rows, or keys that are deleted."""
    rows = {row["id"]: row for row in expected(source)}
    for step in steps:
        if isinstance(step, list):
            rows = {key: row for key, row in rows.items() if key not in step}
        else:
            rows |= {row["id"]: row for row in step.to_pylist()}
    assert table.count() == len(rows)
    return sorted(rows.values(), key=lambda row: row["id"])


def skeletons(table):
    """How many file groups have their rows in the source."""
    slices = [one for one in table.file_slices() if one.base_file is not None]
    return sum(one.base_file.path.endswith(f"_{FIRST}.parquet") for one in slices)


@pytest.mark.parametrize("version", ["9", "8", "6"])
@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM"])
def test_copy_on_write_replaces_skeletons_by_whole_files(source, tmp_path, version, index):
    options = {**BY_DAY, "hoodie.write.table.version": version}
    table = mortice.bootstrap(tmp_path / "table", source, options)
    write = {"hoodie.index.type": index, "hoodie.parquet.small.file.limit": "0"}
    first, inserted = changed("1003"), changed("3000")
    table.upsert(pa.concat_tables([first, inserted]), write)
    assert skeletons(table) == 3
    assert rows_of(table) == written_over(source, table, first, inserted)
    table.delete(["1104", "2000"], write)
    assert skeletons(table) == 1
    after = written_over(source, table, first, inserted, ["1104", "2000"])
    assert rows_of(table) == after
    # The files of the source are as they were, and what was written does not need them.
    table.update_where({"note": "'x'"}, "id LIKE '21%'")
    assert skeletons(table) == 0
    for file in source.rglob("*.parquet"):
        file.unlink()
    assert [row for row in rows_of(table) if row["note"] != "x"] == [row for row in after if row["id"][:2] != "21"]
    assert not table.verify().findings


@pytest.mark.parametrize("version", ["9", "8", "6"])
def test_merge_on_read_logs_on_skeletons_and_compacts_them(source, tmp_path, version):
    options = {**BY_DAY, "hoodie.write.table.version": version, "hoodie.datasource.write.table.type": "MERGE_ON_READ"}
    table = mortice.bootstrap(tmp_path / "table", source, options)
    write = {"hoodie.index.type": "SIMPLE", "hoodie.compact.inline.max.delta.commits": "1"}
    first = changed("1003", "2104")
    table.upsert(first, write)
    table.delete(["1104"], write)
    assert skeletons(table) == 4
    after = written_over(source, table, first, ["1104"])
    assert rows_of(table) == after
    table.compact(write)
    assert (skeletons(table), rows_of(table)) == (1, after)
    table.upsert(changed("2000", note="later"), write)
    after = written_over(source, table, first, ["1104"], changed("2000", note="later"))
    table.cluster({"hoodie.clustering.plan.strategy.sort.columns": "id"})
    assert rows_of(table) == after
    assert not table.verify().findings


def test_clustering_writes_whole_files_and_a_clean_leaves_the_source(source, tmp_path):
    table = mortice.bootstrap(tmp_path / "table", source, BY_DAY)
    before = rows_of(table)
    table.cluster({"hoodie.clustering.plan.strategy.sort.columns": "id"})
    assert (skeletons(table), rows_of(table)) == (0, before)
    for number in range(3):
        table.upsert(changed("1003", ts=100 + number), {"hoodie.clean.automatic": "false"})
    assert table.clean({"hoodie.clean.commits.retained": "1"}).cleans
    assert not list((tmp_path / "table").rglob(f"*_{FIRST}.parquet"))
    assert len(list(source.rglob("*.parquet"))) == 4
    with pytest.raises(mortice.UnsupportedError, match=r"hoodie\.clean\.delete\.bootstrap"):
        table.clean({"hoodie.clean.delete.bootstrap.base.file": "true"})


def test_new_rows_are_added_to_small_skeletons(source, tmp_path):
    """As Hudi does, by the size of the skeleton: the group gets a whole file with the rows of the source."""
    table = mortice.bootstrap(tmp_path / "table", source, BY_DAY)
    table.insert(changed("1999"))
    assert skeletons(table) == 3
    assert rows_of(table) == written_over(source, table, changed("1999"))


def test_a_record_index_is_refused_before_anything_changes(source, tmp_path):
    """It stores the time of each file's commit; the instant of a bootstrap is none. Hudi fails likewise."""
    table = mortice.bootstrap(tmp_path / "table", source, BY_DAY)
    with pytest.raises(mortice.InvalidTableError, match="the record index cannot store it"):
        table.build_metadata(add=["record_index"])
    table.upsert(changed("1003"))
    assert rows_of(table) == written_over(source, table, changed("1003"))


@pytest.mark.parametrize("operation", ["insert_overwrite", "delete_partitions", "rollback", "restore"])
def test_partitions_of_skeletons_are_replaced_and_restored(source, tmp_path, operation):
    table = mortice.bootstrap(tmp_path / "table", source, BY_DAY)
    before = rows_of(table)
    if operation == "insert_overwrite":
        table.insert_overwrite(changed("1003"))
        assert rows_of(table) == [*changed("1003").to_pylist(), *(row for row in before if row["day"] != "2026-01-01")]
    elif operation == "delete_partitions":
        table.delete_partitions(["day=2026-01-01"])
        assert rows_of(table) == [row for row in before if row["day"] != "2026-01-01"]
    elif operation == "rollback":
        commit = table.upsert(changed("1003"))
        table.rollback(commit.instant)
        assert rows_of(table) == before
    else:
        table.upsert(changed("1003"))
        table.upsert(changed("1004"))
        table.restore(FIRST)
        assert rows_of(table) == before


def test_a_write_that_lacks_the_source_changes_nothing(source, tmp_path):
    table = mortice.bootstrap(tmp_path / "table", source, BY_DAY)
    next((source / "day=2026-01-01").glob("*.parquet")).unlink()
    with pytest.raises(mortice.MorticeError, match="bootstrap"):
        table.update_where({"note": "'x'"}, "day = '2026-01-01'")
    assert [one.requested_time for one in table.timeline.completed] == [FIRST]
    with pytest.raises(mortice.UnsupportedError, match="rows are in files elsewhere"):
        table.erase([("id", "=", "1003")])


@pytest.mark.parametrize("name", ["h12_bootstrap_cow", "h12_bootstrap_mor", "h015_bootstrap_flat"])
def test_tables_that_hudi_has_bootstrapped(name, table_of, copy_of):
    table = mortice.Table(copy_of(name))
    before = table.to_arrow().to_pylist()
    first = {**before[0], "note": "written"}
    table.upsert([first], {"hoodie.index.type": "SIMPLE"})
    key = before[0]["id"]
    after = {row["id"]: row for row in table.to_arrow().to_pylist()}
    assert after == {row["id"]: row for row in before} | {key: first}


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
