"""A dbt project whose models are tables of mortice: built twice, the second time with other rows. `make test-dbt`."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import mortice

pytest.importorskip("dbt.adapters.spark", reason="needs dbt-spark: make test-dbt")

pytestmark = pytest.mark.timeout(1200)
PROJECT = pathlib.Path(__file__).parent / "dbt_project"
LATER = "id,city,fare,ts\nb,rome,9.5,2\nd,oslo,4.5,2\n"


def build(folder, *arguments):
    """Runs dbt, and returns its exit status and what it printed."""
    command = [sys.executable, "-m", "mortice.spark.dbt", *(arguments or ["build"]), "--profiles-dir", "."]
    environment = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def rows(folder, name):
    """Returns the rows of a model's table."""
    return mortice.Table(str(folder / "spark-warehouse" / name)).to_arrow().to_pylist()


def test_models_are_created_merged_into_and_overwritten(tmp_path):
    folder = tmp_path / "trips"
    shutil.copytree(PROJECT, folder)
    status, printed = build(folder)
    assert status == 0, printed
    assert sorted(row["id"] for row in rows(folder, "trips")) == ["a", "b", "c"]
    (folder / "seeds" / "new_trips.csv").write_text(LATER)
    status, printed = build(folder)
    assert status == 0, printed
    merged = {row["id"]: row["fare"] for row in rows(folder, "trips")}
    assert merged == {"a": 1.5, "b": 9.5, "c": 3.5, "d": 4.5}
    sums = {row["city"]: (row["fare"], row["trips"]) for row in rows(folder, "fares")}
    assert sums == {"oslo": (9.5, 3), "rome": (9.5, 1)}
    commits = [
        instant.action for instant in mortice.Table(str(folder / "spark-warehouse" / "trips")).timeline.completed
    ]
    assert commits == ["deltacommit", "deltacommit"]
    # A test of the project that fails is a failure of the command.
    (folder / "models" / "schema.yml").write_text(
        "version: 2\nmodels: [{name: trips, columns: [{name: city, data_tests: [unique]}]}]\n"
    )
    status, printed = build(folder, "test")
    assert status == 1, printed
