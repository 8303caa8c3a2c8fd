"""A commit on a local disk is durable when it is reported: contents are flushed before a file has its name."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "support" / "flushes.c"
WRITE = """
import sys
import pyarrow as pa
import mortice

rows = pa.table({"id": ["a", "b"], "city": ["oslo", "rome"], "n": [1, 2]})
table = mortice.create_table(sys.argv[1], rows.schema, name="t", record_key="id", partition_by="city")
table.upsert(rows)
open(sys.argv[2], "w").close()
table.upsert(rows.slice(0, 1))
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="calls of the C library are seen on Linux, with a C compiler",
)


@pytest.fixture(scope="module")
def flushes(tmp_path_factory):
    """What an upsert of a row flushes: paths relative to the table, and the names in a folder or None."""
    folder = tmp_path_factory.mktemp("durable")
    library, log, table = folder / "flushes.so", folder / "log", folder / "table"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    env = {**os.environ, "LD_PRELOAD": str(library), "FLUSH_LOG": str(log)}
    subprocess.run([sys.executable, "-W", "ignore", "-c", WRITE, str(table), str(log)], check=True, env=env)
    lines = [line.partition("\t") for line in log.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if Path(line[0]).is_relative_to(table)]
    return [(Path(path).relative_to(table), set(names.split("/")) if tab else None) for path, tab, names in lines]


def staged(flushes):
    """The temporary files that were flushed: where in the list, folder, and the name without dots that they get."""
    files = [(at, path) for at, (path, names) in enumerate(flushes) if names is None and path.suffix == ".tmp"]
    return [(at, path.parent, path.name.rsplit(".", 2)[0].lstrip(".")) for at, path in files]


def has(names, name):
    return any(one.lstrip(".") == name for one in names)


def test_contents_are_flushed_before_a_file_has_its_name(flushes):
    assert len(staged(flushes)) > 5
    for at, folder, name in staged(flushes):
        assert not any(path == folder and names and has(names, name) for path, names in flushes[:at]), name
        # Files that are created empty have no contents.
        assert (folder / name, None) not in flushes


def test_a_name_is_flushed_before_the_next_file_is_put_into_place(flushes):
    files = staged(flushes)
    for (at, folder, name), following in zip(files, [*(one[0] for one in files[1:]), len(flushes)], strict=True):
        after = flushes[at:following]
        assert any(path == folder and names and has(names, name) for path, names in after), folder / name


def test_data_and_metadata_are_flushed_before_the_commit(flushes):
    files = [folder / name for _, folder, name in staged(flushes)]
    # The file that is renamed to the completed instant.
    assert files[-1].match(".hoodie/timeline/*.deltacommit.*.tmp")
    folders = [path.parent for path in files[:-1]]
    for folder in ("oslo", ".hoodie/metadata/files", ".hoodie/metadata/.hoodie/timeline"):
        assert Path(folder) in folders
