"""The recipe that is a task of Airflow, run by Airflow itself: `make test-airflow`."""

import os
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice

pytest.importorskip("airflow", reason="needs Airflow: make test-airflow")

pytestmark = pytest.mark.timeout(600)
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "recipes.md"
DAY = "2026-01-01"


@pytest.fixture
def airflow(tmp_path):
    """Runs commands of Airflow, whose one DAG is the block of the page on tables of this test."""
    blocks = [part.split("```")[0] for part in PAGE.read_text(encoding="utf-8").split("```py\n")[1:]]
    (code,) = [text for text in blocks if "airflow" in text]
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "trips.py").write_text(code.replace("s3://", f"{tmp_path}/"))
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }

    def run(*arguments):
        command = [sys.executable, "-m", "airflow", *arguments]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout + done.stderr

    run("db", "migrate")
    return run


def test_the_task_loads_a_day_and_may_be_repeated(tmp_path, airflow):
    rows = pa.table({"id": ["a", "b"], "fare": [1.5, 2.5], "ts": [1, 1]})
    landing = tmp_path / "landing" / "trips" / f"day={DAY}"
    landing.mkdir(parents=True)
    pq.write_table(rows, landing / "part-0.parquet")
    table = mortice.create_table(tmp_path / "lake" / "trips", rows.schema, record_key="id", ordering="ts")
    airflow("dags", "test", "trips", DAY)
    table.refresh()
    assert table.to_arrow().sort_by("id").to_pylist() == rows.to_pylist()
    airflow("dags", "test", "trips", DAY)
    table.refresh()
    assert table.to_arrow().sort_by("id").to_pylist() == rows.to_pylist()
    assert len(table.timeline.completed) == 2
