"""Keys that a table has several times, changed by statements and by tasks of Spark: each change reaches all rows."""

import shutil

import pyarrow as pa
import pytest

import mortice
import mortice.spark
from mortice.errors import InvalidArgumentError, MorticeError
from support.tables.repeated_keys import (
    AGAIN,
    COW,
    FIRST,
    MOR,
    OTHER,
    State,
    file_and_logs,
    file_groups,
    one_file,
    partitions,
    rows_of,
)

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
DDL = "id string, city string, note string, ts bigint"
# So few rows would be written by the driver.
RECORD_INDEX = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
TASKS = {"mortice.write.driver.bytes": "0"}
STATES = [
    State(one_file, COW),
    State(file_and_logs, MOR, version=6),
    State(file_groups, MOR),
    pytest.param(State(partitions, COW, index="GLOBAL_SIMPLE"), marks=pytest.mark.newest),
    pytest.param(State(one_file, MOR, index="BUCKET"), marks=pytest.mark.newest),
    State(file_groups, MOR, index="RECORD_INDEX", more=RECORD_INDEX),
    pytest.param(State(partitions, COW, index="RECORD_INDEX", more=RECORD_INDEX), marks=pytest.mark.newest),
]


@pytest.fixture(scope="module", params=STATES, ids=str)
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    request.param.build(folder / "built")
    return request.param, folder


@pytest.fixture
def state(built):
    """A copy of the table, and what is known of it."""
    state, folder = built
    copy = folder / f"copy_{len(list(folder.iterdir()))}"
    shutil.copytree(folder / "built", copy)
    return state, mortice.Table(str(copy))


def frame(spark, *rows):
    return spark.createDataFrame(rows, DDL)


def run(spark, state, text):
    """Runs a statement, with the index of the session."""
    settings = {name: value for name, value in state.options.items() if "index" in name and "metadata" not in name}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        return [tuple(row) for row in mortice.spark.sql(spark, text).collect()]
    finally:
        for name in settings:
            spark.conf.unset(name)


def by_statement(spark, state, uri):
    return run(spark, state, f"DELETE FROM mortice.`{uri}` WHERE id = 'k'")[0][2]


def by_merge_statement(spark, state, uri):
    source = "(SELECT * FROM VALUES ('k', 1), ('k', 2) AS v(id, n))"
    text = f"MERGE INTO mortice.`{uri}` t USING {source} s ON t.id = s.id WHEN MATCHED AND s.n > 0 THEN DELETE"
    return run(spark, state, text)[0][2]


def by_filter(spark, state, uri):
    return mortice.spark.delete_where(spark, uri, [("id", "=", "k")], state.options | TASKS).deletes


def by_merge_into(spark, state, uri):
    given = frame(spark, FIRST, AGAIN)
    arguments = {"on": "id", "when_matched_update": ["note"], "when_not_matched": "ignore"}
    options = state.options | TASKS
    return mortice.spark.merge_into(given, uri, when_matched_delete="ts > 0", options=options, **arguments).deletes


def by_merge(spark, state, uri):
    given = frame(spark, FIRST, AGAIN)
    return mortice.spark.merge(given, uri, "t.id = s.id", state.options | TASKS, when_matched_delete=True).deletes


@pytest.mark.parametrize("delete", [by_statement, by_merge_statement, by_filter, by_merge_into, by_merge])
def test_a_delete_reaches_all_rows_of_a_key(spark, state, delete):
    state, table = state
    assert delete(spark, state, table.uri) == 2
    other = OTHER if state.place is not file_and_logs else (*OTHER[:3], 11)
    assert rows_of(table) == [other]
    assert rows_of(table, record_positions=False) == [other]


def test_an_upsert_changes_all_rows_of_a_key(spark, state):
    state, table = state
    if state.index == "RECORD_INDEX":
        pytest.skip("rows of the user name what the index knows")
    new = ("k", "x", "new", 30)
    mortice.spark.write(frame(spark, new), table.uri, "upsert", options=state.options | TASKS)
    assert rows_of(table, "k") == ([new] if state.is_apart else [new, new])


@pytest.mark.parametrize("condition", ["id = 'k'", "note = 'again'"])
def test_an_update_that_would_copy_a_row_is_refused(spark, state, condition):
    state, table = state
    before = rows_of(table)
    if state.index == "RECORD_INDEX" and state.is_apart and "note" in condition:
        pytest.skip("the index has forgotten the row of the other partition")
    with pytest.raises(InvalidArgumentError, match='several rows of the key "k"'):
        run(spark, state, f"UPDATE mortice.`{table.uri}` SET note = concat(note, '!') WHERE {condition}")
    assert rows_of(table) == before


def test_an_erasure_leaves_no_row(spark, state):
    state, table = state
    done = mortice.spark.erase(spark, table.uri, [("id", "=", "k")], state.options | TASKS)
    assert done.rows == 2
    assert rows_of(table, "k") == []


SOURCE = "(SELECT * FROM VALUES ('a', {first}), ('a', {second}), ('n', 0), ('n', 0) AS v(id, n)) s"


@pytest.mark.parametrize("ordering", ["ts", pytest.param(None, marks=pytest.mark.newest)])
@pytest.mark.parametrize("kind", [COW, pytest.param(MOR, marks=pytest.mark.newest)])
def test_source_rows_of_one_key(spark, tmp_path, kind, ordering):
    """Several source rows may delete a row, and nothing else."""
    table = mortice.create_table(
        tmp_path / "t", record_key="id", ordering=ordering, table_type=kind, name="t",
        data=mortice_rows([("a", 1, 10), ("b", 1, 10)]),
    )  # fmt: skip

    def merge(first, second, clauses, *, where=""):
        source = SOURCE.format(first=first, second=second)
        text = f"MERGE INTO mortice.`{table.uri}` t USING {source} ON t.id = s.id {where} {clauses}"
        return mortice.spark.sql(spark, text).collect()[0]

    refused = [
        (1, 2, "WHEN MATCHED THEN UPDATE SET n = s.n"),
        (1, 1, "WHEN MATCHED THEN UPDATE SET n = s.n"),
        (1, 2, "WHEN MATCHED AND s.n = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET n = s.n"),
        (1, 2, "WHEN MATCHED AND s.n = 1 THEN DELETE"),
        (1, 2, "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, n, ts) VALUES (s.id, s.n, 1)"),
    ]
    for first, second, clauses in refused:
        with pytest.raises(MorticeError, match="several rows"):
            merge(first, second, clauses)
    assert {row["id"] for row in table.to_arrow().to_pylist()} == {"a", "b"}
    deletes = [
        (1, 2, "WHEN MATCHED THEN DELETE"),
        (1, 1, "WHEN MATCHED AND s.n = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET n = s.n"),
        (1, 2, "WHEN MATCHED AND s.n = 1 THEN DELETE WHEN MATCHED AND s.n = 2 THEN DELETE"),
    ]
    for first, second, clauses in deletes:
        assert merge(first, second, clauses)["num_deleted_rows"] == 1
        table.refresh()
        assert [row["id"] for row in table.to_arrow().to_pylist()] == ["b"]
        table.upsert(mortice_rows([("a", 1, 11)]))


def mortice_rows(rows):
    return pa.Table.from_pylist([dict(zip(("id", "n", "ts"), row, strict=True)) for row in rows])
