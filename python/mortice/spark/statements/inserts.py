"""INSERT INTO and INSERT OVERWRITE, with lists of columns and partitions.

Which operation an INSERT is, and its options, say the session's settings and those of the table; the core has Hudi's
rules (`insert_write`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mortice import _mortice
from mortice._mortice import Commit, InsertStatement
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.spark.settings.option_names import SPARK_PREFIX
from mortice.spark.statements.spark_errors import parsed_query
from mortice.spark.statements.statement_text import StatementText
from mortice.spark.statements.target_table import VALUE, TargetTable, partition_names, whole_partitions
from mortice.spark.statements.targets import SqlTable
from mortice.spark.writing.write import write
from mortice.values.argument_types import Options, OptionValue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _write_of(spark: SparkSession, options: Options, *, overwrites: bool) -> tuple[str, dict[str, OptionValue]]:
    """Returns the operation of an INSERT, and the options of its write.

    Args:
        spark: The session.
        options: The options of the table.
        overwrites: Whether it is INSERT OVERWRITE.
    """
    session: dict[str, str] = {}
    for name in (*_mortice.INSERT_OPTIONS, *_mortice.INSERT_SETTINGS):
        found = spark.conf.get(name, None)
        found = spark.conf.get(f"{SPARK_PREFIX}{name}", None) if found is None else found
        if found is not None:
            session[name] = found
    given = {name: str(value) for name, value in options.items()}
    operation, more = _mortice.insert_write(session, given, overwrites)
    kept = {name: value for name, value in options.items() if name not in _mortice.INSERT_OPTIONS}
    return operation, {**kept, **more}


@dataclass(frozen=True)
class Insert:
    """An INSERT of a table of mortice that has not run yet."""

    rows: DataFrame
    """The rows, in the types of the table."""
    write: Callable[[DataFrame], Commit | None]
    """Writes them."""


def planned_insert(spark: SparkSession, statement: StatementText, insert: InsertStatement, table: SqlTable) -> Insert:
    """Returns what INSERT writes.

    Args:
        spark: The session.
        statement: The statement.
        insert: Its clause.
        table: The table.
    """
    target = TargetTable(spark, table, "inserted")
    place = statement.error("the partition is not one of the table", insert.partition_at)
    try:
        values = partition_names(target.opened, statement.partition(insert.partition))
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{error.args[0]}; {place}", path=target.target.uri) from error
    static = _static_values(spark, statement, insert.rows_at, target, values)
    rows = _selected(spark, statement, insert, target, values, static)
    given = table.change_options(spark)

    def run(rows: DataFrame) -> Commit | None:
        operation, options = _write_of(spark, given, overwrites=insert.overwrites)
        if not insert.overwrites:
            return write(rows, table.path, operation, options=options)
        return _overwritten(rows, target, operation, options, values)

    return Insert(rows, run)


def _overwritten(
    rows: DataFrame, target: TargetTable, operation: str, options: Options, values: Mapping[str, str | None]
) -> Commit | None:
    """Replaces rows.

    Args:
        rows: The new rows.
        target: The table.
        operation: Whether the partitions of the rows alone are replaced (`insert_overwrite`), or the table.
        options: The options of the write.
        values: Expressions of partition columns that the statement names; None for those that the query has.
    """
    path, is_dynamic = target.target.uri, operation == "insert_overwrite"
    static = [name for name, text in values.items() if text is not None]
    if not static and not is_dynamic:
        return write(rows, path, operation, options=options)
    is_whole = len(static) == len(target.opened.partition_fields)
    if not is_whole and not is_dynamic:
        setting = "spark.sql.sources.partitionOverwriteMode=dynamic"
        remedy = f"give those of all, or set {setting} to replace the partitions of the rows"
        raise UnsupportedError(f"an overwrite with values of some partition columns; {remedy}", path=target.target.uri)
    if is_whole and not rows.limit(1).collect():
        # The partition is replaced by no rows.
        if paths := whole_partitions(target.spark, target.opened, values):
            return target.opened.delete_partitions(paths, target.table_options)
        return write(rows, path, "insert", options=options)
    return write(rows, path, "insert_overwrite", options=options)


def _static_values(
    spark: SparkSession, statement: StatementText, at: int, target: TargetTable, values: Mapping[str, str | None]
) -> dict[str, object]:
    """Returns the values of partition columns that the clause gives, cast to the columns as Spark does.

    Args:
        spark: The session.
        statement: The statement.
        at: Where what follows the clause begins.
        target: The table.
        values: Expressions of the partition columns that the clause names; None for those that the query has.
    """
    static = {}
    for name, text in values.items():
        if text is None:
            continue
        kind = target.schema[name].dataType.simpleString()
        failed = statement.error(f"the value of {name} before this is not a constant of the type {kind}", at)
        try:
            given, value = spark.sql(f"SELECT {text}, CAST({text} AS {kind})").collect()[0]
        except Exception as error:
            raise failed from error
        if value is None and given is not None:
            raise failed
        static[name] = value
    return static


def _selected(  # noqa: PLR0917
    spark: SparkSession,
    statement: StatementText,
    insert: InsertStatement,
    target: TargetTable,
    values: Mapping[str, str | None],
    static: Mapping[str, object],
) -> DataFrame:
    """Returns the rows of the query, as those of the table.

    Args:
        spark: The session.
        statement: The statement.
        insert: Its clause.
        target: The table.
        values: Expressions of the partition columns that the clause names; None for those that the query has.
        static: The values of these expressions.
    """
    names = [name for name in target.schema.names if name not in values]
    # The query has partition columns without values behind the others, in the order of the clause.
    names += [name for name in values if name not in static]
    at = insert.query[0]
    if insert.columns is not None:
        names = [target.column(name) for name in insert.columns]
        if twice := [name for name in names if name in static]:
            raise statement.error(f"{twice[0]} has a value in PARTITION, and is in the list of columns", at)
    for start, end in insert.defaults:
        # Columns have no other default.
        statement.replace(start, end, "NULL")
    before = "" if insert.before is None else f"{statement.sql(insert.before)} "
    rows = parsed_query(spark, statement.sql(insert.query), before)
    if insert.by_name:
        names = [target.column(name) for name in rows.columns]
    if len(rows.columns) != len(names) or set(names) & set(static):
        raise statement.error(f"the rows should have {len(names)} columns: {', '.join(names)}", at)
    return _typed(rows, names, target, static)


def _typed(rows: DataFrame, names: Sequence[str], target: TargetTable, static: Mapping[str, object]) -> DataFrame:
    """Returns rows with the names and types of the table; null in columns that they do not have."""
    from pyspark.sql import functions as f

    at = {name: f"{VALUE}0_{target.schema.names.index(name)}" for name in names}
    given = rows.toDF(*[at[name] for name in names])
    target.check_fit(given)
    values = {**{name: f.lit(value) for name, value in static.items()}, **{name: f.col(at[name]) for name in names}}
    return given.select(
        *(values.get(field.name, f.lit(None)).cast(field.dataType).alias(field.name) for field in target.schema)
    )
