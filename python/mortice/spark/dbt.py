"""dbt with mortice: `python -m mortice.spark.dbt run`, in the place of `dbt run`.

dbt-spark's connection method `session` hands each statement to `SparkSession.sql`. Here it is handed to
`mortice.spark.sql`, so that models with `file_format: hudi` are tables that mortice creates and merges into, without
Hudi's jar. docs/migrate.md has an example.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mortice.spark.statements.run import sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SHOWN = re.compile(r"\s*(/\*.*?\*/\s*)?show\s+table\s+extended\b", re.IGNORECASE | re.DOTALL)
SNAPSHOT = re.compile(r"\bas\s+dbt_scd_id\b", re.IGNORECASE)
RECORD_KEY = re.compile(r"(?<=\bprimaryKey) \"[^\"]*\"")


@contextlib.contextmanager
def statements_of_sessions() -> Iterator[None]:
    """Has `SparkSession.sql` of this process run statements as `mortice.spark.sql` does, until the context ends.

    Statements that mortice itself gives to Spark, and calls with `args`, go to Spark as they are.
    """
    from pyspark.sql import SparkSession

    given = SparkSession.sql
    running = threading.local()

    def routed(spark: SparkSession, text: str, *args: Any, **kwargs: Any) -> DataFrame:
        if args or kwargs or getattr(running, "is_inside", False):
            return given(spark, text, *args, **kwargs)
        running.is_inside = True
        try:
            return as_of_hudi(text, sql(spark, with_key_of_snapshot(text)))
        finally:
            running.is_inside = False

    setattr(SparkSession, "sql", routed)  # noqa: B010 (mypy refuses the assignment to a method)
    try:
        yield
    finally:
        setattr(SparkSession, "sql", given)  # noqa: B010


def with_key_of_snapshot(text: str) -> str:
    """Returns a statement of dbt with the record key of a snapshot, `dbt_scd_id`.

    dbt-spark makes the unique key of all models with `file_format: hudi` the record key, but a snapshot has a row for
    each state of it.
    """
    return RECORD_KEY.sub(' "dbt_scd_id"', text, count=1) if SNAPSHOT.search(text) else text


def as_of_hudi(text: str, frame: DataFrame) -> DataFrame:
    """Returns the rows of a statement; of `SHOW TABLE EXTENDED`, with Hudi as the provider of tables of mortice.

    dbt-spark changes snapshots only in tables of the providers that it knows.
    """
    if not SHOWN.match(text):
        return frame
    from pyspark.sql import functions

    shown = functions.regexp_replace("information", "(?m)^Provider: mortice$", "Provider: hudi")
    return frame.withColumn("information", shown)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs dbt's command line. Returns its exit status: 0, 1 if a model or test failed, 2 if dbt could not run.

    Args:
        arguments: Those of `dbt`; none for the arguments of this process.
    """
    try:
        from dbt.cli.main import dbtRunner
    except ImportError:
        print("mortice.spark.dbt needs dbt: pip install 'dbt-spark>=1.10' 'dbt-core<2'", file=sys.stderr)
        return 2
    with statements_of_sessions():
        done = dbtRunner().invoke(list(sys.argv[1:] if arguments is None else arguments))
    if done.success:
        return 0
    return 1 if done.exception is None else 2


if __name__ == "__main__":
    sys.exit(main())
