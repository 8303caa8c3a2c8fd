"""Tables that mortice has bootstrapped: Hudi 1.2 reads them and goes on writing to them; `CALL run_bootstrap`."""

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import mortice
import mortice.spark
from support.cases import multiset
from support.hudi import fetch_hudi
from support.hudi.hudi_on_spark import HudiOnSpark

OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "day",
}
COLUMNS = ["_hoodie_record_key", "_hoodie_partition_path", "id", "ts", "note", "day"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    source = tmp_path_factory.mktemp("source")
    for day in ("2026-01-01", "2026-01-02"):
        folder = source / f"day={day}"
        folder.mkdir()
        for part in range(2):
            ids = [f"{day[-1]}{part}{row:02}" for row in range(20)]
            rows = {"id": ids, "ts": [1] * 20, "note": [f"note {one}" for one in ids]}
            pq.write_table(pa.table(rows), folder / f"part-{part}.parquet")
    return source


def rows_of(table):
    return mortice.Table(table).snapshot(columns=COLUMNS).to_arrow()


def test_call_answers_as_hudi(spark, source, tmp_path):
    for selector in ("MetadataOnly", "FullRecord"):
        path = tmp_path / selector
        done = mortice.spark.sql(
            spark,
            f"CALL run_bootstrap(table => 'trips', table_type => 'MERGE_ON_READ', bootstrap_path => '{source}', "
            f"base_path => '{path}', rowKey_field => 'id', partition_path_field => 'day', selector_class => "
            f"'org.apache.hudi.client.bootstrap.selector.{selector}BootstrapModeSelector', "
            "options => 'hoodie.datasource.write.precombine.field=ts')",
        )
        assert [tuple(row) for row in done.collect()] == [(0,)]
        table = mortice.Table(path)
        assert (table.name, table.count(), table.table_type) == ("trips", 80, "MERGE_ON_READ")
    mapping = mortice.spark.sql(spark, f"CALL show_bootstrap_mapping(path => '{tmp_path}/MetadataOnly')")
    assert mapping.count() == 4
    assert {row.source_partition for row in mapping.collect()} == {"day=2026-01-01", "day=2026-01-02"}
    with pytest.raises(mortice.UnsupportedError, match="props_file_path"):
        mortice.spark.sql(
            spark,
            f"CALL run_bootstrap(table => 't', table_type => 'MERGE_ON_READ', bootstrap_path => '{source}', "
            f"base_path => '{tmp_path}/x', rowKey_field => 'id', props_file_path => '/x')",
        )


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_tasks_write_over_skeletons(spark, source, tmp_path, kind):
    table = mortice.bootstrap(tmp_path / "table", source, {**OPTIONS, "hoodie.datasource.write.table.type": kind})
    changed = spark.createDataFrame(
        [("1003", 2, "changed", "2026-01-01"), ("new", 2, "new", "2026-01-02")],
        "id string, ts long, note string, day string",
    )
    mortice.spark.write(changed, tmp_path / "table", options={**OPTIONS, "mortice.write.driver.bytes": "0"})
    if kind == "MERGE_ON_READ":
        every = "options => 'hoodie.compact.inline.max.delta.commits=1'"
        mortice.spark.sql(spark, f"CALL run_compaction(path => '{tmp_path}/table', {every})")
    mortice.spark.sql(spark, f"CALL run_clustering(path => '{tmp_path}/table', order => 'id')")
    table.refresh()
    assert not [one for one in table.file_slices() if one.base_file.path.endswith("_00000000000001.parquet")]
    rows = {row["id"]: row["note"] for row in rows_of(tmp_path / "table").to_pylist()}
    assert (len(rows), rows["1003"], rows["new"], rows["1004"]) == (81, "changed", "new", "note 1004")


@pytest.fixture(scope="module")
def hudi():
    if not pyspark.__version__.startswith("3.5.") or fetch_hudi.jar() is None:
        pytest.skip("Hudi is run with pyspark 3.5 and its jar: make hudi-jar")
    process = HudiOnSpark(fetch_hudi.jar())
    yield process
    process.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("made", ["COPY_ON_WRITE 9", "MERGE_ON_READ 9", "MERGE_ON_READ 8", "COPY_ON_WRITE 6"])
def test_hudi_reads_and_writes_the_table(hudi, source, tmp_path, made, full):
    kind, version = made.split()
    path, out = tmp_path / "table", tmp_path / "out"
    options = {**OPTIONS, "hoodie.datasource.write.table.type": kind}
    mortice.bootstrap(path, source, {**options, "hoodie.write.table.version": version}, full=full)
    hudi.read(path, out)
    assert multiset(pq.read_table(out).select(COLUMNS).to_pylist()) == multiset(rows_of(path).to_pylist())
    changed = pa.table(
        {"id": ["1003", "new"], "ts": [2, 2], "note": ["changed", "new"], "day": ["2026-01-01", "2026-01-02"]}
    )
    pq.write_table(changed, tmp_path / "changed.parquet")
    write = {**options, "hoodie.write.auto.upgrade": "false", "hoodie.write.table.version": version}
    write["hoodie.datasource.write.hive_style_partitioning"] = "true"
    hudi.write(tmp_path / "changed.parquet", path, write)
    hudi.read(path, out)
    rows = pq.read_table(out).select(COLUMNS)
    assert multiset(rows.to_pylist()) == multiset(rows_of(path).to_pylist())
    assert rows.num_rows == 81
    assert {row["id"]: row["note"] for row in rows.to_pylist()}["1003"] == "changed"


CHANGES = {"id": ["1003", "2104", "new"], "ts": [2] * 3, "note": ["changed", "changed", "new"]}
DAYS = ["2026-01-01", "2026-01-02", "2026-01-02"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("made", ["COPY_ON_WRITE 9", "MERGE_ON_READ 9", "MERGE_ON_READ 8", "COPY_ON_WRITE 6"])
def test_hudi_reads_what_is_written_over_skeletons(hudi, source, tmp_path, made):
    kind, version = made.split()
    path, out = tmp_path / "table", tmp_path / "out"
    options = {**OPTIONS, "hoodie.datasource.write.table.type": kind, "hoodie.write.table.version": version}
    table = mortice.bootstrap(path, source, options)
    write = {"hoodie.index.type": "SIMPLE", "hoodie.clean.automatic": "false"}

    def same_rows():
        hudi.read(path, out)
        rows = pq.read_table(out).select(COLUMNS).to_pylist()
        assert multiset(rows) == multiset(rows_of(path).to_pylist())
        return {row["id"]: row["note"] for row in rows}

    table.upsert(pa.table({**CHANGES, "day": DAYS}), write)
    rows = same_rows()
    assert (len(rows), rows["1003"], rows["2104"], rows["new"]) == (81, "changed", "changed", "new")
    table.delete(["1104"], write)
    assert len(same_rows()) == 80
    if kind == "MERGE_ON_READ":
        # The plan names the files of the source: Hudi executes it.
        table.compact({"hoodie.compact.inline.max.delta.commits": "1"}, run=False)
        hudi.sql(f"CALL run_compaction(op => 'run', path => '{path}')")
        assert same_rows()["1003"] == "changed"
    table.refresh()
    table.cluster({"hoodie.clustering.plan.strategy.sort.columns": "id"})
    assert len(same_rows()) == 80
    hudi.write(changed_file(tmp_path), path, {**options, "hoodie.write.auto.upgrade": "false", **HIVE_STYLE})
    assert same_rows()["1004"] == "by Hudi"


HIVE_STYLE = {"hoodie.datasource.write.hive_style_partitioning": "true"}


def changed_file(folder):
    file = folder / "changed.parquet"
    pq.write_table(pa.table({"id": ["1004"], "ts": [9], "note": ["by Hudi"], "day": ["2026-01-01"]}), file)
    return file
