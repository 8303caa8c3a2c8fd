"""What `Table.verify(keys=True)` finds: keys of several rows, and a record index that does not agree with rows."""

import pathlib
import shutil

import pytest

import mortice
from support.tables.written import CHANGED, FIRST, KINDS, NO_METADATA, NO_SMALL_FILES, new_table, rows

INDEXED = NO_SMALL_FILES | {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.record.index.enable": "true"}
BUCKETS = NO_METADATA | {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
INDEX = ".hoodie/metadata/record_index"


def found(table, **arguments):
    return sorted({one.kind for one in mortice.Table(table.uri).verify(contents=False, **arguments).findings})


def messages(table):
    return sorted(one.message for one in mortice.Table(table.uri).verify(contents=False, keys=True).findings)


def indexed_table(path, version=9, table_type="MERGE_ON_READ"):
    table = new_table(path / "trips", version, table_type)
    table.upsert(FIRST, INDEXED)
    table.upsert(CHANGED, INDEXED)
    return table


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def test_a_record_index_agrees_with_rows_after_each_operation(tmp_path, kind):
    table = indexed_table(tmp_path, *kind)
    steps = [
        lambda: table.upsert(rows(("a", "y", 5, 5.0), ("n", "x", 5, 5.0)), INDEXED),
        lambda: table.delete(rows(("b", "x", 9, 0.0)), INDEXED),
        lambda: table.insert(rows(("o", "z", 5, 5.0)), INDEXED),
        lambda: table.insert_overwrite(rows(("p", "z", 5, 5.0)), INDEXED),
        lambda: table.compact(INDEXED | {"hoodie.compact.inline.max.delta.commits": "1"}),
        lambda: table.cluster(INDEXED),
        lambda: table.delete_partitions(["z"], INDEXED),
    ]
    for number, step in enumerate(steps):
        if kind[1] == "COPY_ON_WRITE" and number == 4:
            continue
        step()
        assert table.verify(keys=True, global_keys=True).findings == [], number


def without_last_log(table):
    """The record index as it was before the last write."""
    log = max(pathlib.Path(table.uri, INDEX).glob(".*.log.*"), key=lambda path: path.name.split("_")[1])
    log.unlink()


def test_keys_that_the_index_lacks_are_found(tmp_path):
    table = indexed_table(tmp_path)
    table.upsert(rows(("n", "x", 5, 5.0)), INDEXED)
    without_last_log(table)
    assert found(table) == []
    assert found(table, keys=True) == ["index_missing_key"]
    assert messages(table) == ['the record index does not have the record key "n"']


def test_keys_that_the_index_has_at_the_wrong_place_are_found(tmp_path):
    table = indexed_table(tmp_path)
    move = {"hoodie.record.index.update.partition.path": "true"}
    table.upsert(rows(("a", "y", 5, 5.0)), INDEXED | move)
    assert found(table, global_keys=True) == []
    without_last_log(table)
    assert found(table, keys=True) == ["index_wrong_location"]
    assert '"a"' in messages(table)[0]


def test_keys_that_the_index_has_though_they_are_gone_are_found(tmp_path):
    table = indexed_table(tmp_path)
    table.delete(rows(("b", "x", 9, 0.0)), INDEXED)
    assert found(table, keys=True) == []
    without_last_log(table)
    assert found(table, keys=True) == ["index_stale_key"]
    assert "no row has it" in messages(table)[0]


def test_an_index_that_cannot_be_read_is_found(tmp_path):
    table = indexed_table(tmp_path)
    log = min(pathlib.Path(table.uri, INDEX).glob(".*.log.*"))
    log.write_bytes(log.read_bytes()[:-10])
    assert found(table, keys=True) == ["unreadable_metadata_table"]


def test_a_file_that_cannot_be_read_is_a_finding_of_a_check_of_keys(tmp_path):
    table = indexed_table(tmp_path)
    base = next(pathlib.Path(table.uri).glob("x/*.parquet"))
    base.write_bytes(b"x" * base.stat().st_size)
    assert found(table, keys=True) == ["unreadable_file"]


def copied(table, file_id):
    """A second file group with the rows of another one, as a second writer makes it."""
    base = next(pathlib.Path(table.uri).glob("x/*.parquet"))
    old, rest = base.name.split("_", 1)
    shutil.copy(base, base.with_name(f"{file_id(old)}_{rest}"))


def test_two_file_groups_of_a_bucket_are_found(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, BUCKETS)
    assert found(table, keys=True) == []
    copied(table, lambda old: old[:8] + "-0000-4000-8000-000000000000-0")
    assert found(table) == ["duplicate_bucket", "orphan_file"]
    assert found(table, keys=True) == ["duplicate_bucket", "duplicate_key", "orphan_file"]


def test_keys_of_two_rows_are_found_in_a_partition_or_in_the_table(tmp_path):
    table = new_table(tmp_path / "trips", table_type="COPY_ON_WRITE")
    table.upsert(rows(("a", "x", 1, 1.0), ("a", "y", 1, 1.0), ("b", "x", 1, 1.0)), NO_METADATA)
    assert found(table, keys=True) == []
    assert found(table, global_keys=True) == ["duplicate_key"]
    copied(table, lambda old: "0" * len(old))
    assert found(table, keys=True) == ["duplicate_key", "orphan_file"]
    doubles = [one.path for one in table.verify(keys=True).findings if one.kind == "duplicate_key"]
    assert len(doubles) == 2


def test_keys_of_tables_without_meta_columns_are_checked(tmp_path):
    table = new_table(
        tmp_path / "trips", table_type="COPY_ON_WRITE", properties={"hoodie.populate.meta.fields": "false"}
    )
    table.upsert(FIRST, NO_METADATA)
    assert found(table, keys=True) == []
    copied(table, lambda old: "0" * len(old))
    assert "duplicate_key" in found(table, keys=True)


def test_many_keys_are_sorted_in_files(tmp_path):
    table = new_table(tmp_path / "trips", table_type="COPY_ON_WRITE")
    many = [(f"{number:080}", "x", 1, 1.0) for number in range(80_000)]
    table.bulk_insert(rows(*many), NO_METADATA)
    spill = tmp_path / "spill"
    table = mortice.Table(table.uri, read_options=mortice.ReadOptions(spill_dir=spill))
    assert table.verify(keys=True).findings == []
    assert spill.exists()
    copied(table, lambda old: "0" * len(old))
    doubles = [one for one in table.verify(keys=True).findings if one.kind == "duplicate_key"]
    assert len(doubles) == 101
    assert "79900 more" in doubles[0].message
