"""Readers while Hudi itself writes on Spark: each result is the state at one commit, and no commit is lost.

`make test-beside-hudi` runs it, since it takes many minutes. pyspark 3.5 provides Java and Spark.
"""

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark")
if not pyspark.__version__.startswith("3.5."):
    pytest.skip("Hudi is run with pyspark 3.5", allow_module_level=True)

import mortice  # noqa: E402
from support.hudi import fetch_hudi  # noqa: E402

if not os.environ.get("BESIDE_HUDI"):
    pytest.skip("takes many minutes: make test-beside-hudi", allow_module_level=True)
if fetch_hudi.jar() is None:
    pytest.skip("no jar of Hudi: make hudi-jar fetches it with Maven", allow_module_level=True)

TESTS = Path(__file__).parent.parent
COMMITS = 6


def state(scan):
    rows = scan.to_arrow().select(["id", "value"]).to_pylist()
    values = {one["value"] for one in rows}
    assert len(values) == 1, f"of several commits: {sorted(values)}"
    (commit,) = values
    assert sorted(int(one["id"]) for one in rows) == list(range(commit))
    return commit


def read_state(path, use_metadata):
    """Returns the state of the table, or the error that names files which were cleaned during the read."""
    try:
        return state(mortice.Table(path, read_options=mortice.ReadOptions(use_metadata=use_metadata)).snapshot())
    except mortice.FileCleanedError as error:
        return error


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", ["6", "9"])
@pytest.mark.parametrize("use_metadata", [True, False], ids=["metadata", "listing"])
def test_readers_during_writes_of_hudi(tmp_path, version, use_metadata):
    path = tmp_path / "table"
    options = [f"hoodie.write.table.version={version}", "hoodie.metadata.enable=true"]
    command = [
        sys.executable,
        "-m",
        "support.hudi.hudi_writer",
        str(fetch_hudi.jar()),
        str(path),
        str(COMMITS),
        *options,
    ]
    paths = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    seen, errors, followed = [], [], []

    def follow():
        for instant, scan in mortice.Table(path).follow("earliest", 0.05):
            try:
                followed.append((instant, Counter(scan.to_arrow()["value"].to_pylist())))
            except mortice.FileCleanedError as error:
                followed.append((instant, error.path))
            if len(followed) == COMMITS:
                break

    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE) as writer:
        # Java writes to standard output, too.
        while writer.stdout.readline() != b"1\n":
            assert writer.poll() is None
        follower = threading.Thread(target=follow)
        follower.start()
        while writer.poll() is None:
            time.sleep(0.1)
            outcome = read_state(path, use_metadata)
            (errors if isinstance(outcome, mortice.FileCleanedError) else seen).append(outcome)
        assert writer.returncode == 0
    follower.join(60)
    assert not follower.is_alive()
    seen.append(state(mortice.Table(path, read_options=mortice.ReadOptions(use_metadata=use_metadata)).snapshot()))
    assert seen == sorted(seen)
    assert seen[-1] == COMMITS
    assert len(set(seen)) > COMMITS // 2
    assert len(errors) < len(seen)
    assert all(error.path and error.instant for error in errors)
    numbered = [(number, rows) for number, (_, rows) in enumerate(followed, start=1)]
    # Hudi compacts and archives at every other commit: files that were read at once existed.
    assert all(rows == Counter({number: number}) for number, rows in numbered if isinstance(rows, Counter)), numbered
    assert sum(isinstance(rows, Counter) for _, rows in numbered) > COMMITS // 2
    again = [instant for instant, _ in mortice.Table(path).follow("earliest", None)]
    assert again == [instant for instant, _ in followed]
