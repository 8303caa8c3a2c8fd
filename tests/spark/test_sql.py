"""`mortice.spark.sql`: the rows that SQL's rules say, in one commit, by catalog name, path and view."""

import time

import pyarrow as pa
import pytest

import mortice
import mortice.spark

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
SCHEMA = pa.schema(
    [("id", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("n", pa.int32()), ("ts", pa.int64())]
)
ROWS = [(f"k{at}", ("oslo", "rome")[at % 2], None if at == 3 else float(at), at, 10) for at in range(6)]


def arrow(rows):
    columns = list(zip(*rows, strict=True))
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA)


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "trips")
    table = mortice.create_table(
        path, SCHEMA, name="trips", record_key="id", partition_by="city", ordering="ts", table_type="MERGE_ON_READ"
    )
    table.upsert(arrow(ROWS))
    return path


def rows_of(path):
    found = mortice.Table(path).snapshot(columns=SCHEMA.names).to_arrow().to_pylist()
    return {row["id"]: tuple(row[name] for name in SCHEMA.names[1:]) for row in found}


def run(spark, text, **args):
    return [tuple(row) for row in mortice.spark.sql(spark, text, **args).collect()]


def test_rows_are_updated_deleted_inserted_and_read_as_of_an_instant(spark, path):
    trips, expected = f"mortice.`{path}`", {row[0]: row[1:] for row in ROWS}
    counts = run(spark, f"UPDATE {trips} AS t SET t.fare = fare * 2, n = n + 1L WHERE fare > :least", least=3.5)
    assert counts[0][:4] == (2, 2, 0, 0)
    for key in ("k4", "k5"):
        city, fare, n, ts = expected[key]
        expected[key] = (city, fare * 2, n + 1, ts)
    assert rows_of(path) == expected
    assert run(spark, f"DELETE FROM {trips} WHERE city = 'rome' AND fare IS NULL")[0][2] == 1
    before = mortice.Table(path).timeline.latest.requested_time
    del expected["k3"]
    run(spark, f"INSERT INTO {trips} (ts, id, city) SELECT 1, 'k9', upper('oslo')")
    assert rows_of(path) == expected | {"k9": ("OSLO", None, None, 1)}
    found = run(spark, f"SELECT id FROM {trips} VERSION AS OF '{before}' WHERE id > 'k4' -- it's")
    assert found == [("k5",)]
    joined = f"SELECT count(*) FROM {trips} a JOIN {trips} TIMESTAMP AS OF '{before}' b ON a.id = b.id"
    assert run(spark, joined) == [(5,)]
    run(spark, f"CREATE OR REPLACE TEMPORARY VIEW v USING mortice OPTIONS (path '{path}')")
    run(spark, "INSERT OVERWRITE v VALUES ('a', 'rome', 1.5, 7, 1)")
    # The view of Spark is frozen; a query of it by this function sees the newest commit.
    assert run(spark, "SELECT v.id FROM v WHERE v.n = 7") == [("a",)]
    assert rows_of(path) == {"a": ("rome", 1.5, 7, 1)}
    run(spark, "TRUNCATE TABLE v")
    assert rows_of(path) == {}
    assert run(spark, "SELECT 1 AS x") == [(1,)]


