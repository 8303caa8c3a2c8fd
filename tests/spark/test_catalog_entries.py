"""The entry of the catalog after `ALTER TABLE`: it has the new columns, or the old entry is left, or the error names
the statement that registers the table."""

import contextlib
import re

import pytest

import mortice
import mortice.spark
from support.spark_database import current_database

pytestmark = [pytest.mark.spark4, pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")]


@pytest.fixture
def run(spark, tmp_path):
    """Runs statements in a database of its own, with one managed table."""

    def run(text):
        return [tuple(row) for row in mortice.spark.sql(spark, text).collect()]

    with current_database(spark, "entries", tmp_path):
        run("create table trips (id string, n int) using hudi tblproperties (primaryKey = 'id')")
        run("insert into trips values ('a', 1)")
        yield run


@pytest.fixture
def refusing(spark):
    """Has the catalog fail, in a `with` block, at statements that begin with one of these patterns."""
    given = type(spark).sql

    @contextlib.contextmanager
    def refusing(*beginnings):
        def sql(self, text, *args, **named):
            if re.match("|".join(beginnings), text):
                raise RuntimeError("the metastore is away")
            return given(self, text, *args, **named)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(spark), "sql", sql)
            yield

    return refusing


def names(spark):
    return [row.tableName for row in spark.sql("show tables").collect()]


@pytest.mark.parametrize("place", ["CREATE TABLE", "DROP TABLE `trips`"])
def test_what_the_catalog_refuses_leaves_the_old_entry(spark, run, refusing, place, tmp_path):
    with (
        refusing(place),
        pytest.raises(mortice.TableServiceError, match=r"(?s)shows the former ones.*the metastore is away"),
    ):
        run("alter table trips add columns (tip double)")
    assert names(spark) == ["trips"]
    assert run("select * from trips") == [("a", 1)]
    # The next change shows both.
    run("alter table trips alter column n comment 'a number'")
    assert run("select id, n, tip from trips") == [("a", 1, None)]
    run("drop table trips")
    assert list((tmp_path / "db").iterdir()) == []


def test_a_catalog_that_cannot_rename_gets_a_new_entry(spark, run, refusing):
    with refusing("ALTER TABLE .* RENAME TO"):
        run("alter table trips add columns (tip double)")
    assert names(spark) == ["trips"]
    assert run("select id, n, tip from trips") == [("a", 1, None)]


def test_a_name_that_is_lost_is_registered_by_the_statement_of_the_error(spark, run, refusing, tmp_path):
    lost = pytest.raises(mortice.TableServiceError, match="lost the name `trips`")
    with refusing("ALTER TABLE .* RENAME TO", "CREATE TABLE `trips` "), lost as caught:
        run("alter table trips add columns (tip double)")
    # The table can be read by the name of the entry that there is, which does not manage its files.
    beside = names(spark)[0]
    assert run(f"select id, n, tip from {beside}") == [("a", 1, None)]
    for statement in re.findall(r"spark\.sql\(\"(.*?)\"\)", str(caught.value)):
        spark.sql(statement)
    assert names(spark) == ["trips"]
    assert run("select id, n, tip from trips") == [("a", 1, None)]
    run("drop table trips")
    assert list((tmp_path / "db").iterdir()) == []
