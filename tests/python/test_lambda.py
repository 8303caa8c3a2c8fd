"""The layer of Lambda of docs/recipes.md: its size, and what a read of a table imports."""

import shutil
import sys
from pathlib import Path

import pytest

import mortice
from lambda_layer import copy_pyarrow, size_of, start

NEVER = {
    "asyncio",
    "boto3",
    "click",
    "numpy",
    "opentelemetry",
    "pandas",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.flight",
    "pyarrow.fs",
    "pyarrow.parquet",
    "ssl",
}


@pytest.mark.skipif(sys.platform != "linux", reason="Lambda runs on Linux")
def test_a_read_needs_what_is_in_the_layer_and_no_more(tmp_path, table_of):
    layer = tmp_path / "layer"
    copy_pyarrow(layer)
    # The rest of the 250 MB is for mortice, whose wheel has its own limit (tools/wheel_size.py), and for the function.
    assert size_of(layer) < 130_000_000
    shutil.copytree(Path(mortice.__file__).parent, layer / "mortice", ignore=shutil.ignore_patterns("__pycache__"))
    path = table_of("h11_event_time_deletes")
    rows, *modules = start(layer, path)
    assert int(rows) == mortice.Table(path).count()
    assert not NEVER & set(modules)
    assert len(modules) < 350
