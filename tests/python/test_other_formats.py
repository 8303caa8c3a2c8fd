"""Tables that a plug-in of Hudi keeps in another table format, too (`hoodie.table.format`): read, and not changed."""

import pytest

import mortice
from support.cases import assert_same_result, hudi_result, with_properties


@pytest.fixture(params=["h12_column_stats", "h12_log_compaction"])
def table(request, copy_of):
    path = copy_of(request.param)
    with_properties(path, {"hoodie.table.format": "ICEBERG"})
    # What the plug-in writes beside the table.
    (path / "metadata").mkdir()
    (path / "metadata" / "v1.metadata.json").write_text("{}")
    return request.param, mortice.Table(path)


def test_rows_are_those_of_the_table(table):
    name, opened = table
    assert_same_result(hudi_result(name), opened.snapshot().to_arrow())


def test_changes_are_refused_by_name(table):
    _, opened = table
    files = opened.file_slices()
    rows = opened.snapshot(meta=False).to_arrow().slice(0, 1)
    for change in (lambda: opened.upsert(rows), opened.clean, opened.compact, opened.archive):
        with pytest.raises(mortice.UnsupportedError, match="ICEBERG"):
            change()
    assert opened.file_slices() == files
