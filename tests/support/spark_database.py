"""A database of Spark's catalog for one test."""

import contextlib


@contextlib.contextmanager
def current_database(spark, name, folder):
    """Creates a database and makes it the current one of the session, which it is until the context ends.

    Its tables are dropped at the end. Views that other tests have left in the session are dropped first: a view hides a
    table of its name.

    Args:
        spark: The session.
        name: The database.
        folder: The path below which its tables are, in `db`.
    """
    for view in spark.catalog.listTables():
        if view.isTemporary:
            spark.catalog.dropTempView(view.name)
    spark.sql(f"create database {name} location '{folder}/db'")
    spark.sql(f"use {name}")
    try:
        yield
    finally:
        spark.sql("use default")
        spark.sql(f"drop database {name} cascade")
