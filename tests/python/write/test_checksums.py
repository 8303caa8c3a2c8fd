"""The checksums that Hadoop's local file system keeps beside Hudi's files: none is left that does not fit."""

import pytest

import mortice
from support.tables.checksums import add_checksums, wrong_checksums
from support.tables.written import CHANGED, FIRST, KINDS, both, new_table, rows

INDEXES = ["record_index", "bloom_filters"]
FEW = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clean.commits.retained": "1",
    "hoodie.metadata.compact.max.delta.commits": "3",
}
MANUAL = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.parquet.small.file.limit": "0",
}


def more(number):
    return rows((f"k{number}", "x", 1, float(number)), ("a", "x", number, 1.0))


@pytest.mark.parametrize(("version", "table_type"), KINDS)
def test_files_that_are_replaced_or_deleted_lose_their_checksums(tmp_path, version, table_type):
    """Each step works on a table all of whose files have checksums."""
    table = new_table(tmp_path / "trips", version, table_type)
    is_mor = table_type == "MERGE_ON_READ"
    kept = None

    def save():
        nonlocal kept
        kept = table.upsert(more(20), MANUAL).instant
        table.savepoint(kept)

    steps = [
        lambda: table.insert(FIRST, MANUAL),
        lambda: table.upsert(CHANGED, MANUAL),
        lambda: table.build_metadata(add=INDEXES),
        lambda: table.rollback(table.upsert(more(10), MANUAL).instant),
        save,
        lambda: [table.upsert(more(number), MANUAL) for number in range(30, 36)],
        lambda: table.compact() if is_mor else None,
        lambda: table.upsert(more(40), MANUAL),
        lambda: table.clean(FEW),
        lambda: table.archive(FEW),
        lambda: [table.upsert(more(number), MANUAL) for number in range(50, 56)],
        lambda: table.archive(FEW),
        lambda: table.restore(kept),
        lambda: table.delete_savepoint(kept),
        lambda: table.upsert(more(60), {**FEW, "hoodie.parquet.small.file.limit": "0"}),
        lambda: table.build_metadata(drop=INDEXES[:1]),
        lambda: table.delete_partitions(["y"], MANUAL),
        table.delete_metadata,
        table.build_metadata,
        lambda: table.upsert(more(70), FEW),
    ]
    for number, step in enumerate(steps):
        add_checksums(table.uri)
        step()
        assert wrong_checksums(table.uri) == [], f"step {number}"
    assert ("k60", "x", 1, 60.0) in both(mortice.Table(table.uri))
    assert table.verify().findings == []
