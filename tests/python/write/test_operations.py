"""Bulk inserts, overwrites, deletes of partitions and by filter, read back by mortice."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mortice import InvalidArgumentError, UnsupportedError
from support.tables.written import KINDS, NO_METADATA, SCHEMA, content, new_table, rows

MODES = [
    "NONE",
    "GLOBAL_SORT",
    "PARTITION_SORT",
    "PARTITION_PATH_REPARTITION",
    "PARTITION_PATH_REPARTITION_AND_SORT",
]
METADATA = [{}, NO_METADATA]
FIRST = rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0), ("d", "z", 1, 4.0))


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    version, table_type = request.param
    return new_table(tmp_path / "trips", version, table_type)


def keys(table):
    return [key for (key,) in content(table, "id")]


def many(count, cities=3):
    numbers = [(number * 7919) % count for number in range(count)]
    columns = {
        "id": [f"{number:07}" for number in numbers],
        "city": [f"city {number % cities}" for number in range(count)],
        "ts": list(range(count)),
        "fare": [float(number) for number in numbers],
    }
    return pa.table(columns, schema=SCHEMA)


def test_a_bulk_insert_adds_file_groups(table):
    first = table.bulk_insert(FIRST, NO_METADATA)
    assert (first.operation, first.inserts) == ("BULK_INSERT", 4)
    table.bulk_insert(rows(("e", "x", 1, 5.0)), NO_METADATA)
    assert keys(table) == ["a", "b", "c", "d", "e"]
    table.upsert(rows(("a", "x", 2, 10.0)), NO_METADATA)
    assert ("a", "x", 2, 10.0) in content(table)
    assert len(content(table)) == 5


@pytest.mark.parametrize("mode", MODES)
def test_every_sort_mode_writes_all_rows(tmp_path, mode):
    table = new_table(tmp_path / "trips")
    given = many(70_000)
    options = NO_METADATA | {"hoodie.bulkinsert.sort.mode": mode}
    commit = table.bulk_insert(given.to_reader(max_chunksize=9_000), options)
    assert commit.inserts == given.num_rows
    found = table.snapshot(columns=SCHEMA.names).to_arrow().sort_by("id")
    assert found.cast(SCHEMA) == given.sort_by("id")
    for stats in commit.stats:
        ids = pq.read_table(tmp_path / "trips" / stats.path, columns=["id", "city"], partitioning=None)
        assert len(set(ids["city"].to_pylist())) == 1
        assert (ids["id"].to_pylist() == sorted(ids["id"].to_pylist())) == (mode in {"GLOBAL_SORT", "PARTITION_SORT"})


def test_a_bulk_insert_of_a_failing_stream_leaves_nothing(tmp_path):
    table = new_table(tmp_path / "trips")

    def batches():
        yield many(1000).to_batches()[0]
        yield rows((None, "x", 1, 1.0)).to_batches()[0]

    for mode in MODES:
        reader = pa.RecordBatchReader.from_batches(SCHEMA, batches())
        with pytest.raises(InvalidArgumentError, match='row 1000, column "id"'):
            table.bulk_insert(reader, NO_METADATA | {"hoodie.bulkinsert.sort.mode": mode})
    assert list((tmp_path / "trips").rglob("*.parquet")) == []
    assert content(table) == []


def test_rows_that_cannot_be_bulk_inserted_are_reported(tmp_path):
    table = new_table(tmp_path / "trips")
    given = rows(("a", "x", 1, 1.0), (None, "x", 1, 2.0), ("c", "x", None, 3.0))
    commit = table.bulk_insert(given, NO_METADATA | {"hoodie.write.ignore.failed": "true"})
    assert (commit.inserts, commit.error_count) == (1, 2)
    assert keys(table) == ["a"]


def test_a_bulk_insert_can_combine_rows_of_a_key(tmp_path):
    table = new_table(tmp_path / "trips")
    twice = rows(("b", "x", 1, 1.0), ("a", "x", 1, 1.0), ("a", "x", 2, 2.0))
    options = {"hoodie.combine.before.insert": "true", "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"}
    table.bulk_insert(twice, NO_METADATA | options)
    assert content(table) == [("a", "x", 2, 2.0), ("b", "x", 1, 1.0)]


def test_a_bulk_insert_fills_buckets_once(tmp_path):
    table = new_table(tmp_path / "trips")
    options = NO_METADATA | {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    table.bulk_insert(many(100, cities=1), options)
    with pytest.raises(UnsupportedError, match="use upsert or insert"):
        table.bulk_insert(many(100, cities=1), options)
    table.upsert(rows(("0000001", "city 0", 1000, 1.5)), options)
    assert len(content(table)) == 100


def test_bulk_inserts_into_bucketed_tables_name_the_index(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, NO_METADATA | {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"})
    with pytest.raises(InvalidArgumentError, match="buckets"):
        table.bulk_insert(rows(("e", "x", 1, 5.0)), NO_METADATA)


def test_a_random_file_id_that_looks_like_a_bucket_is_none(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(rows(("a", "x", 1, 1.0)), NO_METADATA)
    (base_file,) = (tmp_path / "trips" / "x").glob("*.parquet")
    base_file.rename(base_file.with_name("00072813" + base_file.name[8:]))
    table.upsert(rows(("a", "x", 2, 2.0)), NO_METADATA)
    assert content(table) == [("a", "x", 2, 2.0)]


def test_a_partition_with_one_bucket_of_many_is_one_of_buckets(tmp_path):
    table = new_table(tmp_path / "trips")
    options = NO_METADATA | {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "90000"}
    table.upsert(FIRST, options)
    with pytest.raises(InvalidArgumentError, match="buckets"):
        table.upsert(rows(("a", "x", 2, 2.0)), NO_METADATA)


def test_keys_are_generated_for_bulk_inserts(tmp_path):
    table = new_table(tmp_path / "trips", record_key=None, ordering=None)
    table.bulk_insert(many(70_000), NO_METADATA)
    found = table.snapshot(columns=["_hoodie_record_key"]).to_arrow()["_hoodie_record_key"].to_pylist()
    assert len(set(found)) == 70_000


@pytest.mark.parametrize("metadata", METADATA, ids=["metadata", "listing"])
def test_an_overwrite_replaces_the_partitions_that_it_writes(table, metadata):
    table.upsert(FIRST, metadata)
    first = table.upsert(rows(("a", "x", 2, 10.0)), metadata)
    commit = table.insert_overwrite(rows(("e", "x", 1, 5.0), ("f", "w", 1, 6.0)), metadata)
    assert (commit.operation, commit.inserts) == ("INSERT_OVERWRITE", 2)
    assert content(table) == [("c", "y", 1, 3.0), ("d", "z", 1, 4.0), ("e", "x", 1, 5.0), ("f", "w", 1, 6.0)]
    old = table.snapshot(columns=["id"], as_of=first.instant).to_arrow()["id"].to_pylist()
    assert sorted(old) == ["a", "b", "c", "d"]
    table.upsert(rows(("e", "x", 2, 50.0), ("a", "x", 3, 1.5)), metadata)
    assert content(table)[0] == ("a", "x", 3, 1.5)
    assert ("e", "x", 2, 50.0) in content(table)
    assert len(content(table)) == 5


@pytest.mark.parametrize("metadata", METADATA, ids=["metadata", "listing"])
def test_an_overwrite_of_the_table_replaces_all(table, metadata):
    table.upsert(FIRST, metadata)
    commit = table.insert_overwrite_table(rows(("e", "x", 1, 5.0)), metadata)
    assert commit.operation == "INSERT_OVERWRITE_TABLE"
    assert content(table) == [("e", "x", 1, 5.0)]
    table.insert_overwrite_table(rows(), metadata)
    assert content(table) == []
    table.upsert(FIRST, metadata)
    assert content(table) == [tuple(row.values()) for row in FIRST.to_pylist()]


def test_an_overwrite_without_rows_replaces_nothing(table):
    table.upsert(FIRST, NO_METADATA)
    table.insert_overwrite(rows(), NO_METADATA)
    assert keys(table) == ["a", "b", "c", "d"]


def test_fixed_partitions_are_overwritten(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, NO_METADATA)
    table.insert_overwrite(rows(), NO_METADATA | {"hoodie.static.overwrite.partition.paths": "x,y"})
    assert keys(table) == ["d"]


@pytest.mark.parametrize("metadata", METADATA, ids=["metadata", "listing"])
def test_partitions_are_deleted(table, metadata):
    table.upsert(FIRST, metadata)
    commit = table.delete_partitions(["x"], metadata)
    assert (commit.operation, commit.stats) == ("DELETE_PARTITION", [])
    assert keys(table) == ["c", "d"]
    with pytest.warns(UserWarning, match='no partition "x"'):
        table.delete_partitions(["x", "y"], metadata)
    assert keys(table) == ["d"]
    table.upsert(rows(("a", "x", 2, 10.0)), metadata)
    assert content(table) == [("a", "x", 2, 10.0), ("d", "z", 1, 4.0)]
    filtered = table.snapshot(columns=["id"], filters=[("fare", ">", 9.0)]).to_arrow()["id"].to_pylist()
    assert filtered == ["a"]


def test_wildcards_name_partitions(tmp_path):
    table = new_table(tmp_path / "trips", properties={"hoodie.datasource.write.hive_style_partitioning": "true"})
    given = rows(("a", "x1", 1, 1.0), ("b", "x2", 1, 2.0), ("c", "y1", 1, 3.0))
    table.upsert(given, NO_METADATA)
    table.delete_partitions(["city=x*"], NO_METADATA)
    assert keys(table) == ["c"]
    table.delete_partitions(["*"], NO_METADATA)
    assert keys(table) == []


@pytest.mark.parametrize(
    ("partitions", "message"),
    [([""], "partition path"), (["../x"], "partition path"), ("x", "list of partition paths")],
)
def test_paths_that_are_no_partitions_are_refused(tmp_path, partitions, message):
    table = new_table(tmp_path / "trips")
    with pytest.raises(InvalidArgumentError, match=message):
        table.delete_partitions(partitions)


def test_a_table_without_partitions_has_none_to_delete(tmp_path):
    table = new_table(tmp_path / "trips", partition_by=None)
    with pytest.raises(InvalidArgumentError, match="no partitions"):
        table.delete_partitions(["x"])


def test_rows_are_deleted_by_filter(table):
    table.upsert(FIRST, NO_METADATA)
    commit = table.delete_where([("fare", ">", 1.5), ("city", "!=", "z")], NO_METADATA)
    assert (commit.operation, commit.deletes) == ("DELETE", 2)
    assert keys(table) == ["a", "d"]
    assert table.delete_where([("id", "=", "unknown")], NO_METADATA).deletes == 0
    with pytest.raises(InvalidArgumentError, match="filters must select rows"):
        table.delete_where(None)
    with pytest.raises(InvalidArgumentError):
        table.delete_where([("nothing", "=", 1)])


@pytest.mark.parametrize("index", ["BLOOM", "GLOBAL_SIMPLE", "BUCKET"])
def test_filters_delete_with_every_index(tmp_path, index):
    table = new_table(tmp_path / "trips")
    options = NO_METADATA | {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    table.upsert(many(50), options)
    table.delete_where([("fare", ">=", 10.0)], options)
    assert [fare for (fare,) in content(table, "fare")] == [float(number) for number in range(10)]


def test_a_soft_delete_keeps_the_row_without_its_values(table):
    table.upsert(FIRST, NO_METADATA)
    table.soft_delete(rows(("a", "x", 2, 99.0)), NO_METADATA)
    assert content(table)[0] == ("a", "x", 2, None)


def test_replaced_keys_leave_the_record_index(tmp_path):
    table = new_table(tmp_path / "trips")
    options = {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.record.index.enable": "true"}
    table.upsert(FIRST, options)
    table.insert_overwrite(rows(("a", "x", 2, 10.0), ("e", "x", 1, 5.0)), options)
    table.upsert(rows(("b", "x", 3, 20.0), ("a", "x", 3, 30.0)), options)
    table.delete_partitions(["y"], options)
    table.upsert(rows(("c", "z", 3, 40.0)), options)
    assert content(table) == [
        ("a", "x", 3, 30.0), ("b", "x", 3, 20.0), ("c", "z", 3, 40.0), ("d", "z", 1, 4.0), ("e", "x", 1, 5.0),
    ]  # fmt: skip
