"""What the clauses of a statement can name: columns that are keywords, the source alone, WITH, DEFAULT, long names."""

import pyarrow as pa
import pytest

import mortice
import mortice.spark

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
WORDS = ["end", "when", "case", "set", "on", "values"]


def run(spark, text):
    return [tuple(row) for row in mortice.spark.sql(spark, text).collect()]


@pytest.fixture
def trips(tmp_path):
    """A table by its path, with the rows 1 to 4."""
    rows = {"id": [1, 2, 3, 4], "name": ["a", "b", "c", None], "n": [1, 2, 3, 4], "ts": [10] * 4}
    mortice.create_table(tmp_path / "t", data=pa.table(rows), record_key="id", ordering="ts")
    return f"mortice.`{tmp_path}/t`"


def names(trips):
    found = mortice.Table(trips.split("`")[1]).to_arrow(["id", "name"]).sort_by("id")
    return dict(zip(found["id"].to_pylist(), found["name"].to_pylist(), strict=True))


def test_columns_have_names_that_are_keywords(spark, tmp_path):
    data = pa.table({"id": [1, 2, 3], **{word: [1, 2, 3] for word in WORDS}})
    mortice.create_table(tmp_path / "t", data=data, record_key="id")
    table = f"mortice.`{tmp_path}/t`"
    sets = ", ".join(f"t.{word} = t.{word} + CASE WHEN {word} = 1 THEN {word} ELSE 0 END" for word in WORDS)
    run(spark, f"UPDATE {table} AS t SET {sets} WHERE end = 1 AND when < 2 AND t.case = 1")
    given = ", ".join(f"50 AS {word}" for word in WORDS)
    run(
        spark,
        f"MERGE INTO {table} t USING (SELECT 2 AS id, {given}) s ON t.id = s.id AND s.on > t.on "
        f"WHEN MATCHED AND s.end > t.end AND t.when = 2 THEN UPDATE SET {', '.join(f't.{w} = s.{w}' for w in WORDS)}",
    )
    run(spark, f"INSERT INTO {table} (id, end, when) SELECT 4, end, when FROM {table} WHERE end = 50")
    run(spark, f"DELETE FROM {table} WHERE end > 2 AND end < 4")
    found = mortice.Table(tmp_path / "t").to_arrow(["id", *WORDS]).sort_by("id").to_pylist()
    assert [list(row.values()) for row in found] == [[1] + [2] * 6, [2] + [50] * 6, [4, 50, 50, *[None] * 4]]


