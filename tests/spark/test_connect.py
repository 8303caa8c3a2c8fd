"""Both doors over Spark Connect, by a local server: no `sparkContext`, no RDD.

In a process of its own: a session of Connect and a classic one cannot be in one.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import mortice
from support.cases import answer

pytestmark = [pytest.mark.spark4, pytest.mark.timeout(900)]
NAME = "h11_event_time_deletes"
PARTITIONED = "h11_composite_keys_encoded_partitions"
SCRIPT = pathlib.Path(__file__).with_name("connect_session.py")

for needed in ("grpc", "grpc_status", "google.protobuf", "zstandard"):
    pytest.importorskip(needed, reason="Spark Connect needs it: pip install 'pyspark[connect]'")


@pytest.fixture(scope="module")
def told(table_of, tmp_path_factory):
    # It is harmed at the end.
    folder = tmp_path_factory.mktemp("connect")
    table = shutil.copytree(table_of(NAME), folder / "table")
    places = [table, table_of(PARTITIONED), folder / "copy"]
    command = [sys.executable, "-W", "ignore", str(SCRIPT), *map(str, places)]
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=800, env={**os.environ, "PYTHONPATH": paths}
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    told = {step: value for line in lines for step, value in line.items()}
    assert done.returncode == 0, (list(told), done.stderr[-3000:])
    return told


def keys():
    return sorted(answer(NAME)["trip_id"].to_pylist())


def test_it_is_connect(told):
    assert told["session"].startswith("pyspark.sql.connect")


@pytest.mark.parametrize("door", ["source", "registered", "arrow", "to_spark"])
def test_the_rows_are_hudis(told, door):
    assert told[door] == keys()


def test_columns_filters_and_sql(told):
    expected = [
        {"fare": row["fare"], "trip_id": row["trip_id"]} for row in answer(NAME).to_pylist() if row["city"] == "oslo"
    ]
    assert sorted(told["options"], key=lambda row: row["trip_id"]) == sorted(expected, key=lambda row: row["trip_id"])
    assert told["sql"] == answer(NAME).num_rows


def test_splits_of_several_tasks(told):
    assert told["partitioned"] == answer(PARTITIONED).num_rows
    # Of thirty, those that have rows.
    assert told["tasks"] == 10
    assert told["empty"] == 0


def test_a_join_broadcasts_a_small_table_and_no_other(told):
    assert "BroadcastHashJoin" in told["small"]
    assert "SortMergeJoin" in told["large"]
    assert "BroadcastHashJoin" not in told["large"]


def test_options_in_the_session_count(told):
    assert told["configured"] == answer(NAME, "read_optimized").num_rows


def test_a_stream_gives_what_an_incremental_query_gives_and_once(told, table_of):
    expected = sorted(mortice.Table(table_of(NAME)).incremental("earliest").to_arrow()["trip_id"].to_pylist())
    assert told["stream"] == expected
    assert told["stream again"] == expected
    assert "MORTICE-INVALID-ARGUMENT" in told["wrong start"]


def test_errors_keep_their_code_and_their_place(told):
    assert "MORTICE-INVALID-ARGUMENT" in told["wrong option"]
    for door in ("source", "arrow"):
        said = told[f"error of the {door}"]
        assert "MORTICE-CORRUPT-LOG" in said
        assert told["log"] in said
        assert "offset" in said
