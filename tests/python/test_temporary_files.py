"""Temporary files of killed writers are not files of a table."""

import mortice
from support.cases import assert_same_result, hudi_result

MOR = "h11_event_time_deletes"


def test_temporary_files_of_killed_writers_are_not_read(table_of, tmp_path):
    import shutil

    table = tmp_path / "table"
    shutil.copytree(table_of(MOR), table)
    before = mortice.Table(table).file_slices()
    left = 0
    for path in [path for path in table.rglob("*") if path.is_file() and path.suffix != ".crc"]:
        content = path.read_bytes()
        # Named as by `storage/local/put.rs`: a dot, the file's name, six random characters.
        path.with_name(f".{path.name.lstrip('.')}.x7Qa2Z.tmp").write_bytes(content[: len(content) // 2])
        left += 1
    assert left > 10
    assert mortice.Table(table).file_slices() == before
    assert_same_result(hudi_result(MOR), mortice.Table(table).snapshot().to_arrow())
