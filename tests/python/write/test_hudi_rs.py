"""hudi-rs reads what mortice has written: base files, logs, and the metadata table. Without hudi-rs (`make
setup-versus`, or `MORTICE_HUDI_RS_PYTHON`) these tests are skipped."""

import pyarrow as pa
import pytest

from support import hudi_rs_reader
from support.tables.written import FIRST, new_table, rows

pytestmark = pytest.mark.skipif(hudi_rs_reader.python() is None, reason="no Python with hudi-rs")

EACH_WRITE = {"hoodie.metadata.compact.max.delta.commits": "1"}
KINDS = [(version, kind) for version in (6, 8, 9) for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")]


@pytest.mark.parametrize("options", [{}, EACH_WRITE], ids=["logs", "compacted"])
@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_it_lists_files_by_the_metadata_table(tmp_path, version, kind, options):
    table = new_table(tmp_path / "trips", version, kind)
    table.upsert(FIRST, options)
    table.upsert(rows(("a", "x", 2, 10.0), ("d", "z", 1, 4.0)), options)
    want = sorted(table.snapshot(["id", "fare"]).to_arrow().to_pylist(), key=lambda row: row["id"])
    assert hudi_rs_reader.read(table.uri, "id", "fare") == want


def test_it_reads_long_blocks_of_the_metadata_table(tmp_path):
    """The list of files takes several blocks, some of which have more than one checksum."""
    table = new_table(tmp_path / "trips", 9, "COPY_ON_WRITE")
    table.upsert(
        pa.table(
            {
                "id": [f"key {at}" for at in range(700)],
                "city": [f"city {at}" for at in range(700)],
                "ts": [1] * 700,
                "fare": [float(at) for at in range(700)],
            }
        ),
        EACH_WRITE,
    )
    table.upsert(rows(("a", "x", 2, 10.0)), EACH_WRITE)
    assert len(hudi_rs_reader.read(table.uri, "id", "fare")) == 701
