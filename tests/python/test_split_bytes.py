"""Splits whose bytes come from anywhere: they name no file outside of the table, and allocate no more than it has."""

import json
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import mortice
from mortice import InvalidArgumentError
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, new_table

OUTSIDE = ["/../outside/f.parquet", "/../../etc/passwd", "//etc/passwd", "../outside/f.parquet", "/x/../../f.parquet"]
TESTS = pathlib.Path(__file__).parents[1]


@pytest.fixture
def table(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, NO_SMALL_FILES)
    table.upsert(CHANGED, NO_SMALL_FILES)
    return table


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_split_names_no_file_outside_of_the_table(table, path):
    for place in (lambda slice_: slice_[3], lambda slice_: slice_[4][0]):
        message = json.loads(table.snapshot().splits()[0].to_bytes())
        place(message["split"][0])[0] = path
        with pytest.raises(InvalidArgumentError, match="not a file of its table"):
            mortice.Split.from_bytes(json.dumps(message).encode())


def test_the_numbers_of_a_split_do_not_allocate(table):
    """Each number is made as large as it can be, in a process with little memory."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "support.hostile_splits"],
        input=table.snapshot().splits()[0].to_bytes(),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert int(done.stdout) >= 20


def test_functions_are_loaded_only_if_asked_for(table):
    hostile = b"functions:" + pickle.dumps((b"{}", None, None))
    for read in (mortice.Split.from_bytes, mortice.reading.split.SharedQuery.from_bytes):
        with pytest.raises(InvalidArgumentError, match="functions=True"):
            read(hostile)
