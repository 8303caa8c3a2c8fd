"""Statements and calls that users of Hudi write, in order: each engine runs all of them from an empty folder.

    python -m support.hudi.statements <jar> <folder>

needs pyspark 3.5. It writes Hudi's answers to `<folder>/statements.json`: a list of steps, each with its columns (names
and types) and rows, or an error. A step is a statement, or a read or write of a DataFrame. In a step `{root}` is the
folder of the tables, and `{trips:0}` the requested time of the first commit of the table `trips`.
"""

import json
import re
import sys
from pathlib import Path

SETTINGS = {
    "hoodie.archive.automatic": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.parquet.small.file.limit": "0",
}
KEYED = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.hive_style_partitioning": "true",
}
FRAME = "id int, name string, fare double, ts bigint, city string"


def read(table, columns="*", **options):
    """A read of a DataFrame, by Hudi's options."""
    return {
        "read": table,
        "columns": columns,
        "options": {name.replace("__", "."): one for name, one in options.items()},
    }


def write(table, operation, rows, **options):
    """A write of a DataFrame with the columns of `FRAME`."""
    settings = {**SETTINGS, **KEYED, "hoodie.table.name": table, "hoodie.datasource.write.operation": operation}
    return {
        "write": table,
        "rows": rows,
        "options": {**settings, **{name.replace("__", "."): one for name, one in options.items()}},
    }


