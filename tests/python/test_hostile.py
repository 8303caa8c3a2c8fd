"""A few hostile tables, other ones in each run; `make hostile` tries many."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

from hostile.cases import Place
from hostile.copies import entries_below
from hostile.tables import write_table

TESTS = pathlib.Path(__file__).parents[1]


def test_hostile_metadata_reaches_nothing(tmp_path):
    """Neither a panic, a crash or a hang, nor a change outside of the table: tests/hostile."""
    command = [sys.executable, "-W", "ignore", "-m", "hostile", "--seed", str(time.time_ns()), "--kinds", "v9-mor"]
    command += ["--folder", str(tmp_path), "--count", "12"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    environment["PYTHONWARNINGS"] = "ignore"
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=200)
    assert done.returncode == 0, f"{' '.join(command[1:])}\n{done.stdout}\n{done.stderr}"
    cases = [int(line.split(", ")[1].split()[0]) for line in done.stdout.splitlines()]
    assert min(cases) > 0, done.stdout


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    root = tmp_path_factory.mktemp("hostile") / "template"
    write_table(root, 9, "COPY_ON_WRITE")
    return root


def _contents(folder):
    return {path: (folder / path).read_bytes() for path in entries_below(folder) if (folder / path).is_file()}


def test_what_is_changed_outside_of_the_table_is_noticed(tmp_path, template):
    place = Place(template, tmp_path / "place")
    assert place.what_was_reached() is None
    (place.outside.root / ".hoodie/hoodie.properties").unlink()
    assert place.what_was_reached() == "files outside of the table were changed"
    (place.folder / "new").touch()
    assert place.what_was_reached() == "files were made beside the table"
    assert place.what_was_reached() is None


def test_a_changed_table_is_put_back_before_the_next_case(tmp_path, template):
    place = Place(template, tmp_path / "place")
    root, before = place.table.root, _contents(template)
    folders = {path for path in entries_below(template) if (template / path).is_dir()}
    files = sorted(before)
    (root / files[0]).write_bytes(b"other" + before[files[0]][5:])
    (root / files[1]).unlink()
    (root / files[2]).unlink()
    (root / files[2]).symlink_to(place.outside.root)
    (root / "x" / "new").mkdir()
    (root / "x" / "new" / "file").touch()
    shutil.rmtree(root / ".hoodie/timeline")
    (root / ".hoodie/timeline").symlink_to("..")
    assert place.what_was_reached() is None
    assert _contents(root) == before
    assert {path for path in entries_below(root) if (root / path).is_dir()} == folders
    assert not [path for path in entries_below(root) if (root / path).is_symlink()]
    shutil.rmtree(root)
    assert place.what_was_reached() is None
    assert _contents(root) == before
