"""`mortice.spark.merge_into`, `merge` and `update_where`: those of `Table`, by Spark's join and `mortice.spark.write`.

The rules are those of `Table`, and the same native code has them (`MergePlan`). For `merge_into`, tasks make the record
keys and partition paths of rows, by which Spark joins them with the stored rows of the partitions that the DataFrame
has, and of the joined rows those to write (`mortice.spark.row_actions`). The others are statements of
`mortice.spark.sql` without their text (`mortice.spark.statements.row_changes`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import pyarrow as pa

from mortice._mortice import Commit, MergePlan
from mortice.errors import InvalidArgumentError
from mortice.expressions import Filters
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.merge_types import ignores_case, with_table_types
from mortice.spark.reading.read import read_stored
from mortice.spark.row_actions import (
    PARTITION_PATH,
    RECORD_KEY,
    MapRows,
    RowAction,
    chosen,
    column,
    merged_rows,
    persisted,
    repeated,
    with_columns,
)
from mortice.spark.schema import spark_schema
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.parameters import literal, quoted
from mortice.spark.statements.row_changes import RowChanges
from mortice.spark.statements.targets import SqlTable
from mortice.spark.writing.write import committed, write_frame
from mortice.values.argument_types import Options
from mortice.values.other_names import hinted
from mortice.writing.merge_clauses import (
    ALL,
    MERGE_ARGUMENTS,
    MergeBuilder,
    MergeClause,
    Values,
    clauses_of,
    clauses_of_arguments,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["merge", "merge_into", "update_where"]

KEYS = dict.fromkeys((MergePlan.KEY, MergePlan.PATH), "string")
_GIVEN, _STORED, _FOUND, _ROW = "mortice_given", "mortice_stored", "_mortice_found", "_mortice_row"
_SIDES = {"delete": "matched", "update": "matched", "insert": "source"}
_TARGET, _SOURCE = "t", "s"
_CLAUSES = {"matched": "matched", "not_matched": "source", "not_matched_by_source": "target"}
_MOST_PARTITIONS = 1_000
"""More partitions than these are all read."""


@hinted
def merge_into(  # noqa: PLR0917
    df: DataFrame,
    uri: str | os.PathLike[str],
    on: str | Sequence[str] | None = None,
    when_matched_update: Sequence[str] | None = None,
    when_not_matched: str = "insert",
    when_matched_delete: str | Column | None = None,
    options: Mapping[str, Any] | None = None,
) -> Commit:
    """Merges a DataFrame into a table as SQL's `MERGE INTO` does, in one commit.

        mortice.spark.merge_into(
            rides, "/lake/trips", when_matched_update=["fare", "ts"], when_matched_delete="state = 'cancelled'"
        )

    The stored rows of the partitions that the DataFrame has are joined with it by Spark, and written with the code of
    `mortice.spark.write`. Options of Hudi in the session's configuration do not apply to them.

    Columns have the types of the table: values are cast to them, and refused if they do not fit. If the session ignores
    case (`spark.sql.caseSensitive`), so do the names of columns.

    Args:
        df: The rows: one for each key, or several that all delete it.
        uri: The table's base path, a local path or a URI.
        on: As for `Table.merge_into`.
        when_matched_update: As for `Table.merge_into`.
        when_not_matched: As for `Table.merge_into`.
        when_matched_delete: A condition on columns of the DataFrame, as SQL or a Column. Matched rows for which it is
            true are deleted.
        options: As for `mortice.spark.write`.

    Returns:
        The commit.

    Raises as `Table.merge_into` and `mortice.spark.write`; `TableNotFoundError` if there is no table.
    """
    clauses = clauses_of(on, when_matched_update, when_not_matched)
    given = WriteTarget.from_options(uri, options)
    storage = given.storage_options(df.sparkSession)
    plan = MergePlan(given.uri, storage, df.columns, clauses, given.options, ignores_case(df))
    # The condition is on the columns as they were given.
    marked = df.withColumn(plan.DELETES, _is_deleted(when_matched_delete))
    columns = spark_schema(pa.schema(plan.columns))
    cast = with_table_types(marked, plan.given, columns, plan.used)
    of_storage = {name: value for name, value in (options or {}).items() if is_of_storage(str(name))}
    with typed_errors(), persisted(cast) as rows:
        keyed = rows.mapInArrow(MapRows(plan, "with_keys"), with_columns(rows.schema, KEYS))
        names = [*columns.names, RECORD_KEY, PARTITION_PATH]
        filters = _of_partitions(rows, plan)
        found = read_stored(df.sparkSession, given.uri, names, filters, "snapshot", of_storage)
        with persisted(_joined(keyed, found, plan)) as joined:
            _check_distinct(joined, plan)
            return committed(write_frame(merged_rows(joined, plan, columns), given, "upsert", "append", merge=plan))


def _is_deleted(given: str | Column | None) -> Column:
    from pyspark.sql import functions as f

    if given is None:
        return f.lit(False)
    condition = f.expr(given) if isinstance(given, str) else given
    return f.coalesce(condition.cast("boolean"), f.lit(False))


def _of_partitions(rows: DataFrame, plan: MergePlan) -> Filters:
    """Returns a filter on the partition paths that the rows have; None if they are not matched by them."""
    if not plan.by_path:
        return None
    values = rows.select([quoted(name) for name in plan.partitions]).distinct()
    located = values.mapInArrow(MapRows(plan, "with_paths"), with_columns(values.schema, {plan.PATH: "string"}))
    paths = [row[0] for row in located.select(plan.PATH).distinct().limit(_MOST_PARTITIONS + 1).collect()]
    return [(PARTITION_PATH, "in", paths)] if len(paths) <= _MOST_PARTITIONS else None


def _joined(rows: DataFrame, stored: DataFrame, plan: MergePlan) -> DataFrame:
    """Returns the given rows, each with the stored one that it matches, if any, and what is done to it."""
    from pyspark.sql import functions as f

    left = rows.withColumn(_ROW, f.monotonically_increasing_id()).alias(_GIVEN)
    right = stored.withColumn(_FOUND, f.lit(True)).alias(_STORED)
    is_match = column(_GIVEN, plan.KEY) == column(_STORED, RECORD_KEY)
    if plan.by_path:
        is_match &= column(_GIVEN, plan.PATH) == column(_STORED, PARTITION_PATH)
    conditions = {"delete": plan.DELETES}
    actions = {at: RowAction(kind, _SIDES[kind], conditions.get(kind)) for at, kind in enumerate(plan.actions)}
    action = chosen(
        actions,
        otherwise=f.lit(None),
        stored=column(_STORED, _FOUND).isNotNull(),
        given=column(_GIVEN, _ROW).isNotNull(),
    )
    return left.join(right, is_match, "left").select(
        action.cast("int").alias(plan.ACTION),
        *(column(_GIVEN, name) for name in (_ROW, plan.KEY, plan.PATH)),
        *(column(_GIVEN, name).alias(f"{plan.GIVEN}{name}") for name in plan.used),
        *(column(_STORED, name).alias(f"{plan.STORED}{name}") for name in stored.columns),
    )


def _check_distinct(joined: DataFrame, plan: MergePlan) -> None:
    """Refuses several given rows of one key, unless each of them deletes what it matches."""
    from pyspark.sql import functions as f

    # A key in several partitions is matched in each of them, unless paths are matched, too.
    names = [plan.KEY, f"{plan.STORED}{PARTITION_PATH}", *([plan.PATH] if plan.by_path else [])]
    deletes = f.coalesce(f.col(plan.ACTION) == plan.actions.index("delete"), f.lit(False))
    shown = [f.col(quoted(f"{plan.GIVEN}{name}")) for name in plan.on]
    twice = repeated(joined, [f.col(quoted(name)) for name in names], f.count_distinct(_ROW), deletes, shown)
    if twice is not None:
        plan.refuse_repeated(pa.Table.from_pylist([dict(zip(plan.on, list(twice), strict=True))]))


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
    return RowAction(clause.action, _CLAUSES[clause.side], clause.condition, values)


def _assigned(changes: RowChanges, values: Mapping[str, object]) -> dict[str, str]:
    """Returns the values of columns as SQL."""
    if not isinstance(values, Mapping) or not values:
        raise InvalidArgumentError(f"values must map columns to expressions, got {values!r}")
    return {
        changes.column(name): value if isinstance(value, str) else literal(name, value)
        for name, value in values.items()
    }