SOURCE = "(SELECT 1 AS id, 'n1' AS name, 9 AS n, 20L AS ts UNION ALL SELECT 7, 'n7', 7, 20L) s ON t.id = s.id"


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("WHEN NOT MATCHED THEN INSERT (id, name, n, ts) VALUES (id, concat(name, '!'), n, ts)", {7: "n7!"}),
        ("WHEN NOT MATCHED AND n > 8 THEN INSERT *", {}),
        # Spark 3.5 takes subqueries that refer to outer columns in WHERE and HAVING only.
        pytest.param(
            "WHEN NOT MATCHED AND n < 8 AND name IN (SELECT concat('n', n)) THEN INSERT *",
            {7: "n7"},
            marks=pytest.mark.spark4,
        ),
        ("WHEN NOT MATCHED THEN INSERT (id, name, ts) VALUES (s.id, DEFAULT, s.ts)", {7: None}),
        ("WHEN NOT MATCHED BY SOURCE AND n > 3 THEN UPDATE SET name = concat('kept', n)", {4: "kept4"}),
        (
            "WHEN NOT MATCHED BY SOURCE AND id = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET name = DEFAULT",
            {1: None, 2: ...},
        ),
        (
            """WHEN MATCHED AND s.n > t.n THEN UPDATE SET name = concat(s.name, t.name)
            WHEN NOT MATCHED AND n = 7 THEN INSERT (id, ts, name) VALUES (id, ts, 'new')
            WHEN NOT MATCHED BY SOURCE AND name IS NULL THEN UPDATE SET name = 'null'""",
            {1: "n1a", 4: "null", 7: "new"},
        ),
    ],
)
def test_each_clause_of_a_merge_sees_its_own_columns(spark, trips, clauses, expected):
    run(spark, f"MERGE INTO {trips} t USING {SOURCE} {clauses}")
    rows = {1: "a", 2: "b", 3: "c", 4: None} | expected
    assert names(trips) == {key: name for key, name in rows.items() if name is not ...}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            """MERGE INTO {t} t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name
            WHEN NOT MATCHED THEN INSERT (id, name, ts) VALUES (id, name, 1)""",
            {2: "two", 9: "nine"},
        ),
        ("UPDATE {t} SET name = (SELECT max(name) FROM s) WHERE id IN (SELECT id FROM r)", {2: "two"}),
        ("DELETE FROM {t} AS t WHERE EXISTS (SELECT 1 FROM r WHERE r.id = t.id)", {2: ...}),
        ("DELETE FROM {t} WHERE id IN (WITH s AS (SELECT 3 AS id) SELECT id FROM s)", {3: ...}),
        ("INSERT INTO {t} SELECT id, name, 1, 1 FROM s x WHERE x.id = 9", {9: "nine"}),
        ("INSERT INTO {t} (id, name, ts) SELECT s.id + 1, 'ten', 1 FROM s, r WHERE s.id > r.id", {10: "ten"}),
        ("INSERT INTO {t} (id, name, n, ts) TABLE q", {5: "five"}),
        ("FROM s INSERT INTO {t} (id, name, ts) SELECT id, name, 1 WHERE id = 9", {9: "nine"}),
        (
            "FROM {t} x, r INSERT INTO {t} (id, name, ts) SELECT x.id + 20, string(r.id), 1 WHERE x.id = 1",
            {21: "2"},
        ),
    ],
)
def test_names_of_a_with_clause_are_known_in_every_statement(spark, trips, text, expected):
    clause = "WITH s AS (SELECT 2 AS id, 'two' AS name UNION ALL SELECT 9, 'nine'), r(id) AS (SELECT min(id) FROM s)"
    clause += ", q AS (SELECT 5, 'five', 5, 5)"
    run(spark, f"{clause} {text.replace('{t}', trips)}")
    rows = {1: "a", 2: "b", 3: "c", 4: None} | expected
    assert names(trips) == {key: name for key, name in rows.items() if name is not ...}
    assert not [view for view in spark.catalog.listTables() if view.name.startswith("_mortice_")]


@pytest.mark.parametrize(
    "source",
    ["{t}", "(SELECT * FROM {t})", "v", pytest.param("scoped", marks=pytest.mark.spark4)],
)
def test_several_inserts_see_the_rows_before_the_first(spark, trips, tmp_path, source):
    path, other = trips.split("`")[1], mortice.create_table(tmp_path / "o", "id int, name string", record_key="id")
    mortice.spark.sql(spark, f"CREATE TEMPORARY VIEW v USING mortice OPTIONS (path '{path}')")
    if source == "scoped":
        mortice.spark.sql(spark, f"CREATE TABLE scoped USING mortice LOCATION '{path}'")
    try:
        done = mortice.spark.sql(
            spark,
            f"""WITH few AS (SELECT 2 AS most) FROM {source.replace("{t}", trips)} x, few
            INSERT INTO {trips} (id, name, ts) SELECT x.id + 10, x.name, 1 WHERE x.id <= few.most
            INSERT INTO mortice.`{other.uri}` SELECT id, concat(name, :mark)
            INSERT OVERWRITE mortice.`{other.uri}` SELECT id + 100, name WHERE id > most AND name IS NOT NULL""",
            mark="!",
        ).collect()
    finally:
        spark.catalog.dropTempView("v")
        if source == "scoped":
            mortice.spark.sql(spark, "DROP TABLE scoped")
    assert [row["num_affected_rows"] for row in done] == [2, 4, 1]
    assert names(trips) == {1: "a", 2: "b", 3: "c", 4: None, 11: "a", 12: "b"}
    other.refresh()
    assert other.to_arrow(["id", "name"]).to_pylist() == [{"id": 103, "name": "c"}]
    before = other.to_arrow(["name"], as_of=done[1]["instant"])
    assert set(before["name"].to_pylist()) == {"a!", "b!", "c!", None}


