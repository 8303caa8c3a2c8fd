"""INSERT INTO and INSERT OVERWRITE, with lists of columns and partitions.

Which operation an INSERT is, and its options, say the session's settings and those of the table. The rules are those of
Hudi 1.2 (`ProvidesHoodieConfig`), tried with it: the session's settings take precedence over the table's, and
`hoodie.datasource.write.operation` over `hoodie.spark.sql.insert.into.operation`. `hoodie.sql.insert.mode` is checked
and changes no rows, and `hoodie.datasource.write.insert.drop.duplicates` has no effect in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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


INTO_OPERATION = "hoodie.spark.sql.insert.into.operation"
"""The option that says which operation INSERT INTO is."""
_OPERATION = "hoodie.datasource.write.operation"
_POLICY = "hoodie.datasource.insert.dup.policy"
_DROPS = "hoodie.datasource.write.insert.drop.duplicates"
_COMBINES = "hoodie.combine.before.insert"
_MODE = "hoodie.sql.insert.mode"
_BULK = "hoodie.sql.bulk.insert.enable"
_OVERWRITE_MODE = "hoodie.datasource.overwrite.mode"
_SPARK_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
_INSERTS = ("insert", "upsert", "bulk_insert")
_OVERWRITES = ("insert_overwrite", "insert_overwrite_table")
_STRICT = ("strict", "upsert")


class InsertPolicy:
    """What the session and the table say of an INSERT."""

    def __init__(self, spark: SparkSession, options: Options) -> None:
        self.spark = spark
        self._table = {name: str(value) for name, value in options.items()}
        own = (_OPERATION, INTO_OPERATION, _POLICY, _DROPS, _MODE, _BULK, _OVERWRITE_MODE)
        self._others = {name: value for name, value in options.items() if name not in own}

    def _session(self, name: str) -> str | None:
        found = self.spark.conf.get(name, None)
        return found if found is not None else self.spark.conf.get(f"{SPARK_PREFIX}{name}", None)

    def _given(self, name: str) -> str | None:
        found = self._session(name)
        return self._table.get(name) if found is None else found

    def into(self) -> tuple[str, dict[str, OptionValue]]:
        """Returns the operation of INSERT INTO, and its options."""
        self._check_mode()
        name = _OPERATION if self._given(_OPERATION) is not None else INTO_OPERATION
        operation = str(self._given(name) or "insert")
        if operation not in _INSERTS:
            raise UnsupportedError(
                f"INSERT INTO with {name}={operation}, which would be another statement; "
                f"it can be {', '.join(_INSERTS)}"
            )
        policy, options = self._given(_POLICY), self._combined()
        if policy is None:
            return operation, options
        # An upsert with such a policy is an insert, of which a write warns.
        is_insert = operation == "upsert" and policy.lower() in ("drop", "fail")
        return "insert" if is_insert else operation, {**options, _POLICY: policy}

    def overwrite(self) -> dict[str, OptionValue]:
        """Returns the options of INSERT OVERWRITE."""
        self._check_mode()
        operation = self._session(_OPERATION)
        if operation is not None and operation not in _OVERWRITES:
            raise UnsupportedError(
                f"INSERT OVERWRITE with {_OPERATION}={operation} in the session, which would overwrite nothing; "
                f"RESET {_OPERATION}"
            )
        return self._combined()

    def is_dynamic(self) -> bool:
        """Returns whether INSERT OVERWRITE replaces the partitions of its rows alone."""
        mode = self._given(_OVERWRITE_MODE) or self.spark.conf.get(_SPARK_OVERWRITE_MODE, "static")
        if str(mode).lower() not in ("static", "dynamic"):
            raise InvalidArgumentError(f"{_OVERWRITE_MODE} must be static or dynamic, got {mode!r}")
        return str(mode).lower() == "dynamic"

    def _combined(self) -> dict[str, OptionValue]:
        combines = self._session(_COMBINES)
        return self._others if combines is None else {**self._others, _COMBINES: combines}

    def _check_mode(self) -> None:
        mode = self._given(_MODE)
        if mode is not None and mode.lower() not in (*_STRICT, "non-strict"):
            raise InvalidArgumentError(f"{_MODE} must be upsert, strict or non-strict, got {mode!r}")
        is_bulk = (self._given(_BULK) or "").lower() == "true"
        if is_bulk and mode is not None and mode.lower() in _STRICT and self._given(INTO_OPERATION) is None:
            raise InvalidArgumentError(f"{_BULK}=true is possible with {_MODE}=non-strict only, got {mode!r}")


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
    policy = InsertPolicy(spark, table.change_options(spark))
    path = table.path
    if not insert.overwrites:
        return Insert(rows, lambda rows: _inserted(rows, policy, path))
    return Insert(rows, lambda rows: _overwritten(rows, target, policy, path, values))


def _inserted(rows: DataFrame, policy: InsertPolicy, path: str) -> Commit | None:
    operation, options = policy.into()
    return write(rows, path, operation, options=options)


def _overwritten(
    rows: DataFrame, target: TargetTable, policy: InsertPolicy, path: str, values: Mapping[str, str | None]
) -> Commit | None:
    """Replaces rows.

    Args:
        rows: The new rows.
        target: The table.
        policy: What the session and the table say.
        path: Where the table is.
        values: Expressions of partition columns that the statement names; None for those that the query has.
    """
    options = policy.overwrite()
    static = [name for name, text in values.items() if text is not None]
    is_dynamic = policy.is_dynamic()
    if not static and not is_dynamic:
        return write(rows, path, "insert_overwrite_table", options=options)
    is_whole = len(static) == len(target.opened.partition_fields)
    if not is_whole and not is_dynamic:
        remedy = f"give those of all, or set {_SPARK_OVERWRITE_MODE}=dynamic to replace the partitions of the rows"
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
