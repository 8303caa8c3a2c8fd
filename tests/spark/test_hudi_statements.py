"""Statements and calls that users of Hudi write have the columns and rows of Hudi 1.2, each after those before it.

Those that Hudi refuses, or answers otherwise, are named here with the reason.
"""

import json
import re

import pyspark
import pytest

import mortice
import mortice.spark
from support.cases import DATA
from support.hudi.statements import FRAME, SETTINGS, STEPS, filled, named, outcome

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore:there are no rows as of"),
    pytest.mark.skipif(not pyspark.__version__.startswith("3.5."), reason="Hudi's answers are those of Spark 3.5"),
]
ANSWERS = json.loads((DATA / "procedures" / "statements.json").read_text(encoding="utf-8"))
TIME = re.compile(r"\d{17}")
OF_CLOCKS = {"time_taken_in_millis"}
WITH_COMMENTS = {"trips"}
"""The comment of a column is a commit of `CREATE TABLE`."""
NOT_RUN = (
    "MERGE INTO trips t USING (SELECT 1 AS id",
    "MERGE INTO trips t USING (SELECT 4 AS key",
    "MERGE INTO trips t USING (SELECT id FROM fares",
)
"""Hudi refuses these, which would change the rows of what follows; test_merge_into has the like."""
REFUSED_BY_HUDI = (
    *NOT_RUN,
    "SELECT count(*) FROM trips VERSION AS OF",
    # Names and positions of columns: Hudi 1.2 fails for a column that rows do not have any more.
    "ALTER TABLE evolved RENAME COLUMN",
    "ALTER TABLE evolved DROP COLUMN",
    "ALTER TABLE evolved ADD COLUMN first_one",
    "SELECT id, title, fare",
    "INSERT INTO evolved VALUES (3",
)
REFUSED_HERE = {
    # Hudi writes a row without the value that orders it, and drops a change by a lesser one.
    "INSERT INTO trips (id, name, city)": "the ordering value is null",
    "MERGE INTO fares t USING (SELECT 2 AS id, 'late'": "less than the stored one",
    "ALTER TABLE trips SET TBLPROPERTIES": "comment is what a table is created with",
    "ALTER TABLE trips UNSET TBLPROPERTIES ('": "does not have the property",
    "ALTER TABLE evolved ALTER COLUMN id": "part of the record key",
    # A name of Spark 3.5 is a view.
    "ALTER TABLE copied RENAME TO": "only a table of the catalog",
    "SELECT count(*) FROM named": "TABLE_OR_VIEW_NOT_FOUND",
    "DROP TABLE named": "TABLE_OR_VIEW_NOT_FOUND",
}
OTHER_ROWS = {
    # A view has no partitions and comments; `evolved` has the columns that Hudi could not change.
    **dict.fromkeys(("DESCRIBE trips", "DESCRIBE copied", "DESCRIBE evolved")),
    # It is refused to set it together with a comment.
    "SHOW TBLPROPERTIES trips ('hoodie": None,
    # Bounds are completion times here, as those of incremental queries; Hudi takes requested times of changes alone.
    "SELECT op FROM hudi_table_changes('captured', 'cdc', '{captured:0}', '{captured:1}')": [["i"], ["i"]],
    # One change is refused here, and one file group was not begun.
    "SELECT action, state FROM hudi_query_timeline": [["commit", "COMPLETED"]] * 6,
    "CALL run_compaction(op => 'schedule'": [["a time", 5, "REQUESTED"]],
    "CALL show_compaction": [["a time", 5, "REQUESTED"]],
    "CALL run_compaction(op => 'run'": [["a time", 5, "COMPLETED"]],
    # The change log is a file as well.
    "CALL show_rollbacks": [["a time", "a time", 2, "a time", 1]],
    # Hudi has lost the metadata table when it truncated this one.
    "SHOW INDEXES": [["column_stats", "column_stats", ""], ["partition_stats", "partition_stats", ""]],
}
OF_HUDI_ALONE = (
    *([7, "g"], [5, "e2"]),
    *(["option.path", "file://{root}/trips"], ["path", "file://{root}/trips"], ["preCombineField", "ts"]),
)
"""How rows begin that only Hudi has: one that is refused here; one whose deletion Hudi overlooks (the first clause of a
MERGE whose condition is true is followed); the path, and a second name, among the properties of a table."""


def run(spark, step, root):
    """Runs a step with mortice, as `run_with_hudi` does with Hudi."""
    if isinstance(step, str):
        frame = mortice.spark.sql(spark, filled(step, root, WITH_COMMENTS))
        # Statements that change rows return what they did, where Hudi returns nothing.
        return frame if is_query(step) else None
    options = {name: filled(value, root, WITH_COMMENTS) for name, value in step["options"].items()}
    if "read" in step:
        rows = mortice.spark.read(spark, f"{root}/{step['read']}", options=options)
        return rows.selectExpr(*step["columns"].split(", "))
    rows = spark.createDataFrame(step["rows"], FRAME)
    mortice.spark.write(rows, f"{root}/{step['write']}", options=options)
    return None


def is_query(step):
    return step.split()[0] in {"SELECT", "WITH", "SHOW", "DESCRIBE", "CALL", "SET"}


@pytest.fixture(scope="module")
def found(spark, tmp_path_factory):
    """The outcome of each step; none for those that are not run."""
    root = tmp_path_factory.mktemp("statements")
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield [None if named(step).startswith(NOT_RUN) else outcome(run, spark, step, root) for step in STEPS]
    for name in SETTINGS:
        spark.conf.unset(name)
    spark.sql("DROP TABLE IF EXISTS copied_rows")
    for name in ("trips", "fares", "keyless", "captured", "copied", "evolved", "batch", "a_view"):
        spark.catalog.dropTempView(name)


def plain(answer):
    """Returns the columns and rows of an answer, in a form and an order that do not depend on the run."""
    names = [name for name, _ in answer.get("columns", [])]

    def value(name, value):
        if name in OF_CLOCKS:
            return "a time"
        return TIME.sub("a time", value) if isinstance(value, str) else value

    rows = json.loads(json.dumps(answer.get("rows", []), default=str))
    rows = [
        [value(name, one) for name, one in zip(names, row, strict=True)] for row in rows if row[:2] not in OF_HUDI_ALONE
    ]
    return answer.get("columns", []), sorted(rows, key=repr)


def test_the_record_is_of_these_steps():
    assert [answer["step"] for answer in ANSWERS] == json.loads(json.dumps(STEPS))


@pytest.mark.parametrize("number", range(len(STEPS)), ids=lambda number: named(STEPS[number])[:80])
def test_the_answer_is_that_of_hudi(found, number):
    answer, expected, step = found[number], ANSWERS[number], named(STEPS[number])
    if step.startswith(REFUSED_BY_HUDI):
        assert "error" in expected
        assert answer is None or "error" not in answer
        return
    refused = next((message for start, message in REFUSED_HERE.items() if step.startswith(start)), None)
    if refused is not None:
        assert refused in answer["error"]
        return
    assert ("error" in answer) == ("error" in expected), answer.get("error", expected.get("error"))
    (columns, rows), (columns_of_hudi, rows_of_hudi) = plain(answer), plain(expected)
    assert columns == columns_of_hudi
    start = next((start for start in OTHER_ROWS if step.startswith(start)), None)
    if start is None:
        assert rows == rows_of_hudi
    elif OTHER_ROWS[start] is not None:
        assert rows == OTHER_ROWS[start] != rows_of_hudi
