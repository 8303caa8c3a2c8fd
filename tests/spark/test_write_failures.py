"""Writes on Spark, services after them and clustering while attempts of tasks fail: no row is twice, no file is left.

It runs in a process of its own: sessions with other masters cannot be in one.
"""

import os
import pathlib

import pytest

from support.session_steps import steps_of

pytestmark = pytest.mark.timeout(400)
SCRIPT = pathlib.Path(__file__).with_name("write_session.py")
CLUSTER = "local-cluster[2,1,1024]"


@pytest.fixture(scope="module", params=["local[2,3]", pytest.param(CLUSTER, marks=pytest.mark.skipif(
    "BESIDE_HUDI" not in os.environ, reason="processes of a cluster take a minute: set BESIDE_HUDI"
))])  # fmt: skip
def steps(request, tmp_path_factory):
    return steps_of(SCRIPT, request.param, tmp_path_factory.mktemp("failures"), timeout=350)


def test_files_of_failed_attempts_are_deleted(steps):
    retried = steps["retried"]
    fares = {row[0]: row[2] for row in retried["rows"]}
    assert len(retried["rows"]) == len(fares) == 53
    assert all(fares[f"k{n:03}"] == n + 0.5 for n in range(0, 60, 3))
    assert retried["files"] == retried["committed"]
    assert retried["left"] == []


def test_a_write_that_fails_is_rolled_back(steps):
    assert "every attempt fails" in steps["failure"]
    assert steps["after failure"]["rows"] == steps["retried"]["rows"]
    assert steps["after failure"]["files"] == steps["retried"]["files"]
    assert steps["after failure"]["left"] == []


def test_clustering_that_fails_stays_pending_and_leaves_no_file(steps):
    before, after = steps["before clustering"], steps["after failed clustering"]
    assert "every attempt fails" in steps["failed clustering"]
    assert (after["rows"], after["files"], after["left"]) == (before["rows"], before["files"], [])
    assert after["pending"] == ["clustering REQUESTED"]


def test_files_of_failed_attempts_of_clustering_are_deleted(steps):
    before, clustered = steps["before clustering"], steps["clustered"]
    assert (clustered["rows"], clustered["left"], clustered["pending"]) == (before["rows"], [], [])
    assert len(clustered["committed"]) == 2
    assert sorted(set(clustered["files"]) - set(before["files"])) == clustered["committed"]


def test_compaction_after_a_write_that_fails_stays_pending_and_leaves_no_file(steps):
    failed, compacted = steps["after failed compaction"], steps["compacted"]
    for part in ("MORTICE-TABLE-SERVICE", "is part of the table", "every attempt fails"):
        assert part in steps["failed compaction"]
    assert (failed["pending"], failed["left"]) == (["compaction REQUESTED"], [])
    fares = {row[0]: row[2] for row in failed["rows"]}
    assert [fares["k000"], fares["k003"], len(fares)] == [0.5, 3.5, 53]
    assert (compacted["rows"], compacted["pending"], compacted["left"]) == (failed["rows"], [], [])
    bases = [{name for name in one["files"] if name.endswith(".parquet")} for one in (failed, compacted)]
    assert len(bases[1] - bases[0]) == 2, "those of the plan, and none of failed attempts"