@pytest.mark.filterwarnings("ignore::mortice.TimeTravelWarning")
def test_an_instant_may_be_an_expression_or_a_time_since_1970(spark, tmp_path):
    """An expression is a moment: the zones of the session and of the timeline do not change it."""
    properties = {"hoodie.table.timeline.timezone": "UTC"}
    table = mortice.create_table(tmp_path / "t", data=pa.table({"id": ["a"]}), record_key="id", properties=properties)
    name, zone, now = f"mortice.`{table.uri}`", spark.conf.get("spark.sql.session.timeZone"), int(time.time())
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        for text, rows in [
            ("current_timestamp() + interval 1 hour", 1),
            ("current_timestamp() - interval 1 hour", 0),
            (str(now + 3600), 1),
            (f"'{now - 3600}'", 0),
            (f"'{now + 3600}000'", 1),
        ]:
            assert run(spark, f"SELECT count(*) FROM {name} TIMESTAMP AS OF {text}") == [(rows,)], text
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize("key", ["id", None], ids=["keys", "generated"])
def test_a_table_may_have_the_column_that_marks_deletes(spark, tmp_path, key):
    """`_hoodie_is_deleted` is a column like others to Spark, unlike Hudi's meta columns."""
    columns = {"id": ["a", "b", "c"], "n": [1, 2, 3], "_hoodie_is_deleted": [False] * 3}
    table = mortice.create_table(tmp_path / "t", data=pa.table(columns), record_key=key)
    name = f"mortice.`{table.uri}`"
    run(spark, f"UPDATE {name} SET n = 20 WHERE id = 'b'")
    run(spark, f"DELETE FROM {name} WHERE id = 'a'")
    run(spark, f"INSERT INTO {name} VALUES ('d', 4, false)")
    if key is not None:
        run(
            spark,
            f"MERGE INTO {name} t USING (SELECT 'c' AS id, 30 AS n) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET n = s.n",
        )
    found = mortice.Table(table.uri).to_arrow(["id", "n", "_hoodie_is_deleted"]).sort_by("id")
    assert found["id"].to_pylist() == ["b", "c", "d"]
    assert found["n"].to_pylist() == [20, 3 if key is None else 30, 4]
    described = [row[0] for row in run(spark, f"DESCRIBE {name}")]
    assert described == ["id", "n", "_hoodie_is_deleted"]
    run(spark, f"TRUNCATE TABLE {name}")
    assert mortice.Table(table.uri).count() == 0


def test_merge_follows_the_rules_of_sql(spark, path):
    """The clauses are tried in order; a condition that is null is not true; rows match by any condition."""
    source = [("k0", 5.0, 1), ("k1", None, 2), ("k2", -1.0, 3), ("k7", 7.0, None), ("k8", None, 8)]
    spark.createDataFrame(source, "key string, price double, `a b` int").createOrReplaceTempView("source")
    run(
        spark,
        f"""
        MERGE INTO mortice.`{path}` AS t
        USING (SELECT * FROM source WHERE key <> 'none') s  -- a subquery
        ON t.id = s.key AND t.ts = 10
        WHEN MATCHED AND s.price < 0 THEN DELETE
        WHEN MATCHED AND s.price > 3 THEN UPDATE SET fare = CASE WHEN price > 4 THEN price + t.fare ELSE 0 END
        WHEN MATCHED THEN UPDATE SET t.fare = s.price, n = s.`a b` * 10
        WHEN NOT MATCHED AND s.`a b` IS NOT NULL THEN INSERT (id, city, n, ts) VALUES (s.key, 'oslo', `a b`, 1)
        WHEN NOT MATCHED BY SOURCE AND t.fare > 4.5 THEN DELETE
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = -1
        """,
    )
    assert rows_of(path) == {
        "k0": ("oslo", 5.0, 0, 10),
        "k1": ("rome", None, 20, 10),
        "k3": ("rome", None, -1, 10),
        "k4": ("oslo", 4.0, -1, 10),
        "k8": ("oslo", None, 8, 1),
    }
    assert len(list(mortice.Table(path).timeline)) == 2


def test_merge_of_all_columns(spark, path):
    given = [("k1", "rome", 11.0, 1, 11), ("k9", "oslo", 9.0, 9, 9)]
    spark.createDataFrame(given, "ID string, city string, fare double, n int, ts bigint").createOrReplaceTempView("all")
    merge = f"MERGE INTO mortice.`{path}` t USING all ON t.id = all.id WHEN MATCHED THEN UPDATE SET * "
    run(spark, f"{merge} WHEN NOT MATCHED THEN INSERT *")
    assert rows_of(path) == {row[0]: row[1:] for row in [*ROWS, *given]}


