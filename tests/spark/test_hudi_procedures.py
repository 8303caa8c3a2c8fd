"""Procedures and table functions have the columns and rows of Hudi 1.2, on tables that Hudi has written."""

import json
import math
import os
import subprocess
import sys
import zipfile

import pyspark
import pytest

import mortice
import mortice.spark
from support.cases import DATA
from support.hudi import fetch_hudi
from support.hudi.procedure_calls import NAMES

FOLDER = DATA / "procedures"
ANSWERS = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
OF_FILES = {"requested_time", "inflight_time", "completed_time"}
"""Times of files, which a copy does not keep."""
JSON = {"header_metadata", "footer_metadata", "records"}
PATHS = {"deleted_file"}
"""Full paths in files of the timeline, which have the folder that the table was written to."""
FAILS_WITH_HUDI = {"hudi_filesystem_view('mor'"}
"""Hudi fails, where a slice has no base file; these have rows."""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("procedures")
    with zipfile.ZipFile(FOLDER / "tables.zip") as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def named(spark, root):
    """Views of the tables, by the names that the calls have."""
    return name_tables(spark, root)


def name_tables(spark, root):
    for name in NAMES:
        mortice.spark.sql(
            spark, f"CREATE OR REPLACE TEMPORARY VIEW {name} USING mortice OPTIONS (path '{root}/{name}')"
        )
    return root


def compared(columns, rows, root):
    """Returns rows in a form and an order that do not depend on the engine."""
    names = [name for name, _ in columns]

    def value(name, value):
        if isinstance(value, str):
            value = value.replace(str(root), "{root}")
        if name in OF_FILES and value is not None:
            return "a time"
        if name in PATHS:
            return value.rsplit("/", 1)[-1]
        if name in JSON and value:
            return json.dumps(json.loads(value), sort_keys=True)
        return round(value, 6) if isinstance(value, float) and math.isfinite(value) else value

    found = [[value(name, one) for name, one in zip(names, row, strict=True)] for row in rows]
    for row in found if "rollback_info" in names else []:
        if "ARCHIVED" in row:
            # Hudi does not read archived rollbacks.
            row[names.index("rollback_info")] = None
    return sorted(found, key=repr)


def check(spark, root, answer):
    text = answer["call"].replace("{root}", str(root))
    if any(call in text for call in FAILS_WITH_HUDI):
        assert "error" in answer
        assert mortice.spark.sql(spark, text).count() == 3
        return
    if "error" in answer:
        with pytest.raises(mortice.MorticeError):
            mortice.spark.sql(spark, text).collect()
        return
    frame = mortice.spark.sql(spark, text)
    columns = [[field.name, field.dataType.simpleString()] for field in frame.schema.fields]
    assert columns == answer["columns"]
    rows = [list(row) for row in frame.collect()]
    assert compared(columns, rows, root) == compared(columns, answer["rows"], "{root}")


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer["call"][:100])
def test_columns_and_rows_are_those_of_hudi(spark, named, answer):
    check(spark, named, answer)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not pyspark.__version__.startswith("3.5."), reason="Hudi is run with pyspark 3.5")
@pytest.mark.skipif(fetch_hudi.jar() is None, reason="no jar of Hudi: make hudi-jar fetches it with Maven")
def test_hudi_still_answers_so(spark, tmp_path):
    paths = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-m", "support.hudi.procedure_calls", str(fetch_hudi.jar()), str(tmp_path)]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=True)
    answers = json.loads((tmp_path / "answers.json").read_text(encoding="utf-8"))
    root = name_tables(spark, tmp_path / "tables")
    assert len(answers) == len(ANSWERS)
    for answer in answers:
        check(spark, root, answer)
