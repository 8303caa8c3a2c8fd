"""A dbt project whose models are tables of mortice: built twice, the second time with other rows. `make test-dbt`."""

import json
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
CITIES = """{{ config(materialized="table", file_format="hudi", unique_key="town") }}
select city as town, count(*) as trips from {{ ref("new_trips") }} group by city
"""
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


def test_models_are_created_merged_into_overwritten_and_dropped(tmp_path):
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
    # Each state of a trip is a row, with the time until which it was so.
    history = {(row["id"], row["fare"]): row["dbt_valid_to"] is None for row in rows(folder, "trip_history")}
    assert history == {("a", 1.5): True, ("b", 2.5): False, ("b", 9.5): True, ("c", 3.5): True, ("d", 4.5): True}
    sums = {row["city"]: (row["fare"], row["trips"]) for row in rows(folder, "fares")}
    assert sums == {"oslo": (9.5, 3), "rome": (9.5, 1)}
    commits = [
        instant.action for instant in mortice.Table(str(folder / "spark-warehouse" / "trips")).timeline.completed
    ]
    assert commits == ["deltacommit", "deltacommit"]
    # A table is dropped with its rows and created again.
    assert {row["city"]: row["trips"] for row in rows(folder, "cities")} == {"oslo": 1, "rome": 1}
    assert len(mortice.Table(str(folder / "spark-warehouse" / "cities")).timeline.completed) == 1
    # A test of the project that fails is a failure of the command.
    (folder / "models" / "schema.yml").write_text(
        "version: 2\nmodels: [{name: trips, columns: [{name: city, data_tests: [unique]}]}]\n"
    )
    status, printed = build(folder, "test")
    assert status == 1, printed
    (folder / "models" / "cities.sql").write_text(CITIES)
    # Now the cities are unique.
    status, printed = build(folder, "build", "--full-refresh")
    assert status == 0, printed
    assert sorted(row["id"] for row in rows(folder, "trips")) == ["b", "d"]
    assert {row["town"]: row["trips"] for row in rows(folder, "cities")} == {"oslo": 1, "rome": 1}
    status, printed = build(folder, "docs", "generate")
    assert status == 0, printed
    nodes = json.loads((folder / "target" / "catalog.json").read_text())["nodes"]
    assert list(nodes["model.trips.trips"]["columns"]) == ["id", "fare", "ts", "city"]
