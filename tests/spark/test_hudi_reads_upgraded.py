"""Hudi reads and writes tables that mortice has brought to another version."""

import pyarrow.parquet as pq
import pytest

pyspark = pytest.importorskip("pyspark")
if not pyspark.__version__.startswith("3.5."):
    pytest.skip("Hudi is run with pyspark 3.5", allow_module_level=True)

import mortice  # noqa: E402
from support.hudi import fetch_hudi  # noqa: E402

if fetch_hudi.jar() is None:
    pytest.skip("no jar of Hudi: make hudi-jar fetches it with Maven", allow_module_level=True)

from support.hudi.hudi_on_spark import HudiOnSpark  # noqa: E402
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, content, new_table, rows  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning"),
]
COLUMNS = ["id", "city", "ts", "fare"]
OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.metadata.enable": "true",
}


def read(hudi, table, folder, **options):
    hudi.read(table.uri, folder / "read", **options)
    found = pq.read_table(folder / "read").select(COLUMNS).to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


def go_on(hudi, table, folder):
    """Hudi reads the table, with its metadata table and by listing, and upserts rows."""
    expected = content(table)
    for enabled in ("true", "false"):
        assert read(hudi, table, folder, **{"hoodie.metadata.enable": enabled}) == expected
    pq.write_table(rows(("a", "x", 50, 50.0), ("z", "y", 1, 1.0)), folder / "rows.parquet")
    kind = {"hoodie.datasource.write.table.type": table.table_type, "hoodie.write.table.version": str(table.version)}
    hudi.write(folder / "rows.parquet", table.uri, OPTIONS | kind)
    after = content(mortice.Table(table.uri))
    assert ("a", "x", 50, 50.0) in after
    assert len(after) == len(expected) + 1
    assert read(hudi, table, folder) == after


def written(folder, version, table_type):
    table = new_table(folder / "trips", version, table_type)
    keep = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    for given in (FIRST, CHANGED, *(rows(("b", "x", ts, float(ts))) for ts in range(3, 8))):
        table.upsert(given, NO_SMALL_FILES | keep)
    return table


@pytest.fixture(scope="module")
def hudi():
    hudi = HudiOnSpark(fetch_hudi.jar())
    yield hudi
    hudi.close()


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
@pytest.mark.parametrize(("version", "to"), [(6, 8), (6, 9), (8, 9), (9, 8), (9, 6)])
def test_hudi_goes_on(version, to, table_type, tmp_path, hudi):
    table = written(tmp_path, version, table_type)
    (table.upgrade if version < to else table.downgrade)(to)
    go_on(hudi, table, tmp_path)


def test_hudi_0_15_goes_on_with_a_table_of_version_9(tmp_path):
    jar = fetch_hudi.jar("0.15.0")
    if jar is None:
        pytest.skip("no jar of Hudi 0.15: python tests/support/hudi/fetch_hudi.py 0.15.0")
    hudi = HudiOnSpark(jar)
    try:
        table = written(tmp_path, 9, "MERGE_ON_READ")
        table.downgrade(6)
        go_on(hudi, table, tmp_path)
    finally:
        hudi.close()
