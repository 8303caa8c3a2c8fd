"""Writes and services on a cluster of two executors, each a process of its own (`local-cluster[2,1,2048]`).

Rows do not go through the driver, and an executor that dies costs its tasks only. It runs in a process of its own:
sessions with other masters cannot be in one.
"""

import os
import pathlib

import pytest

from support.session_steps import steps_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SCRIPT = pathlib.Path(__file__).with_name("cluster_session.py")
ROWS = int(os.environ.get("MORTICE_CLUSTER_ROWS", "10000"))
STEPS = ["load", "upsert", "merge", "compact", "cluster"]


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    return steps_of(SCRIPT, ROWS, tmp_path_factory.mktemp("cluster"), timeout=850)


def total(rows):
    """What `cluster_session.trips` makes of the loads, updates and merges of so many rows."""
    updated, merged = rows // 4, range(rows - rows // 8, rows + rows // 8)
    ts = rows + updated + sum(3 - (1 if key < rows else 0) for key in merged)
    keys = rows + rows // 8
    return {"rows": keys, "ids": keys, "ts": ts, "fare": float(sum(range(keys)) + ts)}


@pytest.mark.parametrize("table", ["few", "many", "killed"])
def test_rows_are_those_of_all_writes_and_no_file_is_left(steps, table):
    assert steps["died"]
    assert steps[table]["total"] == total(8 * ROWS if table == "many" else ROWS)
    assert steps[table]["left"] == []


@pytest.mark.parametrize("step", STEPS)
def test_what_comes_to_the_driver_does_not_grow_with_the_rows(steps, step):
    few, many = (steps[table]["driver"][step] for table in ("few", "many"))
    assert few > 0
    assert many < 1.1 * few + 1000
