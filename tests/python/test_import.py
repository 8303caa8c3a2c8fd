"""Importing mortice imports no heavy libraries and starts no threads."""

import subprocess
import sys

import pytest

HEAVY = ("pandas", "polars", "pyspark", "duckdb")


@pytest.mark.parametrize("module", ["mortice", "mortice.spark", "mortice.cli", "mortice.spark.settings.options"])
def test_no_heavy_imports_and_no_threads(module):
    code = f"""
import os, sys
import pyarrow
import pyarrow.parquet
heavy = {{name for name in {HEAVY!r} if name in sys.modules}}
threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0
import {module}
print(sorted({{name for name in {HEAVY!r} if name in sys.modules}} - heavy))
print((len(os.listdir("/proc/self/task")) if threads else 0) - threads)
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert output.split("\n")[:2] == ["[]", "0"]


def test_the_module_that_spark_discovers_does_not_load_the_native_module():
    code = "import pyspark_mortice, sys; print('mortice._mortice' in sys.modules, 'mortice' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert output.split() == ["False", "False"]


def test_the_functions_for_spark_need_no_import_of_their_own():
    code = "import sys, mortice; print('mortice.spark' in sys.modules, callable(mortice.spark.write))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert output.split() == ["False", "True"]


def test_versions_are_equal():
    from importlib.metadata import version

    import mortice

    assert mortice.__version__ == version("mortice")