ROWS = "SELECT id, name, fare, ts, city FROM trips ORDER BY id"
FARES = "SELECT id, name, fare, ts FROM fares ORDER BY id"
CREATION = [
    (
        "CREATE TABLE trips (id int, name string COMMENT 'of the rider', fare double, ts long, city string) USING hudi "
        "TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts') PARTITIONED BY (city) "
        "LOCATION '{root}/trips'"
    ),
    "CREATE TABLE IF NOT EXISTS trips (id int) USING hudi LOCATION '{root}/trips'",
    (
        "CREATE TABLE fares (id int, name string, fare decimal(10,2), ts timestamp) USING hudi "
        "OPTIONS (primaryKey = 'id', preCombineField = 'ts') LOCATION '{root}/fares'"
    ),
    "CREATE TABLE keyless (name string, n int) USING hudi LOCATION '{root}/keyless'",
    "DESCRIBE trips",
    "DESCRIBE TABLE trips fare",
    "SHOW COLUMNS IN trips",
    "SHOW PARTITIONS trips",
    "SHOW TBLPROPERTIES trips",
    "SHOW TBLPROPERTIES trips ('primaryKey')",
    "SELECT count(*) FROM trips",
]
INSERTS = [
    "INSERT INTO trips VALUES (1, 'a', 1.5, 1000, 'oslo'), (2, 'b', 2.5, 1000, 'rome'), (3, 'c', 3.5, 1000, 'oslo')",
    ROWS,
    "INSERT INTO trips PARTITION (city = 'lima') SELECT 4, 'd', 4.5, 1000",
    "INSERT INTO trips PARTITION (city) SELECT 5, 'e', 5.5, 1000, 'lima'",
    "INSERT INTO trips (ts, id, fare, name, city) VALUES (1000, 6, 6.5, 'f', 'rome')",
    "INSERT INTO trips (id, name, city) VALUES (7, 'g', 'rome')",
    "INSERT INTO trips VALUES (8, 'h', 8.5, 1000)",
    ROWS,
    "SHOW PARTITIONS trips",
    "SHOW PARTITIONS trips PARTITION (city = 'oslo')",
    "INSERT INTO fares SELECT 1, 'a', 1.25, timestamp '2026-01-01 00:00:00'",
    (
        "INSERT INTO fares VALUES (2, 'b', 2.5, timestamp '2026-01-01 00:00:00'), "
        "(3, 'c', cast(null as decimal(10,2)), timestamp '2026-01-02 00:00:00')"
    ),
    FARES,
    "INSERT INTO keyless VALUES ('a', 1), ('a', 1), ('b', 2)",
    "SELECT name, n FROM keyless ORDER BY name, n",
    "UPDATE keyless SET n = n + 1 WHERE name = 'b'",
    "DELETE FROM keyless WHERE name = 'a'",
    "SELECT name, n FROM keyless",
]
CHANGES = [
    "UPDATE trips SET fare = fare * 2, ts = ts + 1 WHERE id = 1",
    "UPDATE trips SET name = concat(name, '!'), ts = ts + 1 WHERE city = 'rome' AND fare IS NOT NULL",
    "UPDATE trips SET fare = '7.25', ts = 1001 WHERE id = 3",
    ROWS,
    "UPDATE trips SET id = 9 WHERE id = 1",
    "UPDATE trips SET nothing = 1",
    "DELETE FROM trips WHERE id = 2",
    "DELETE FROM trips WHERE id IN (SELECT id FROM fares WHERE fare > 100)",
    "DELETE FROM trips AS t WHERE t.city = 'rome' AND t.id > 6",
    ROWS,
    (
        "CREATE OR REPLACE TEMPORARY VIEW batch AS SELECT * FROM VALUES (1, 'a2', 11.0D, 2000L, 'oslo', 'u'), "
        "(5, 'e2', 15.0D, 2000L, 'lima', 'd'), (10, 'j', 20.0D, 2000L, 'rome', 'u') AS (id, name, fare, ts, city, op)"
    ),
    (
        "MERGE INTO trips AS t USING batch AS s ON t.id = s.id WHEN MATCHED AND s.op = 'd' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET name = s.name, fare = s.fare, ts = s.ts "
        "WHEN NOT MATCHED THEN INSERT (id, name, fare, ts, city) VALUES (s.id, s.name, s.fare, s.ts, s.city)"
    ),
    ROWS,
    (
        "MERGE INTO trips t USING (SELECT 1 AS id, 3000L AS ts, 'oslo' AS city) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET fare = t.fare + 1, ts = s.ts"
    ),
    (
        "MERGE INTO trips t USING (SELECT 4 AS key, 'd4' AS title, 3000L AS at) s ON t.id = s.key "
        "WHEN MATCHED THEN UPDATE SET name = s.title, ts = s.at"
    ),
    (
        "MERGE INTO trips t USING (SELECT 11 AS id, 'k' AS name, 2.0D AS fare, 3000L AS ts, 'oslo' AS city) s "
        "ON t.id = s.id AND t.city = s.city WHEN NOT MATCHED AND s.fare > 1 THEN INSERT *"
    ),
    (
        "MERGE INTO trips t USING (SELECT 12 AS id, 'l' AS name, 0.5D AS fare, 3000L AS ts, 'oslo' AS city) s "
        "ON t.id = s.id WHEN NOT MATCHED AND s.fare > 1 THEN INSERT *"
    ),
    "MERGE INTO trips t USING batch s ON t.name = s.name WHEN MATCHED THEN DELETE",
    "MERGE INTO trips t USING (SELECT id FROM fares WHERE id = 3) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ROWS,
    (
        "MERGE INTO fares t USING (SELECT 2 AS id, 'b2' AS name, 9.99 AS fare, timestamp '2026-02-01 00:00:00' AS ts "
        "UNION ALL SELECT 4, 'd', 4, timestamp '2026-02-01 00:00:00') s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ),
    (
        "MERGE INTO fares t USING (SELECT 2 AS id, 'late' AS name, 0.5 AS fare, timestamp '2020-01-01 00:00:00' "
        "AS ts) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    ),
    (
        "MERGE INTO fares t USING (SELECT 1 AS id, timestamp '2026-03-01 00:00:00' AS ts) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET fare = t.fare + 1, ts = s.ts"
    ),
    (
        "MERGE INTO fares AS target USING (SELECT 3 AS id, 'c3' AS title, timestamp '2026-03-01 00:00:00' AS "
        "at) AS source "
        "ON source.id = target.id WHEN MATCHED THEN UPDATE SET target.name = source.title, target.ts = source.at"
    ),
    (
        "MERGE INTO fares t USING (SELECT 4 AS id, timestamp '2026-03-01 00:00:00' AS ts, true AS gone) s ON "
        "t.id = s.id "
        "WHEN MATCHED AND s.gone THEN DELETE WHEN MATCHED AND NOT s.gone THEN UPDATE SET ts = s.ts"
    ),
    FARES,
]
QUERIES = [
    "SELECT id, name, fare FROM trips TIMESTAMP AS OF '{trips:0}' ORDER BY id",
    "SELECT count(*) FROM trips VERSION AS OF '{trips:1}'",
    "SELECT count(*) FROM trips TIMESTAMP AS OF '2001-01-01'",
    "SELECT city, count(*) AS n, sum(fare) AS total FROM trips GROUP BY city HAVING count(*) > 0 ORDER BY city",
    "SELECT _hoodie_record_key, _hoodie_partition_path FROM trips ORDER BY id",
    "SELECT t.id, f.name FROM trips t JOIN fares f ON t.id = f.id ORDER BY t.id",
    (
        "WITH best AS (SELECT city, max(fare) AS fare FROM trips GROUP BY city) SELECT t.id FROM trips t JOIN best b "
        "ON t.city = b.city AND t.fare = b.fare ORDER BY t.id"
    ),
    "SELECT id, rank() OVER (PARTITION BY city ORDER BY fare DESC) AS place FROM trips ORDER BY id",
    "SELECT DISTINCT city FROM trips WHERE fare BETWEEN 1 AND 100 AND name LIKE '%a%'",
    "SELECT id, name FROM hudi_query('trips', 'read_optimized') ORDER BY id",
    "SELECT id, name FROM hudi_table_changes('trips', 'latest_state', 'earliest', '{trips:1}') ORDER BY id",
    "SELECT id, name FROM hudi_table_changes('{root}/fares', 'latest_state', '{fares:1}') ORDER BY id",
    "SELECT action, state FROM hudi_query_timeline('fares')",
    read("trips", "id, name, fare"),
    read("trips", "id, name", as__of__instant="{trips:1}"),
    read("trips", "id, name", hoodie__datasource__query__type="read_optimized"),
    read(
        "trips",
        "id, name",
        hoodie__datasource__query__type="incremental",
        hoodie__datasource__read__begin__instanttime="{trips:4}",
    ),
    read(
        "trips",
        "id, name",
        hoodie__datasource__query__type="incremental",
        hoodie__datasource__read__begin__instanttime="{trips:0}",
        hoodie__datasource__read__end__instanttime="{trips:2}",
    ),
    read("fares", "id, fare, ts"),
]
CAPTURE = [
    (
        "CREATE TABLE captured (id int, name string, ts long) USING hudi TBLPROPERTIES (type = 'cow', "
        "primaryKey = 'id', "
        "preCombineField = 'ts', 'hoodie.table.cdc.enabled' = 'true', "
        "'hoodie.table.cdc.supplemental.logging.mode' = 'DATA_BEFORE_AFTER') LOCATION '{root}/captured'"
    ),
    "INSERT INTO captured VALUES (1, 'a', 1), (2, 'b', 1)",
    "UPDATE captured SET name = 'a2', ts = 2 WHERE id = 1",
    "DELETE FROM captured WHERE id = 2",
    (
        "SELECT op, get_json_object(before, '$.name') AS before, get_json_object(after, '$.name') AS after "
        "FROM hudi_table_changes('captured', 'cdc', 'earliest') ORDER BY ts_ms, op, before"
    ),
    "SELECT op FROM hudi_table_changes('captured', 'cdc', '{captured:0}', '{captured:1}')",
]
COPIES = [
    (
        "CREATE TABLE copied USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts') PARTITIONED "
        "BY (city) "
        "LOCATION '{root}/copied' AS SELECT id, name, fare, ts, city FROM trips WHERE id < 5"
    ),
    "SELECT id, city FROM copied ORDER BY id",
    "CREATE TABLE copied USING hudi AS SELECT 1 AS id",
    "DESCRIBE copied",
    "INSERT OVERWRITE copied PARTITION (city = 'oslo') SELECT 20, 't', 2.0, 5000",
    "SELECT id, city FROM copied ORDER BY id",
    "SET hoodie.datasource.overwrite.mode = dynamic",
    "INSERT OVERWRITE copied SELECT 21, 'u', 2.0, 5000, 'lima'",
    "RESET hoodie.datasource.overwrite.mode",
    "SELECT id, city FROM copied ORDER BY id",
    "INSERT OVERWRITE TABLE copied SELECT 22, 'v', 2.0, 5000, 'pune'",
    "SELECT id, city FROM copied ORDER BY id",
    "INSERT INTO copied VALUES (23, 'w', 2.0, 5000, 'oslo'), (24, 'x', 2.0, 5000, 'lima')",
    "ALTER TABLE copied DROP PARTITION (city = 'oslo')",
    "SHOW PARTITIONS copied",
    "TRUNCATE TABLE copied PARTITION (city = 'lima')",
    "SELECT id, city FROM copied ORDER BY id",
    "TRUNCATE TABLE copied",
    "SELECT count(*) FROM copied",
]
ALTERATIONS = [
    "ALTER TABLE trips SET TBLPROPERTIES ('hoodie.keep.max.commits' = '50', comment = 'all trips')",
    "SHOW TBLPROPERTIES trips ('hoodie.keep.max.commits')",
    "ALTER TABLE trips UNSET TBLPROPERTIES ('hoodie.keep.max.commits')",
    "ALTER TABLE trips UNSET TBLPROPERTIES IF EXISTS ('hoodie.keep.max.commits')",
    "SHOW TBLPROPERTIES trips ('hoodie.keep.max.commits')",
    "ALTER TABLE fares ADD COLUMNS (tip double, note string COMMENT 'free text')",
    "INSERT INTO fares VALUES (5, 'e', 5, timestamp '2026-03-01 00:00:00', 0.5, 'n')",
    "SELECT id, tip, note FROM fares ORDER BY id",
    (
        "CREATE TABLE evolved (id int, name string, fare float, ts long) USING hudi TBLPROPERTIES (type = 'cow', "
        "primaryKey = 'id', preCombineField = 'ts') LOCATION '{root}/evolved'"
    ),
    "INSERT INTO evolved VALUES (1, 'a', 1.5, 1), (2, 'b', 2.5, 1)",
    "SET hoodie.schema.on.read.enable = true",
    "ALTER TABLE evolved RENAME COLUMN name TO title",
    "ALTER TABLE evolved ALTER COLUMN id TYPE bigint",
    "ALTER TABLE evolved ADD COLUMNS (tip double AFTER fare)",
    "DESCRIBE evolved",
    "SELECT id, title, fare, tip FROM evolved ORDER BY id",
    "INSERT INTO evolved VALUES (3, 'c', 3.5, 0.5, 1)",
    "ALTER TABLE evolved DROP COLUMN tip",
    (
        "SELECT * EXCEPT (_hoodie_commit_time, _hoodie_commit_seqno, _hoodie_record_key, _hoodie_partition_path, "
        "_hoodie_file_name) FROM evolved ORDER BY id"
    ),
    "SELECT id, title, fare FROM evolved ORDER BY id",
    "ALTER TABLE evolved ADD COLUMN first_one string FIRST",
    "ALTER TABLE fares REPLACE COLUMNS (id bigint, name string, ts timestamp)",
    "RESET hoodie.schema.on.read.enable",
]
SERVICES = [
    "CALL run_compaction(op => 'schedule', table => 'trips')",
    "CALL show_compaction(table => 'trips', limit => 5)",
    "CALL run_compaction(op => 'run', table => 'trips')",
    "SELECT id, name FROM hudi_query('trips', 'read_optimized') ORDER BY id",
    "CALL create_savepoint(table => 'trips', commit_time => '{trips:-1}', user => 'me', comments => 'before')",
    "UPDATE trips SET fare = 0, ts = ts + 1",
    "CALL rollback_to_savepoint(table => 'trips', instant_time => '{trips:-2}')",
    "CALL delete_savepoint(table => 'trips', instant_time => '{trips:-1}')",
    ROWS,
    "CALL run_clustering(table => 'fares', order => 'name', op => 'scheduleAndExecute')",
    "CALL show_clustering(table => 'fares', limit => 1, show_involved_partition => true)",
    "CALL run_clean(table => 'fares', retain_commits => 1)",
    "CALL show_cleans(table => 'fares', limit => 1)",
    "CALL rollback_to_instant(table => 'captured', instant_time => '{captured:-1}')",
    "SELECT id, name FROM captured ORDER BY id",
    "CALL show_rollbacks(table => 'captured', limit => 5)",
    "CALL stats_wa(table => 'captured', limit => 1)",
    "CALL show_commit_extra_metadata(table => 'captured', metadata_key => 'nothing')",
    "CALL copy_to_temp_view(table => 'captured', view_name => 'a_view', replace => true)",
    "SELECT id, name FROM a_view ORDER BY id",
    (
        "CALL copy_to_table(table => 'captured', query_type => 'snapshot', new_table => 'copied_rows', "
        "columns => 'id,name')"
    ),
    "SELECT id, name FROM copied_rows ORDER BY id",
    "CALL nothing(table => 'trips')",
    "CALL show_commits(table => 'nothing')",
    "CALL show_commits(table => 'trips', limit => 'many')",
    "CALL show_commits()",
]
FRAMES = [
    write("framed", "bulk_insert", [(1, "a", 1.0, 1, "oslo"), (2, "b", 2.0, 1, "rome"), (3, "c", 3.0, 1, "rome")]),
    write("framed", "upsert", [(1, "a2", 1.5, 2, "oslo"), (2, "late", 2.0, 0, "rome"), (4, "d", 4.0, 1, "lima")]),
    read("framed", "id, name, fare, ts, city"),
    write("framed", "insert", [(5, "e", 5.0, 1, "oslo")]),
    write("framed", "delete", [(4, "d", 4.0, 2, "lima")]),
    write("framed", "insert_overwrite", [(6, "f", 6.0, 3, "rome")]),
    read("framed", "id, name, city, _hoodie_record_key"),
    write("framed", "delete_partition", [], hoodie__datasource__write__partitions__to__delete="city=rome"),
    read("framed", "id, city"),
    read(
        "framed", "id", hoodie__datasource__query__type="incremental", hoodie__datasource__read__begin__instanttime="0"
    ),
    write("framed", "insert_overwrite_table", [(7, "g", 7.0, 4, "pune")]),
    read("framed", "id, city"),
]
ENDS = [
    "SHOW INDEXES FROM copied",
    "ALTER TABLE copied RENAME TO named",
    "SELECT count(*) FROM named",
    "DROP TABLE named",
    "DROP TABLE IF EXISTS named",
    "DROP TABLE named",
    "CREATE TABLE managed (id int, n int) USING hudi TBLPROPERTIES (primaryKey = 'id')",
    "INSERT INTO managed VALUES (1, 1)",
    "DROP TABLE managed PURGE",
    "SHOW TABLES LIKE 'man*'",
]
STEPS = [*CREATION, *INSERTS, *CHANGES, *QUERIES, *CAPTURE, *COPIES, *ALTERATIONS, *SERVICES, *FRAMES, *ENDS]


def named(step):
    """Returns the name of a step, as it is in a report."""
    return step if isinstance(step, str) else json.dumps(step)


def commits(root, table):
    """Returns the requested times of a table's completed commits, in the order of their completion."""
    names = [path.stem.split("_") for path in Path(root, table, ".hoodie", "timeline").glob("*_*.*commit")]
    return [requested for requested, _ in sorted(names, key=lambda one: one[1])]


def filled(text, root, before=()):
    """Returns a text with the folder and the instants of tables in place of their marks.

    Args:
        text: The text.
        root: The folder.
        before: Tables that have a commit before that of the first rows.
    """

    def instant(mark):
        table, number = mark[1], int(mark[2])
        return commits(root, table)[number + (table in before and number >= 0)]

    return re.sub(r"\{(\w+):(-?\d+)\}", instant, text.replace("{root}", str(root)))


def answer(frame):
    columns = [[field.name, field.dataType.simpleString()] for field in frame.schema.fields]
    return {"columns": columns, "rows": [list(row) for row in frame.collect()]}


def run_with_hudi(spark, step, root):
    """Runs a step, and returns the DataFrame of its rows; none for a write."""
    if isinstance(step, str):
        return spark.sql(filled(step, root))
    options = {name: filled(value, root) for name, value in step["options"].items()}
    if "read" in step:
        frame = spark.read.format("hudi").options(**options).load(f"{root}/{step['read']}")
        return frame.selectExpr(*step["columns"].split(", "))
    rows = spark.createDataFrame(step["rows"], FRAME)
    rows.write.format("hudi").options(**options).mode("append").save(f"{root}/{step['write']}")
    return None


def outcomes(run, spark, root):
    """Yields each step with its answer.

    Args:
        run: Runs a step, as `run_with_hudi` does.
        spark: The session.
        root: The folder of the tables.
    """
    for step in STEPS:
        yield step, outcome(run, spark, step, root)


def outcome(run, spark, step, root):
    """Returns the columns and rows of a step, or the beginning of its error; nothing for a write."""
    try:
        frame = run(spark, step, root)
        return {} if frame is None else answer(frame)
    except Exception as error:  # noqa: BLE001 - part of the answers
        return {"error": str(error).replace(str(root), "{root}").splitlines()[0][:200]}


def main(jar, folder):
    from support.hudi.hudi_writer import session

    root = Path(folder).resolve() / "tables"
    root.mkdir(parents=True)
    spark = session(
        jar,
        {
            "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
            "spark.sql.warehouse.dir": f"{root}/warehouse",
        },
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    for key, value in SETTINGS.items():
        spark.sql(f"SET {key}={value}")
    answers = []
    for step, found in outcomes(run_with_hudi, spark, root):
        print(named(step)[:100], "->", found.get("error", "")[:200] or len(found.get("rows", [])), flush=True)
        answers.append({"step": step, **found})
    text = json.dumps(answers, indent=1, default=str).replace(str(root), "{root}")
    (Path(folder) / "statements.json").write_text(text + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