def test_binary_and_raw_literals_of_a_source(spark, trips):
    source = "SELECT 1 AS id, X'' AS e, X'0A' AS x, 1e3D AS d, 5BD AS b, r'(\\' AS r /* /* ( */ */"
    run(
        spark,
        f"MERGE INTO {trips} t USING ({source}) s ON t.id = s.id "
        "WHEN MATCHED AND s.e = X'' AND s.r = r'(\\' THEN UPDATE SET name = concat(hex(s.x), s.r, \")\")",
    )
    assert names(trips)[1] == "0A(\\)"


@pytest.mark.spark4
def test_columns_are_qualified_by_the_database(spark, trips):
    mortice.spark.sql(spark, f"CREATE TABLE scoped USING mortice LOCATION '{trips.split('`')[1]}'")
    try:
        run(spark, "UPDATE default.scoped SET default.scoped.name = 'x' WHERE spark_catalog.default.scoped.id = 1")
        source = "(SELECT 2 AS id) s ON default.scoped.id = s.id"
        run(spark, f"MERGE INTO scoped USING {source} WHEN MATCHED THEN UPDATE SET scoped.name = 'y'")
        run(
            spark,
            "DELETE FROM scoped WHERE default.scoped.id IN (SELECT default.scoped.n FROM default.scoped WHERE n = 3)",
        )
        assert names(trips) == {1: "x", 2: "y", 4: None}
    finally:
        mortice.spark.sql(spark, "DROP TABLE scoped")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("UPDATE {t} SET name = nme\nWHERE id = 1", r"`nme` cannot be.*line 1, column {at}"),
        ("UPDATE {t} SET name = 'x'\nWHERE id = 1 AND nope = 1", r"`nope`.*line 2, column 18"),
        ("DELETE FROM {t}\nWHERE id = = 1", r"line 2, column 12"),
        ("MERGE INTO {t} t USING (SELECT 1 AS x) s\nON t.id = s.id WHEN MATCHED THEN DELETE", "line 2, column 11"),
        (
            "MERGE INTO {t} t USING (SELECT 1 x) s ON 1 = 2\nWHEN NOT MATCHED AND t.n > 1 THEN INSERT (id) VALUES (1)",
            "line 2, column 22",
        ),
        ("MERGE INTO {t} t USING\n(SELECT nope) s ON t.id = s.id WHEN MATCHED THEN DELETE", "line 2, column 9"),
        (
            "MERGE INTO {t} t USING (SELECT 1 AS id) s ON t.id = s.id\nWHEN NOT MATCHED THEN INSERT *",
            "no column 'name'.*line 2, column 30",
        ),
        ("INSERT INTO {t} SELECT 1,\n nope, 1, 1", r"`nope`.*line 2, column 2"),
        ("WITH s AS (\nSELECT nope) DELETE FROM {t} WHERE id IN (SELECT id FROM s)", r"`nope`.*line 2, column 8"),
        ("SELECT nope FROM {t}", r"`nope`.*line 1, column 8"),
        ("UPDATE {t} SET name.a = 5", "fields of structs are not assigned"),
        ("FROM {t} INSERT INTO {t} SELECT *\nINSERT INTO parquet.`/x` SELECT *", r"several INSERT.*line 2, column 13"),
        (
            "FROM {t} INSERT INTO {t} SELECT 5, name, 1, 1\nINSERT INTO {t} SELECT id,\n nope, 1, 1",
            r"`nope`.*line 3, column 2",
        ),
        ("ALTER TABLE {t} DROP PARTITION (id)", "each column needs a value"),
        ("TRUNCATE TABLE {t} PARTITION (id = 1)", "not a partition column"),
    ],
)
def test_errors_show_the_place_and_no_names_of_mortice(spark, trips, text, message):
    at = len(f"UPDATE {trips} SET name = ") + 1
    with pytest.raises(mortice.InvalidArgumentError, match=f"(?s){message.replace('{at}', str(at))}") as found:
        run(spark, text.replace("{t}", trips))
    assert "_mortice_" not in str(found.value)
    assert names(trips) == {1: "a", 2: "b", 3: "c", 4: None}
