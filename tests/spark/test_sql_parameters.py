"""Parameters of `mortice.spark.sql`: Spark and the table get exactly the value, in every kind of statement."""

import datetime
import decimal

import pytest

import mortice
import mortice.spark

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
STRINGS = [
    *("", "plain", "O'Reilly", 'd"q', "back\\", "\\'", "'; DROP TABLE t; --", "é\n\t\0x", "%_", "{x}", ":name", "?"),
    *("${spark.app.name}", "${env:PATH}", "${system:user.dir}", "$${x}", "\\u0041", "a\\nb", "/*", "`", "\U0001f600"),
]
VALUES = [
    *(0, -5, 2**31, -(2**63), 2**63 - 1, True, None, 1e-320, float("inf"), b"", b"a\0'", datetime.date(1, 1, 1)),
    *(decimal.Decimal("0.10"), decimal.Decimal(2**70), [1, None], {"k": "${x}"}),
]


def run(spark, text, /, **args):
    return [tuple(row) for row in mortice.spark.sql(spark, text, **args).collect()]


@pytest.fixture
def trips(tmp_path):
    """A table by its path: the key is an int, the name a string."""
    return f"mortice.`{tmp_path}/t`"


@pytest.mark.parametrize("escaped", ["false", "true"])
def test_a_query_gets_the_values(spark, escaped):
    names = {f"v{at}": value for at, value in enumerate([*STRINGS, *VALUES])}
    spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    try:
        found = run(spark, f"SELECT {', '.join(f':{name}' for name in names)}", **names)
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert found == [tuple(names.values())]


def test_times_are_moments(spark):
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    at = datetime.datetime(2024, 7, 1, 10, 0, 0, 123456, zone)
    text = "SELECT unix_micros(:at), CAST(:plain AS STRING), :span = INTERVAL '86400.000005' SECOND, isnan(:n)"
    plain, span = datetime.datetime(2024, 7, 1, 10), datetime.timedelta(days=1, microseconds=5)
    found = run(spark, text, at=at, plain=plain, span=span, n=float("nan"))
    assert found == [(1719808200123456, "2024-07-01 10:00:00", True, True)]


@pytest.mark.filterwarnings("ignore::mortice.TimeTravelWarning")
def test_statements_of_every_kind_get_the_values(spark, trips):
    run(
        spark,
        f"CREATE TABLE {trips} (id int, name string, city string) USING hudi TBLPROPERTIES (primaryKey = :key) "
        "PARTITIONED BY (city) COMMENT :comment",
        key="id",
        comment="${env:PATH}'",
    )
    secret, city = "${env:PATH}'\\", "o'slo${x}"
    run(spark, f"INSERT INTO {trips} PARTITION (city = :city) VALUES (:id, :text)", city=city, id=1, text=secret)
    run(spark, f"INSERT INTO {trips} SELECT :id, :name, :city", city=city, id=2, name=secret)
    rows = f"SELECT id, name, city FROM {trips} WHERE city = :city ORDER BY id"
    assert run(spark, rows, city=city) == [(1, secret, city), (2, secret, city)]
    run(
        spark,
        f"UPDATE {trips} SET name = concat(name, :spark) WHERE name = :old AND id -:one = 1",
        spark="$",
        old=secret,
        one=1,
    )
    run(
        spark,
        f"MERGE INTO {trips} t USING (SELECT :id AS id, :name AS name) s ON t.id = s.id AND s.name = :name "
        "WHEN MATCHED AND t.name <> :other THEN UPDATE SET name = :other "
        "WHEN NOT MATCHED THEN INSERT (id, name, city) VALUES (:id, :name, :city)",
        id=1,
        name="a\\'b",
        other="${x}",
        city=city,
    )
    assert run(spark, rows, city=city) == [(1, "${x}", city), (2, f"{secret}$", city)]
    assert run(spark, f"SELECT count(*) FROM {trips} TIMESTAMP AS OF :at", at="2099-01-01") == [(2,)]
    assert len(run(spark, "CALL show_commits(path => :path, limit => :n)", path=trips.split("`")[1], n=3)) == 3
    run(spark, f"DELETE FROM {trips} WHERE name = :name", name="${x}")
    assert run(spark, rows, args={"city": city}) == [(2, f"{secret}$", city)]
    assert run(spark, f"SELECT id FROM {trips} WHERE city = ?", args=[city]) == [(2,)]


def test_values_without_a_literal_are_refused_by_name(spark):
    with pytest.raises(mortice.InvalidArgumentError, match="size must be a finite decimal"):
        mortice.spark.sql(spark, "SELECT :size", size=decimal.Decimal("NaN"))
    with pytest.raises(mortice.InvalidArgumentError, match="size must be a number, a string"):
        mortice.spark.sql(spark, "SELECT :size", size=object())
