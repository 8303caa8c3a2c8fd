"""dbt with mortice: `python -m mortice.spark.dbt run`, in the place of `dbt run`.

dbt-spark's connection method `session` hands each statement to `SparkSession.sql`. Here it is handed to
`mortice.spark.sql`, so that models with `file_format: hudi` are tables that mortice creates and merges into, without
Hudi's jar. docs/migrate.md has an example.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mortice.spark.statements.run import sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
            return sql(spark, text)
        finally:
            running.is_inside = False

    setattr(SparkSession, "sql", routed)  # noqa: B010 (mypy refuses the assignment to a method)
    try:
        yield
    finally:
        setattr(SparkSession, "sql", given)  # noqa: B010


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
