"""What `Table.merge_into` reads and writes in a table of any size: the file groups with matched keys, and the index."""

import pathlib

import pyarrow as pa
import pytest

import mortice
from support import folder_reads

pytestmark = pytest.mark.skipif(not folder_reads.AVAILABLE, reason="inotify is Linux's")
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())])
GROUP_ROWS = 100
STATISTICS = {"hoodie.metadata.index.column.stats.enable": "true"}
RECORD_INDEX = {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.global.record.level.index.enable": "true"}
# Which base files are opened: those with matched keys, or all of the partitions that the rows are in, of whose keys or
# footers with Bloom filters the index is made.
INDEXES = {
    "record-index": (RECORD_INDEX, "matched"),
    "bloom": ({"hoodie.index.type": "BLOOM"}, "partition"),
    "simple": ({"hoodie.index.type": "SIMPLE"}, "partition"),
}


def rows(numbers, city):
    count = len(numbers)
    columns = [list(numbers), [city] * count, [1.0] * count, [1] * count]
    return pa.table(columns, schema=SCHEMA)


def created(path, table_type, groups, options):
    """A table of so many file groups, each with a range of keys of its own."""
    table = mortice.create_table(
        path, SCHEMA, name="t", record_key="id", partition_by="city", ordering="ts", table_type=table_type
    )
    for group in range(groups):
        table.bulk_insert(rows(range(group * GROUP_ROWS, (group + 1) * GROUP_ROWS), "oslo"), options)
    table.bulk_insert(rows(range(groups * GROUP_ROWS, (groups + 1) * GROUP_ROWS), "rome"), options)
    return table


def merged(table, numbers, options):
    """Merges rows of these keys. Returns the base files that were opened, and the commit."""
    folders = [pathlib.Path(table.uri) / city for city in ("oslo", "rome")]
    before = {path for folder in folders for path in folder.glob("*.parquet")}
    with folder_reads.FolderReads(folders) as reads:
        commit = table.merge_into(
            pa.table({"id": list(numbers), "city": ["oslo"] * len(numbers), "fare": [2.0] * len(numbers)}),
            when_matched_update=["fare"],
            options=options,
        )
        opened = {path for path in reads.take_files() if path in before}
    return opened, commit


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
@pytest.mark.parametrize("index", INDEXES)
def test_some_rows_cost_the_file_groups_that_have_them(tmp_path, table_type, index):
    options, expected = STATISTICS | INDEXES[index][0], INDEXES[index][1]
    for groups in (6, 12):
        table = created(tmp_path / str(groups), table_type, groups, options)
        for touched in (1, 2):
            keys = [3 * group * GROUP_ROWS + n for group in range(touched) for n in range(GROUP_ROWS // 10)]
            live = {stats.file_id for stats in mortice.Table(table.uri).file_slices() if stats.partition == "oslo"}
            opened, commit = merged(table, keys, options)
            assert commit.updates == len(keys)
            written = {stats.file_id for stats in commit.stats}
            assert len(written) == touched
            read = {path.name.split("_")[0] for path in opened}
            assert read == (written if expected == "matched" else live)
        found = mortice.Table(table.uri).snapshot(columns=["id"], filters=[("fare", "=", 2.0)]).to_arrow()
        assert sorted(found["id"].to_pylist()) == keys
