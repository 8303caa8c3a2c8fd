"""Partition columns with the values of partition paths, as in Hudi on Spark.

Results of Hudi 1.2 for these tables are compared in test_bundled_tables.
"""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import DATA, assert_same_result, case, hudi_result, multiset, queries, with_properties

MOVED, VALUES, COPY_ON_WRITE = "h12_moved_partitions", "h12_partition_values", "h015_cow_partitioned"
PARTITIONED = {
    MOVED,
    VALUES,
    COPY_ON_WRITE,
    "h009_upsert_delete",
    "h015_orc_mor",
    "h10_hfile_log_blocks",
    "h11_composite_keys_encoded_partitions",
    "h11_parquet_log_blocks",
    "h12_bootstrap_mor",
    "h12_bootstrap_orc",
    "h12_log_compaction",
}
QUERIES = [query for query in queries() if query.case in PARTITIONED and query.type != "cdc" and not query.path]
MERGER = "11111111-2222-3333-4444-555555555555"


def place(row):
    return f"{row['p']}/{row['n']}"


def test_a_record_left_in_its_first_partition_has_the_values_of_that_path(table_of):
    """A global index keeps it there (`hoodie.record.index.update.partition.path=false`)."""
    snapshot = mortice.Table(table_of(MOVED)).snapshot()
    assert all(place(row) == row["_hoodie_partition_path"] for row in snapshot.to_arrow().to_pylist())


@pytest.mark.parametrize("partition", ["p0", "p1", "p2"])
def test_filters_apply_to_the_returned_values(table_of, partition):
    table = mortice.Table(table_of(MOVED))
    expected = [row for row in hudi_result(MOVED).to_pylist() if row["p"] == partition]
    found = table.snapshot(filters=[("p", "==", partition)]).to_arrow().to_pylist()
    key = "_hoodie_record_key"
    assert sorted(found, key=lambda row: row[key]) == sorted(expected, key=lambda row: row[key])


@pytest.mark.parametrize("value", ["", "a%41b", "aAb", "oslo", "%", "__HIVE_DEFAULT_PARTITION__"])
def test_a_filter_on_a_value_that_differs_from_the_path(table_of, value):
    expected = [row["id"] for row in hudi_result(VALUES).to_pylist() if row["p"] == value]
    found = mortice.Table(table_of(VALUES)).snapshot(["id"], filters=[("p", "==", value)]).to_arrow()
    assert sorted(found["id"].to_pylist()) == sorted(expected)


def test_the_path_of_an_empty_value_is_null(table_of):
    expected = [row["id"] for row in hudi_result(VALUES).to_pylist() if row["p"] is None]
    found = mortice.Table(table_of(VALUES)).snapshot(["id"], filters=[("p", "is null")]).to_arrow()
    assert sorted(found["id"].to_pylist()) == sorted(expected)


@pytest.mark.parametrize("query", ["snapshot", "read_optimized", "as_of_00"])
def test_copy_on_write_in_0_x(table_of, query):
    """Its partition columns come last. Log records are merged with the values in the rows."""
    table = mortice.Table(table_of(COPY_ON_WRITE), read_options=mortice.ReadOptions(semantics="0.x"))
    arguments = next(one for one in case(COPY_ON_WRITE)["queries"] if one["id"] == query)
    scan = {
        "snapshot": table.snapshot,
        "read_optimized": table.read_optimized,
        "time_travel": lambda: table.snapshot(as_of=arguments["options"]["as.of.instant"]),
    }[arguments["type"]]()
    expected = pq.read_table(DATA / COPY_ON_WRITE / f"{query}_by_0_15.parquet")
    assert_same_result(expected, scan.to_arrow())
    assert scan.schema.names[-1] == "p"


def damage(table, *columns):
    """Overwrites these columns in all base files of a table: reading them raises an error."""
    damaged = 0
    for file in table.rglob("*.parquet"):
        metadata = pq.read_metadata(file)
        content = bytearray(file.read_bytes())
        for group in range(metadata.num_row_groups):
            for at in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(at)
                if chunk.path_in_schema in columns:
                    start = chunk.dictionary_page_offset or chunk.data_page_offset
                    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
                    damaged += 1
        file.write_bytes(content)
    assert damaged > 0


def reads(table):
    """Returns queries of a table that take the partition columns from the path."""
    return {
        "snapshot": table.snapshot,
        "read_optimized": table.read_optimized,
        "incremental": lambda *args, **options: table.incremental("earliest", None, *args, **options),
        "skip_merge": lambda *args, **options: table.snapshot(*args, merge=False, **options),
    }


