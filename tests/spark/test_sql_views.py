"""Views, paths and earlier states: one query sees one state of each table, the newest, wherever it is named."""

import shutil

import pyarrow as pa
import pytest

import mortice
import mortice.spark
from mortice.errors import TableNotFoundError

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")


def run(spark, text):
    return [tuple(row) for row in mortice.spark.sql(spark, text).collect()]


def test_a_view_whose_table_was_removed_is_in_nobodys_way(spark, tmp_path):
    rows = pa.table({"id": [1, 2], "name": ["a", "b"]})
    paths = {}
    for name in ("gone", "there"):
        paths[name] = mortice.create_table(tmp_path / name, data=rows, record_key="id").uri
    run(spark, f"CREATE TEMPORARY VIEW gone USING mortice OPTIONS (path '{paths['gone']}')")
    shutil.rmtree(tmp_path / "gone")
    try:
        source = "(SELECT 1 AS id) gone"
        run(spark, f"MERGE INTO mortice.`{paths['there']}` t USING {source} ON t.id = gone.id WHEN MATCHED THEN DELETE")
        assert run(spark, f"SELECT gone.name FROM mortice.`{paths['there']}` gone") == [("b",)]
        with pytest.raises(TableNotFoundError, match="gone"):
            run(spark, "SELECT * FROM gone")
    finally:
        spark.catalog.dropTempView("gone")


@pytest.fixture(scope="module")
def views(spark, tmp_path_factory):
    """Views of a table, and views of views, all made before the name of row 1 became `new`. Returns the path."""
    folder = tmp_path_factory.mktemp("views")
    rows = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    table = mortice.create_table(folder / "t", data=rows, record_key="id")
    path = f"mortice.`{table.uri}`"
    made = {
        "v": f"CREATE TEMPORARY VIEW v USING mortice OPTIONS (path '{table.uri}')",
        "w": "CREATE TEMP VIEW w AS SELECT id, name FROM v WHERE id < 3",
        "ww": "CREATE TEMP VIEW ww AS SELECT w.id, v.name FROM w JOIN v USING (id)",
        "p": f"CREATE OR REPLACE TEMP VIEW p AS SELECT * FROM {path}",
        "old": f"CREATE TEMP VIEW old AS SELECT * FROM {path} VERSION AS OF '{table.timeline.latest.requested_time}'",
    }
    for text in made.values():
        run(spark, text)
    run(spark, f"CACHE TABLE kept AS SELECT * FROM {path}")
    run(spark, "CREATE GLOBAL TEMPORARY VIEW g AS SELECT name, id FROM v")
    table.upsert(pa.table({"id": [1], "name": ["new"]}))
    yield path
    for name in made:
        run(spark, f"DROP VIEW {name}")
    spark.sql("UNCACHE TABLE kept")
    spark.catalog.dropTempView("kept")
    spark.catalog.dropGlobalTempView("g")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT name FROM v WHERE id = 1", "new"),
        ("SELECT v.name FROM v, w WHERE v.id = w.id AND v.name = w.name AND v.id = 1", "new"),
        ("SELECT name FROM (v) WHERE id = 1", "new"),
        ("SELECT name FROM (TABLE v) WHERE id = 1", "new"),
        ("SELECT b.name FROM (SELECT 1 AS x), v AS b WHERE b.id = 1", "new"),
        ("SELECT (SELECT name FROM v WHERE id = 1)", "new"),
        ("WITH w AS (SELECT * FROM v) SELECT name FROM w WHERE id = 1", "new"),
        ("WITH v AS (SELECT 'own' AS name) SELECT name FROM v", "own"),
        ("FROM v SELECT name WHERE id = 1", "new"),
        ("SELECT max(name) FROM w WHERE EXISTS (SELECT 1 FROM v WHERE name = 'new')", "new"),
        ("SELECT name FROM v TABLESAMPLE (100 PERCENT) WHERE id = 1", "new"),
        ("SELECT `1` FROM (SELECT id, name FROM v) PIVOT (max(name) FOR id IN (1, 2))", "new"),
        ("SELECT /*+ BROADCAST(v) */ name FROM w JOIN v USING (id, name) WHERE id = 1", "new"),
        ("SELECT name FROM ww WHERE id = 1", "new"),
        ("SELECT name FROM p WHERE id = 1", "new"),
        ("SELECT name FROM global_temp.g WHERE id = 1", "new"),
        ("SELECT concat(a.name, b.name) FROM v a, {p} b WHERE a.id = 1 AND b.id = 1", "newnew"),
        ("SELECT name FROM {p} TABLESAMPLE (100 PERCENT) x WHERE x.id = 1", "new"),
        ("SELECT name FROM old WHERE id = 1", "a"),
        ("SELECT name FROM kept WHERE id = 1", "a"),
        ("SELECT concat(v.name, o.name) FROM v TIMESTAMP AS OF '2099-01-01', old o WHERE v.id + o.id = 2", "newa"),
        ("SELECT v.name FROM v TIMESTAMP AS OF now() + INTERVAL 1 DAY TABLESAMPLE (9 ROWS) WHERE v.id = 1", "new"),
    ],
)
@pytest.mark.filterwarnings("ignore::mortice.TimeTravelWarning")
def test_a_query_sees_the_newest_state(spark, views, query, expected):
    assert run(spark, query.replace("{p}", views)) == [(expected,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, name FROM {p}",
        "SELECT id, name FROM v TIMESTAMP AS OF '2099-01-01'",
        "SELECT id, name FROM hudi_table_changes('v', 'latest_state', 'earliest')",
        "SELECT id, name FROM {p} WHERE _hoodie_commit_time > '0'",
        "WITH a AS (SELECT * FROM {p} VERSION AS OF '20990101000000000') SELECT id, name FROM a",
    ],
)
@pytest.mark.filterwarnings("ignore::mortice.TimeTravelWarning")
def test_tables_of_other_formats_are_filled_from_them(spark, views, tmp_path, query):
    query = query.replace("{p}", views)
    run(spark, f"CREATE TABLE other USING parquet LOCATION '{tmp_path}/other' AS {query}")
    try:
        text = query.replace(" SELECT id, name FROM a", " INSERT INTO other SELECT id, name FROM a")
        run(spark, text if query.startswith("WITH") else f"INSERT INTO other {query}")
        found = spark.sql("SELECT name, count(*) FROM other WHERE id = 1 GROUP BY name").collect()
        assert [tuple(row) for row in found] == [("new", 2)]
        if query.startswith("SELECT id, name FROM mortice") and query.endswith("`"):
            run(spark, f"FROM {views} INSERT OVERWRITE other SELECT id, name WHERE id = 2")
            assert [tuple(row) for row in spark.sql("SELECT * FROM other").collect()] == [(2, "b")]
    finally:
        spark.sql("DROP TABLE other")


def test_views_that_stay_have_no_paths(spark, views):
    with pytest.raises(mortice.InvalidArgumentError, match="create a TEMPORARY VIEW"):
        run(spark, f"CREATE VIEW stays AS SELECT * FROM {views}")


def test_a_view_that_others_have_replaced_is_theirs(spark, views):
    run(spark, f"CREATE TEMPORARY VIEW taken USING mortice OPTIONS (path '{views.split('`')[1]}')")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW taken AS SELECT 'theirs' AS name")
    assert run(spark, "SELECT name FROM taken") == [("theirs",)]
    spark.sql("DROP VIEW taken")
    with pytest.raises(Exception, match="cannot be found"):
        run(spark, "SELECT name FROM taken")