def test_updates_and_merges_without_a_statement(spark, path):
    commit = mortice.spark.update_where(spark, path, {"fare": "fare * 2", "n": 7}, "city = 'oslo' AND fare > 3")
    assert (commit.updates, rows_of(path)["k4"]) == (1, ("oslo", 8.0, 7, 10))
    given = spark.createDataFrame(
        [("k0", "oslo", 0.5), ("k1", "rome", None), ("k9", "rome", 9.0)], "id string, city string, fare double"
    )
    merge = mortice.spark.merge(
        given,
        path,
        on=["id", "city"],
        when_matched_delete="s.fare IS NULL",
        when_matched_update={"fare": "t.fare + s.fare", "ts": 11},
        when_not_matched_insert={"id": "s.id", "city": "s.city", "n": -1, "ts": "1"},
    )
    assert (merge.updates, merge.deletes, merge.inserts) == (1, 1, 1)
    builder = mortice.spark.merge(given, path, on="id")
    builder.when_matched_update("all", "s.fare > 1").when_not_matched_by_source_delete("t.fare IS NULL").execute()
    found = rows_of(path)
    assert (found["k0"], found["k9"]) == (("oslo", 0.5, 0, 11), ("rome", 9.0, -1, 1))
    assert sorted(found) == ["k0", "k2", "k4", "k5", "k9"]
    with pytest.raises(mortice.InvalidArgumentError, match="no column 'fair'"):
        mortice.spark.update_where(spark, path, {"fair": 1}, "true")
    with pytest.raises(mortice.InvalidArgumentError, match="condition must be"):
        mortice.spark.update_where(spark, path, {"fare": 1}, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("UPDATE {t} SET fare = 1 WHERE\n", "an expression is expected here"),
        ("UPDATE {t} SET\n  fair = 1", r"no column 'fair'[^\[]*line 2, column 3"),
        ("UPDATE {t} SET n = 1, n = 2", r"assigned twice \(line 1, column \d+"),
        ("UPDATE {t} SET n = 3000000000", "column 'n' cannot hold"),
        ("UPDATE {t} SET n = 'x'", "column 'n' cannot hold a value of type string: x"),
        ("INSERT INTO {t} VALUES ('k', 'x', 1, '1', 1)", "'n' is int, and its new value is string"),
        ("UPDATE {t} SET city = 'x' WHERE id = 'k1'", "changes the record key or the partition"),
        ("UPDATE {t} SET ts = 1", "ordering value"),
        ("MERGE INTO {t} t USING many s ON t.city = s.city WHEN MATCHED THEN UPDATE SET n = 1", "several rows"),
        ("MERGE INTO {t} t USING many ON t.id = k WHEN NOT MATCHED THEN INSERT (id, city, ts) VALUES ('x', 'oslo', 11)",
         "is to be inserted; make the source distinct"),
        ("MERGE INTO {t} t USING one ON 1 = 2 WHEN NOT MATCHED THEN INSERT (id, city, ts) VALUES ('k2', 'oslo', 11)",
         "is in the table, in partition .oslo., though no stored row matches it"),
        ("MERGE INTO {t} t USING many ON t.id = many.k WHEN MATCHED THEN UPSERT", "UPDATE is expected here"),
        ("INSERT INTO {t} (id, city) VALUES ('k', 'x', 1)", "should have 2 columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_and_changes_nothing(spark, path, text, message):
    spark.createDataFrame([("a", "oslo"), ("b", "oslo")], "k string, city string").createOrReplaceTempView("many")
    spark.createDataFrame([("a", "oslo")], "k string, city string").createOrReplaceTempView("one")
    with pytest.raises(mortice.MorticeError, match=f"(?s){message}"):
        run(spark, text.format(t=f"mortice.`{path}`"))
    # A write that was begun and refused is rolled back.
    assert [instant.action for instant in mortice.Table(path).timeline if instant.action != "rollback"] == [
        "deltacommit"
    ]
    assert rows_of(path) == {row[0]: row[1:] for row in ROWS}


@pytest.mark.parametrize("driver_bytes", ["0", pytest.param("1000000", marks=pytest.mark.newest)])
def test_an_update_moves_rows_under_a_global_index_that_moves_them(spark, path, driver_bytes):
    options = {"hoodie.index.type": "GLOBAL_SIMPLE", "mortice.write.driver.bytes": driver_bytes}
    condition = "city = 'oslo' and n > 0"
    commit = mortice.spark.update_where(spark, path, {"city": "'lima'", "n": "n + 10"}, condition, options)
    assert commit.instant is not None
    expected = {row[0]: row[1:] for row in ROWS}
    for key in ("k2", "k4"):
        expected[key] = ("lima", expected[key][1], expected[key][2] + 10, 10)
    assert rows_of(path) == expected
    assert mortice.Table(path).count() == len(ROWS)
    stays = {**options, "hoodie.simple.index.update.partition.path": "false"}
    with pytest.raises(mortice.UnsupportedError, match="changes the record key or the partition"):
        mortice.spark.update_where(spark, path, {"city": "'oslo'"}, "city = 'lima'", stays)
    assert rows_of(path) == expected


def test_a_commit_of_another_writer_meanwhile_is_a_conflict(spark, path, monkeypatch):
    from mortice.spark.statements import row_changes

    write = row_changes.write_frame

    def late(*args, **named):
        mortice.Table(path).upsert(arrow([("k1", "rome", 99.0, 1, 12)]))
        return write(*args, **named)

    monkeypatch.setattr(row_changes, "write_frame", late)
    with pytest.raises(mortice.WriteConflictError):
        run(spark, f"UPDATE mortice.`{path}` SET fare = 0")
    assert rows_of(path)["k1"][1] == 99.0


def test_services_are_called_by_the_names_of_hudi(spark, path):
    mortice.Table(path).upsert(arrow([("k1", "rome", 2.0, 1, 12)]))
    run(spark, f"CALL run_compaction(op => 'run', path => '{path}')")
    assert run(spark, f"CALL run_compaction(path => '{path}')") == []
    assert mortice.Table(path).timeline.latest.action in ("commit", "compaction")
    first = mortice.Table(path).timeline[0].requested_time
    run(spark, f"CALL create_savepoint(path => '{path}', commit_time => '{first}')")
    assert run(spark, f"CALL show_timeline(path => '{path}', limit => 2)")
    with pytest.raises(mortice.InvalidArgumentError, match="the procedures are archive_commits"):
        run(spark, f"CALL run_compactoin(path => '{path}')")


@pytest.mark.spark4
def test_tables_of_the_catalog(spark, path):
    spark.sql(f"CREATE TABLE catalog_trips USING mortice LOCATION '{path}'")
    spark.sql("CREATE OR REPLACE VIEW some_trips AS SELECT * FROM catalog_trips WHERE fare > 3")
    try:
        run(spark, "UPDATE catalog_trips SET n = 0 WHERE id IN (SELECT id FROM catalog_trips WHERE city = 'rome')")
        assert [row[2] for row in rows_of(path).values()].count(0) == 4
        run(spark, "INSERT INTO catalog_trips SELECT 'z' AS id, city, fare, n, ts FROM catalog_trips WHERE id = 'k4'")
        assert run(spark, "SELECT count(*) FROM catalog_trips") == [(7,)]
        # A view with a condition is not its table.
        with pytest.raises(Exception, match=r"(?i)relation|view|delete"):
            run(spark, "DELETE FROM some_trips")
        assert len(rows_of(path)) == 7
    finally:
        spark.sql("DROP VIEW some_trips")
        spark.sql("DROP TABLE catalog_trips")


@pytest.mark.filterwarnings("ignore:Spark .* has no Python data sources:RuntimeWarning")
def test_table_functions(spark, path):
    mortice.Table(path).upsert(arrow([("k1", "rome", 2.0, 1, 12)]))
    mortice.spark.register(spark)
    first = mortice.Table(path).timeline[0]
    changes = f"SELECT record_key, get_json_object(after, '$.fare') FROM mortice_changes('{path}', '{{}}')"
    assert run(spark, changes.format(first.completion_time)) == [("k1", "2.0")]
    assert run(spark, f"SELECT count(*) FROM mortice_timeline('{path}') WHERE state = 'COMPLETED'") == [(2,)]
    by_hudi = f"SELECT c.id, fare FROM hudi_table_changes('{path}', 'latest_state', '{{}}') c WHERE fare > 0"
    assert run(spark, by_hudi.format(first.completion_time)) == [("k1", 2.0)]
    with pytest.raises(mortice.InvalidArgumentError, match="latest_state or cdc"):
        run(spark, f"SELECT * FROM hudi_table_changes('{path}', 'latest')")
    kinds = run(spark, f"SELECT kind, count(*) FROM mortice_files('{path}') GROUP BY kind ORDER BY kind")
    assert kinds == [("base", 2), ("log", 1)]
    versions = f"SELECT state, get_json_object(row, '$.fare') FROM mortice_history('{path}', 'k1')"
    assert run(spark, versions) == [("loses", "1.0"), ("wins", "2.0")]