@pytest.mark.parametrize("query", ["snapshot", "read_optimized", "incremental", "skip_merge"])
@pytest.mark.parametrize("options", [{}, {"memory_limit": 1}, {"threads": 1, "batch_rows": 1}], ids=str)
def test_base_files_are_not_read_for_partition_columns(table_of, copy_of, query, options):
    expected = reads(mortice.Table(table_of(MOVED)))[query]().to_arrow()
    table = copy_of(MOVED)
    damage(table, "p", "n")
    read = reads(mortice.Table(table, read_options=mortice.ReadOptions(**options)))[query]
    assert_same_result(expected, read().to_arrow())
    for columns in (["n"], ["n", "id", "p"], []):
        assert_same_result(expected.select(columns), read(columns=columns).to_arrow())
    assert read(columns=["p"]).count() == expected.num_rows
    filters = [[("p", "==", "p1"), ("id", "is not null")], [("n", "in", [0])]]
    passing = expected.filter((pc.field("p") == "p1") | (pc.field("n") == 0))
    assert_same_result(passing, read(filters=filters).to_arrow())
    # Merged by the rules of 0.x, rows keep the values of the files.
    with pytest.raises(mortice.MorticeError):
        mortice.Table(table, read_options=mortice.ReadOptions(semantics="0.x")).snapshot(columns=["p"]).to_arrow()


def test_filter_columns_decided_by_the_path_are_not_read(table_of, copy_of):
    expected = hudi_result(MOVED).filter(pc.field("p") == "p1").select(["id"])
    table = copy_of(MOVED)
    damage(table, "_hoodie_file_name")
    found = mortice.Table(table).snapshot(
        ["id"], filters=[[("p", "==", "p1")], [("p", "==", "p1"), ("_hoodie_file_name", "==", "x")]]
    )
    assert_same_result(expected, found.to_arrow())


def test_record_keys_are_read_only_for_merging(table_of, copy_of):
    table = copy_of(MOVED)
    damage(table, "_hoodie_record_key")
    expected = mortice.Table(table_of(MOVED)).snapshot(["p", "id"], merge=False).to_arrow()
    assert_same_result(expected, mortice.Table(table).snapshot(["p", "id"], merge=False).to_arrow())
    with pytest.raises(mortice.MorticeError):
        mortice.Table(table, read_options=mortice.ReadOptions(record_positions=False)).snapshot(["p"]).to_arrow()


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_projections_and_filters_equal_hudis_result(table_of, query):
    table = mortice.Table(query.table(table_of), read_options=mortice.ReadOptions(batch_rows=7))
    expected = query.expected
    fields = table.partition_fields
    other = next(name for name in expected.column_names if name not in fields and not name.startswith("_"))
    for columns in (fields, fields[::-1], [fields[-1], other, *fields[:-1]]):
        scan = query.scan(table, columns=columns)
        assert scan.schema.names == columns
        assert_same_result(expected.select(columns), scan.to_arrow())
    assert query.scan(table, columns=fields).count() == expected.num_rows
    for field in fields:
        for value in set(expected[field].to_pylist()):
            some = [row for row in expected.select([other, *fields]).to_pylist() if row[field] == value]
            term = (field, "is null") if value is None else (field, "==", value)
            scan = query.scan(table, columns=[other, *fields], filters=[[term], [term, (other, "is not null")]])
            assert multiset(scan.to_arrow().to_pylist()) == multiset(some)
            assert query.scan(table, filters=[term]).count() == len(some)
            either = query.scan(table, filters=[[term], [(other, "is null")]])
            nulls = [row for row in expected.to_pylist() if row[other] is None and row[field] != value]
            assert either.count() == len(some) + len(nulls)
    assert query.scan(table, filters=[(fields[0], "in", [])]).count() == 0


@pytest.fixture
def merger():
    yield lambda merge: mortice.register_merger(MERGER, merge)
    mortice.register_merger(MERGER, None)


@pytest.mark.parametrize("columns", [None, ["id"], ["n", "id"], ["p"]], ids=str)
def test_a_merger_receives_the_values_of_the_rows(copy_of, merger, columns):
    """The rows that a global index left in their partition have the values of another one."""
    table = copy_of(MOVED)
    custom = {"hoodie.record.merge.mode": "CUSTOM", "hoodie.record.merge.strategy.id": MERGER}
    with_properties(table, custom | {"hoodie.table.checksum": None})
    given = []

    def newer_row(older, newer):
        given.extend(zip(older.to_pylist(), newer.to_pylist(), strict=True))
        return newer, pa.array([True] * newer.num_rows)

    merger(newer_row)
    rows = mortice.Table(table).snapshot(columns).to_arrow()
    assert_same_result(hudi_result(MOVED).select(rows.schema.names), rows)
    assert given
    assert all(place(older) == older["_hoodie_partition_path"] for older, _ in given)
    assert any(place(newer) != newer["_hoodie_partition_path"] for _, newer in given)
