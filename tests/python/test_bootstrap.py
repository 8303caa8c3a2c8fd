"""Bootstrapped tables, whose columns are in two files. `test_bundled_tables.py` runs its queries on them as well."""

import shutil

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import assert_same_result, case, hudi_result, multiset, with_properties

MOR, COW, ORC, FLAT = "h12_bootstrap_mor", "h12_bootstrap_cow", "h12_bootstrap_orc", "h015_bootstrap_flat"
BOOTSTRAP = "00000000000001"
ALL = [MOR, COW, ORC, FLAT]


def skeletons(path):
    return [file for file in path.rglob(f"*_{BOOTSTRAP}.parquet") if not file.name.startswith(".")]


def source_of(path):
    return path.with_name(f"{path.name}-source")


def copy_with_source(table_of, copy_of, name):
    """Copies a table and its source, both of which the test may change."""
    table = copy_of(name)
    source = shutil.copytree(source_of(table_of(name)), table.with_name("source"))
    with_properties(table, {"hoodie.bootstrap.base.path": str(source)})
    return table, source


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "columns",
    [["id"], ["_hoodie_record_key"], ["n", "_hoodie_commit_time", "id"], ["dt", "_hoodie_file_name"], ["dt"]],
    ids=str,
)
def test_columns_of_the_skeleton_the_source_or_both(name, columns, table_of):
    scan = mortice.Table(table_of(name)).snapshot(columns=columns, as_of=BOOTSTRAP)
    whole = mortice.Table(table_of(name)).snapshot(as_of=BOOTSTRAP).to_arrow()
    assert multiset(scan.to_arrow().to_pylist()) == multiset(whole.select(columns).to_pylist())
    assert scan.count() == whole.num_rows


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("as_of", [None, BOOTSTRAP])
@pytest.mark.parametrize(
    "filters",
    [
        [("_hoodie_record_key", "=", "k0017")],
        [("id", ">=", "k0050")],
        [("id", "<", "k0010"), ("_hoodie_record_key", ">=", "k0004")],
        [("dt", "=", "2024-01-02"), ("n", ">", 0)],
        [("note", "is null")],
        [("_hoodie_commit_time", "!=", BOOTSTRAP)],
        [("dt", "is null")],
    ],
    ids=str,
)
def test_pruning_does_not_change_the_rows(name, as_of, filters, table_of):
    arguments = {"as_of": as_of, "filters": filters}
    pruned = mortice.Table(table_of(name)).snapshot(**arguments).to_arrow()
    assert_same_result(
        mortice.Table(table_of(name), read_options=mortice.ReadOptions(prune=False)).snapshot(**arguments).to_arrow(),
        pruned,
    )
    whole = mortice.Table(table_of(name)).snapshot(as_of=as_of).to_arrow()
    assert pruned.num_rows == sum(all(satisfies(row, *term) for term in filters) for row in whole.to_pylist())


def satisfies(row, column, operator, value=None):
    held = row[column]
    if operator == "is null":
        return held is None
    tests = {"=": lambda: held == value, ">=": lambda: held >= value, "<": lambda: held < value}
    tests |= {">": lambda: held > value, "!=": lambda: held != value}
    return held is not None and tests[operator]()


def test_files_with_different_row_groups_are_read_in_step(table_of):
    path = table_of(FLAT)
    (source,) = source_of(path).glob("*.parquet")
    groups = pq.read_metadata(source).num_row_groups
    assert groups > 2
    (skeleton,) = skeletons(path)
    assert pq.read_metadata(skeleton).num_row_groups == 1
    scan = mortice.Table(path).snapshot(as_of=BOOTSTRAP, filters=[("id", "in", ["k0003", "k0880"])])
    rows = scan.to_arrow()
    assert rows.column("id").to_pylist() == rows.column("_hoodie_record_key").to_pylist() == ["k0003", "k0880"]
    for batch_rows in (1, 7, 1000):
        table = (
            mortice.Table(path, read_options=mortice.ReadOptions(batch_rows=batch_rows))
            .snapshot(as_of=BOOTSTRAP)
            .to_arrow()
        )
        assert pc.all(pc.equal(table.column("id"), table.column("_hoodie_record_key"))).as_py()
        assert table.num_rows == 900


@pytest.mark.parametrize("name", [MOR, COW])
def test_partition_columns_that_only_the_path_contains(name, table_of):
    path = table_of(name)
    for file in source_of(path).rglob("*.parquet"):
        assert "dt" not in pq.read_schema(file).names
    rows = mortice.Table(path).snapshot(as_of=BOOTSTRAP).to_arrow()
    partitions = [f"dt={value}" for value in rows.column("dt").to_pylist()]
    assert rows.column("_hoodie_partition_path").to_pylist() == partitions


def test_a_moved_source_is_found_by_the_table_properties(table_of, copy_of):
    table, _ = copy_with_source(table_of, copy_of, MOR)
    assert_same_result(hudi_result(MOR), mortice.Table(table).snapshot().to_arrow())


def test_the_error_for_a_missing_source_names_it(table_of, copy_of):
    table, source = copy_with_source(table_of, copy_of, COW)
    missing = next(source.rglob("*.parquet"))
    missing.unlink()
    with pytest.raises(mortice.FileCleanedError, match=missing.name):
        mortice.Table(table).snapshot(as_of=BOOTSTRAP).to_arrow()


def test_a_source_that_changed_is_an_error(table_of, copy_of):
    table, source = copy_with_source(table_of, copy_of, COW)
    for file in source.rglob("*.parquet"):
        pq.write_table(pq.read_table(file, partitioning=None).slice(1), file)
    with pytest.raises(mortice.InvalidTableError, match="30 rows, its source file 29"):
        mortice.Table(table).snapshot(as_of=BOOTSTRAP).to_arrow()


def test_a_missing_truncated_or_unknown_index_is_an_error(table_of, copy_of):
    table, _ = copy_with_source(table_of, copy_of, COW)
    (index,) = (table / ".hoodie" / ".aux" / ".bootstrap" / ".partitions").glob("*.hfile")
    whole = index.read_bytes()
    for cut in range(0, len(whole), 997):
        index.write_bytes(whole[:cut])
        with pytest.raises(mortice.MorticeError, match="hfile"):
            mortice.Table(table).snapshot(as_of=BOOTSTRAP)
    index.unlink()
    with pytest.raises(mortice.InvalidTableError, match="bootstrap index"):
        mortice.Table(table).snapshot(as_of=BOOTSTRAP)
    with_properties(table, {"hoodie.bootstrap.index.type": None, "hoodie.bootstrap.index.class": "com.acme.Index"})
    with pytest.raises(mortice.UnsupportedError, match=r"com\.acme\.Index"):
        mortice.Table(table).snapshot(as_of=BOOTSTRAP)


def test_a_table_without_skeletons_is_read_without_its_source(table_of, copy_of):
    table, source = copy_with_source(table_of, copy_of, MOR)
    compacted = mortice.Table(table).file_slices()
    needed = [group for group in compacted if group.base_file.path.endswith(f"_{BOOTSTRAP}.parquet")]
    assert not needed, case(MOR)["steps"]
    for file in source.rglob("*.parquet"):
        file.unlink()
    assert_same_result(hudi_result(MOR), mortice.Table(table).snapshot().to_arrow())
