"""Statements of `mortice.spark.sql` by catalog name, path and view, on the Spark that runs this script.

    python sql_matrix.py run classic|connect    prints a line of JSON: what each statement does
    python sql_matrix.py table LINES            prints the table of docs/spark.md, of files with such lines

`make test-sql-matrix` runs it on each Spark. A statement that does not do what `EXPECTED` says ends it with status 1.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile

KINDS = ("catalog", "path", "view")
COLUMNS = "(id string, fare double, ts bigint, city string)"
MERGE = """MERGE INTO {t} t USING (SELECT 'a' AS id, 9.0D AS fare, 5L AS ts, 'oslo' AS city UNION ALL
SELECT 'm', 1.0D, 5L, 'rome') s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""
KEYED = "USING hudi TBLPROPERTIES (primaryKey = 'id') LOCATION"
# Each statement, a query, and the first column of its rows afterwards. `{t}` is the table.
STATEMENTS = [
    (
        "INSERT INTO",
        "INSERT INTO {t} VALUES ('a', 1, 1, 'oslo'), ('b', 2, 1, 'rome')",
        "SELECT id FROM {t}",
        ["a", "b"],
    ),
    (
        "INSERT INTO … PARTITION",
        "INSERT INTO {t} PARTITION (city = 'lima') SELECT 'c', 3, 1",
        "SELECT city FROM {t}",
        ["lima", "oslo", "rome"],
    ),
    ("SELECT", None, "SELECT id FROM {t} WHERE fare > 1.5", ["b", "c"]),
    ("UPDATE", "UPDATE {t} SET fare = fare + 1 WHERE id = 'a'", "SELECT fare FROM {t} WHERE id = 'a'", [2.0]),
    ("DELETE", "DELETE FROM {t} WHERE city = 'lima'", "SELECT id FROM {t}", ["a", "b"]),
    ("MERGE INTO", MERGE, "SELECT id FROM {t} WHERE fare IN (9, 1)", ["a", "m"]),
    ("TIMESTAMP AS OF", None, "SELECT id FROM {t} TIMESTAMP AS OF '{first}'", ["a", "b"]),
    ("VERSION AS OF", None, "SELECT id FROM {t} VERSION AS OF '{first}'", ["a", "b"]),
    ("ALTER TABLE … ADD COLUMNS", "ALTER TABLE {t} ADD COLUMNS (tip double)", "SELECT tip FROM {t}", [None] * 3),
    (
        "ALTER TABLE … RENAME COLUMN",
        "ALTER TABLE {t} RENAME COLUMN fare TO price",
        "SELECT price FROM {t} WHERE id = 'm'",
        [1.0],
    ),
    (
        "ALTER TABLE … ALTER COLUMN",
        "ALTER TABLE {t} ALTER COLUMN price TYPE string",
        "SELECT price FROM {t} WHERE id = 'm'",
        ["1.0"],
    ),
    (
        "ALTER TABLE … DROP COLUMN",
        "ALTER TABLE {t} DROP COLUMN tip",
        "SELECT id FROM {t} WHERE id = 'm'",
        ["m"],
    ),
    ("SHOW PARTITIONS", None, "SHOW PARTITIONS {t}", ["city=oslo", "city=rome"]),
    (
        "ALTER TABLE … DROP PARTITION",
        "ALTER TABLE {t} DROP PARTITION (city = 'oslo')",
        "SELECT id FROM {t}",
        ["b", "m"],
    ),
    ("CALL", None, "CALL show_timeline({argument} => '{name}', limit => 1)", 1),
    (
        "INSERT OVERWRITE … PARTITION",
        "INSERT OVERWRITE {t} PARTITION (city = 'rome') SELECT 'x', '1', 1",
        "SELECT id FROM {t}",
        ["x"],
    ),
    ("INSERT OVERWRITE", "INSERT OVERWRITE {t} VALUES ('y', '1', 1, 'oslo')", "SELECT city FROM {t}", ["oslo"]),
    ("TRUNCATE TABLE", "TRUNCATE TABLE {t}", "SELECT id FROM {t}", []),
    ("CREATE TABLE", f"CREATE TABLE {{new}} {COLUMNS} {KEYED} '{{at}}'", "SELECT count(*) FROM {new}", [0]),
    (
        "CREATE TABLE … AS SELECT",
        f"CREATE TABLE {{new2}} {KEYED} '{{at}}2' AS SELECT 'q' AS id",
        "SELECT id FROM {new2}",
        ["q"],
    ),
    ("ALTER TABLE … RENAME TO", "ALTER TABLE {t} RENAME TO renamed", "SELECT count(*) FROM renamed", [0]),
    ("DROP TABLE", "DROP TABLE {t}", None, None),
]
# What is refused, by statement and kind of name.
EXPECTED = {
    ("ALTER TABLE … RENAME TO", "path"): "refused",
    ("ALTER TABLE … RENAME TO", "view"): "refused",
    ("DROP TABLE", "path"): "refused",
    ("CREATE TABLE", "view"): "",
    ("CREATE TABLE … AS SELECT", "view"): "",
}


