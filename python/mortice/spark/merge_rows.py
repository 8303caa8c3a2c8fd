"""`mortice.spark.update_where` and `mortice.spark.merge`: `Table.update_where` and `Table.merge`, computed by Spark.

The rows are changed and written with the code of `mortice.spark.sql` (`mortice.spark.statements.row_changes`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.statements.parameters import literal
from mortice.spark.statements.row_changes import RowAction, RowChanges
from mortice.spark.statements.targets import SqlTable
from mortice.spark.statements.tokens import quoted
from mortice.values.argument_types import Options
from mortice.values.other_names import hinted
from mortice.writing.merge_clauses import ALL, MERGE_ARGUMENTS, MergeBuilder, MergeClause, clauses_of_arguments
from mortice.writing.new_values import Values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TARGET, _SOURCE = "t", "s"
_SIDES = {"matched": "matched", "not_matched": "source", "not_matched_by_source": "target"}


@hinted
def update_where(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    values: Mapping[str, object],
    condition: str,
    options: Options | None = None,
) -> Commit:
    """Updates the rows for which a condition is true, in one commit. Works on Spark 3.5 and later.

        mortice.spark.update_where(spark, "/lake/trips", {"fare": "fare * 1.1"}, "city = 'oslo'")

    The rules are those of `UPDATE` by `mortice.spark.sql`.

    Args:
        spark: The session, classic or Spark Connect.
        uri: The table's base path, a local path or a URI.
        values: The columns, and what they get: an expression of Spark's SQL as a string, or another Python value.
        condition: A condition in Spark's SQL; `"true"` selects all rows.
        options: As for `mortice.spark.write`.

    Returns:
        The commit.

    Raises:
        InvalidArgumentError: A column does not exist, or a value does not fit its column.
        UnsupportedError: The record key or the partition of a row would change, or mortice does not write the table.
        WriteConflictError: Another writer has changed the table since its rows were read.
    """
    if not isinstance(condition, str) or not condition.strip():
        raise InvalidArgumentError(f"condition must be a condition in SQL ('true' selects all rows), got {condition!r}")
    changes = RowChanges(spark, SqlTable(str(uri), options or {}), _TARGET)
    with typed_errors():
        return changes.of_rows(condition, RowAction("update", "target", None, _assigned(changes, values)))


@overload
def merge(
    df: DataFrame, uri: str | os.PathLike[str], on: str | Sequence[str], options: Options | None = None
) -> MergeBuilder: ...


@overload
def merge(
    df: DataFrame,
    uri: str | os.PathLike[str],
    on: str | Sequence[str],
    options: Options | None = None,
    *,
    when_matched_update: Values | Literal["all"] | None = ...,
    when_matched_delete: str | bool | None = ...,
    when_not_matched_insert: Values | Literal["all"] | None = ...,
    when_not_matched_by_source_update: Values | None = ...,
    when_not_matched_by_source_delete: str | bool | None = ...,
) -> Commit: ...


def merge(
    df: DataFrame,
    uri: str | os.PathLike[str],
    on: str | Sequence[str],
    options: Options | None = None,
    **clauses: Any,
) -> MergeBuilder | Commit:
    """Merges a DataFrame into a table by any condition and with several clauses, in one commit.

        mortice.spark.merge(
            rides,
            "/lake/trips",
            on="t.id = s.id",
            when_matched_delete="s.state = 'cancelled'",
            when_matched_update={"fare": "t.fare + s.fare", "ts": "s.ts"},
            when_not_matched_insert="all",
        )

    Without clauses it returns a builder, which can have several of each kind
    (`mortice.writing.merge_clauses.MergeBuilder`).
    Spark joins the rows and computes the expressions; the rules are those of `MERGE INTO` by `mortice.spark.sql`.

    Args:
        df: The rows.
        uri: The table's base path, a local path or a URI.
        on: The condition by which rows match stored ones, in Spark's SQL, or the columns that are equal. Columns of the
            table are `t.fare`, those of the rows `s.fare`.
        options: As for `mortice.spark.write`.
        **clauses: As for `Table.merge`, with expressions of Spark's SQL. Deletes are tried first.

    Returns:
        With clauses, the commit.

    Raises as `update_where`; `InvalidArgumentError` if several rows match a stored one, or a row to insert has a key
    that the table has.
    """
    unknown = [name for name in clauses if name not in MERGE_ARGUMENTS]
    if unknown:
        raise TypeError(f"merge() has no argument {unknown[0]!r}; clauses: {', '.join(MERGE_ARGUMENTS)}")

    def run(given: Sequence[MergeClause]) -> Commit:
        changes = RowChanges(df.sparkSession, SqlTable(str(uri), options or {}), _TARGET)
        actions = [_action(changes, df, clause) for clause in given]
        return changes.of_merge(df, _SOURCE, _condition(changes, df, on), actions)

    builder = MergeBuilder(run)
    return clauses_of_arguments(builder, clauses).execute() if clauses else builder


def _condition(changes: RowChanges, df: DataFrame, on: str | Sequence[str]) -> str:
    is_column = isinstance(on, str) and on in df.columns and on in changes.schema.names
    names = [on] if is_column else on
    if isinstance(names, str):
        return names
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"on must be a condition or a list of columns, got {on!r}")
    return " AND ".join(f"{_TARGET}.{quoted(str(name))} = {_SOURCE}.{quoted(str(name))}" for name in names)


def _action(changes: RowChanges, df: DataFrame, clause: MergeClause) -> RowAction:
    values: Mapping[str, str] = {}
    if clause.values == ALL:
        given = {name.lower(): name for name in df.columns}
        common = [name for name in changes.schema.names if name.lower() in given]
        values = {name: f"{_SOURCE}.{quoted(given[name.lower()])}" for name in common}
    elif isinstance(clause.values, Mapping):
        values = _assigned(changes, clause.values)
    return RowAction(clause.action, _SIDES[clause.side], clause.condition, values)


def _assigned(changes: RowChanges, values: Mapping[str, object]) -> dict[str, str]:
    """Returns the values of columns as SQL."""
    if not isinstance(values, Mapping) or not values:
        raise InvalidArgumentError(f"values must map columns to expressions, got {values!r}")
    return {
        changes.column(name): value if isinstance(value, str) else literal(name, value)
        for name, value in values.items()
    }
