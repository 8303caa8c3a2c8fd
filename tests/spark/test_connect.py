"""Both entry points over Spark Connect, by a local server: no `sparkContext`, no RDD.

It runs in a separate process: a Connect session and a classic one cannot be in one.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import mortice
from support.cases import hudi_result
from support.spark_stages import has_attempts

pytestmark = [pytest.mark.spark4, pytest.mark.timeout(900)]
NAME = "h11_event_time_deletes"
PARTITIONED = "h11_composite_keys_encoded_partitions"
SCRIPT = pathlib.Path(__file__).with_name("connect_session.py")

for needed in ("grpc", "grpc_status", "google.protobuf", "zstandard"):
    pytest.importorskip(needed, reason="Spark Connect needs it: pip install 'pyspark[connect]'")


@pytest.fixture(scope="module")
def steps(table_of, tmp_path_factory):
    # The session corrupts it at the end.
    folder = tmp_path_factory.mktemp("connect")
    table = shutil.copytree(table_of(NAME), folder / "table")
    places = [table, table_of(PARTITIONED), folder / "copy"]
    command = [sys.executable, "-W", "ignore", str(SCRIPT), *map(str, places)]
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=800, env={**os.environ, "PYTHONPATH": paths}
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    steps = {step: value for line in lines for step, value in line.items()}
    assert done.returncode == 0, (list(steps), done.stderr[-3000:])
    return steps


def keys():
    return sorted(hudi_result(NAME)["trip_id"].to_pylist())


def test_it_is_connect(steps):
    assert steps["session"].startswith("pyspark.sql.connect")


@pytest.mark.parametrize("entry_point", ["source", "registered", "arrow", "to_spark"])
def test_rows_equal_hudis_result(steps, entry_point):
    assert steps[entry_point] == keys()


def test_columns_filters_and_sql(steps):
    expected = [
        {"fare": row["fare"], "trip_id": row["trip_id"]}
        for row in hudi_result(NAME).to_pylist()
        if row["city"] == "oslo"
    ]
    assert sorted(steps["options"], key=lambda row: row["trip_id"]) == sorted(expected, key=lambda row: row["trip_id"])
    assert steps["sql"] == hudi_result(NAME).num_rows


def test_splits_of_several_tasks(steps):
    assert steps["partitioned"] == hudi_result(PARTITIONED).num_rows
    # Of thirty tasks, those that have rows.
    assert steps["tasks"] == 10
    assert steps["empty"] == 0


def test_a_join_broadcasts_only_a_small_table(steps):
    assert "BroadcastHashJoin" in steps["small"]
    assert "SortMergeJoin" in steps["large"]
    assert "BroadcastHashJoin" not in steps["large"]


def test_options_of_the_session_are_used(steps):
    assert steps["configured"] == hudi_result(NAME, "read_optimized").num_rows


def test_a_stream_returns_the_rows_of_an_incremental_query_once(steps, table_of):
    expected = sorted(mortice.Table(table_of(NAME)).incremental("earliest").to_arrow()["trip_id"].to_pylist())
    assert steps["stream"] == expected
    assert steps["stream again"] == expected
    assert "MORTICE-INVALID-ARGUMENT" in steps["wrong start"]


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
def test_rows_are_written_and_merged(steps, index):
    fares = {f"k{at}": float(at) for at in range(21) if at not in {2, 3, 4}}
    expected = fares | {"k1": 0.5, "k5": -1.0, "k30": 30.0}
    assert steps["written"][index] == sorted([key, fare] for key, fare in expected.items())


def test_files_without_logs_are_read_by_sparks_own_reader(steps):
    assert "parquet" in steps["read by spark"]
    assert "MapInArrow" not in steps["read by spark"]


def test_services_after_a_merge_run_as_tasks(steps):
    assert len(steps["clustered"]) == 2
    assert has_attempts(steps["clustered"])


def test_errors_keep_their_code_and_location(steps):
    assert "MORTICE-INVALID-ARGUMENT" in steps["wrong option"]
    for entry_point in ("source", "arrow"):
        output = steps[f"error of the {entry_point}"]
        assert "MORTICE-CORRUPT-LOG" in output
        assert steps["log"] in output
        assert "offset" in output