def outcomes(spark, kind, folder):
    """Runs all statements on a table, and returns the outcome of each."""
    import mortice.spark

    path, name = f"{folder}/{kind}", f"matrix_{kind}"
    about = "USING mortice OPTIONS (type = 'mor', primaryKey = 'id', orderingFields = 'ts')"
    at_path = f"mortice.`{path}`"
    if kind == "catalog":
        mortice.spark.sql(spark, f"CREATE TABLE {name} {COLUMNS} {about} PARTITIONED BY (city) LOCATION '{path}'")
    else:
        mortice.spark.sql(spark, f"CREATE TABLE {at_path} {COLUMNS} {about} PARTITIONED BY (city)")
    if kind == "view":
        mortice.spark.sql(spark, f"CREATE TEMPORARY VIEW {name} USING mortice OPTIONS (path '{path}')")
    words = {
        "t": at_path if kind == "path" else name,
        "argument": "path" if kind == "path" else "table",
        "name": path if kind == "path" else name,
        "new": f"mortice.`{folder}/new`" if kind == "path" else "matrix_new",
        "new2": f"mortice.`{folder}/new2`" if kind == "path" else "matrix_new2",
        "at": f"{folder}/{'' if kind == 'path' else 'named_'}new",
        "first": "",
    }
    found = {}
    for title, statement, query, expected in STATEMENTS:
        if EXPECTED.get((title, kind)) == "":
            found[title] = ""
            continue
        found[title] = outcome(spark, words, statement, query, expected)
        print(f"{kind}: {title}: {found[title]}", file=sys.stderr, flush=True)
        if title == "INSERT INTO":
            words["first"] = mortice.Table(path).timeline.latest.requested_time
        if title.endswith("RENAME TO") and found[title] == "yes":
            words["t"] = "renamed"
    return found


def outcome(spark, words, statement, query, expected):
    """Returns `yes`, `refused` for an error of mortice that says so, or what is wrong."""
    import mortice
    import mortice.spark

    try:
        if statement is not None:
            mortice.spark.sql(spark, statement.format(**words)).collect()
        if query is None:
            return "yes"
        rows = [row[0] for row in mortice.spark.sql(spark, query.format(**words)).collect()]
    except (mortice.InvalidArgumentError, mortice.UnsupportedError) as error:
        return "refused" if "line 1" in str(error) or "Spark" in str(error) else f"error: {str(error)[:200]}"
    except Exception as error:  # noqa: BLE001
        return f"error: {type(error).__name__}: {str(error)[:200]}"
    right = len(rows) == expected if isinstance(expected, int) else sorted(map(str, rows)) == sorted(map(str, expected))
    return "yes" if right else f"wrong rows: {rows}"


def run(mode):
    """Prints what each statement does on this Spark."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        builder = (
            SparkSession.builder.remote("local[2]") if mode == "connect" else SparkSession.builder.master("local[2]")
        )
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        title = f"{'.'.join(spark.version.split('.')[:2])}{', Connect' if mode == 'connect' else ''}"
        found = {kind: outcomes(spark, kind, folder) for kind in KINDS}
        print(json.dumps({"spark": title, "found": found}), flush=True)
        spark.stop()
    wrong = [
        name
        for kind, results in found.items()
        for name, result in results.items()
        if result != expected_of(title, kind, name)
    ]
    return 1 if wrong else 0


def expected_of(version, kind, title):
    """Returns the outcome that a statement should have. On Spark 3.5, names are views."""
    kind = "view" if kind == "catalog" and version.startswith("3.") and title.endswith("RENAME TO") else kind
    return EXPECTED.get((title, kind), "yes")


def table(files):
    """Prints the outcomes on all Sparks as a table; equal ones once."""
    lines = [json.loads(line) for file in files for line in pathlib.Path(file).read_text().splitlines() if line]
    print(f"| statement | {' | '.join(KINDS)} |\n|---|{'---|' * len(KINDS)}")
    for title, *_ in STATEMENTS:
        cells = []
        for kind in KINDS:
            by_spark = {line["spark"]: line["found"][kind][title] for line in lines}
            results = set(by_spark.values())
            cells.append(results.pop() if len(results) == 1 else "; ".join(f"{k}: {v}" for k, v in by_spark.items()))
        print(f"| `{title}` | {' | '.join(cells)} |")
    print(f"\n{', '.join(line['spark'] for line in lines)}")


if __name__ == "__main__":
    if sys.argv[1] == "run":
        sys.exit(run(sys.argv[2]))
    table(sys.argv[2:])
