"""MERGE INTO, UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from mortice._mortice import Commit, MergeStatementClause, StatementAssignment
from mortice.errors import InvalidArgumentError
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.row_actions import persisted
from mortice.spark.statements.inserts import planned_insert
from mortice.spark.statements.parameters import quoted
from mortice.spark.statements.queries import Views
from mortice.spark.statements.row_changes import RowAction, RowChanges
from mortice.spark.statements.spark_errors import parsed_query, run_by_spark
from mortice.spark.statements.statement_text import StatementText
from mortice.spark.statements.target_table import TargetTable, whole_partitions
from mortice.spark.statements.targets import SqlTable, named_table, qualifiers
from mortice.spark.writing.write import write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["change"]


def change(spark: SparkSession, statement: StatementText, views: Views) -> DataFrame:
    """Runs a statement that changes rows, by Spark if it is not of a table of mortice.

    Args:
        spark: The session.
        statement: The statement.
        views: Views of the tables that it reads.
    """
    parsed = statement.parsed
    targets = [named_table(spark, name.parts) for name in parsed.names]
    views.put_in_place(statement)
    tables = [table for table in targets if table is not None]
    if not tables:
        return run_by_spark(spark, statement.sql(), views.titles)
    if None in targets:
        raise statement.error(
            "of the tables of several INSERT all are to be of mortice, or none, and this one is not",
            parsed.names[targets.index(None)].at,
        )
    views.add_with(statement)
    if parsed.kind == "insert":
        return _summary(spark, *_run_inserts(spark, statement, tables))
    run = {"merge": _merge, "update": _change_rows, "delete": _change_rows, "truncate": _truncate}[parsed.kind]
    return _summary(spark, run(spark, statement, tables[0]))


def _run_inserts(spark: SparkSession, statement: StatementText, tables: Sequence[SqlTable]) -> list[Commit | None]:
    """Runs INSERT clauses, one after the other. The rows of all are those of the tables as they are before the first.

    Args:
        spark: The session.
        statement: The statement.
        tables: The table of each clause.
    """
    clauses = statement.parsed.inserts()
    planned = [planned_insert(spark, statement, one, table) for one, table in zip(clauses, tables, strict=True)]
    if len(planned) == 1:
        return [planned[0].write(planned[0].rows)]
    with ExitStack() as kept:
        rows = [kept.enter_context(persisted(one.rows)) for one in planned]
        with typed_errors():
            for frame in rows:
                frame.count()
        return [one.write(frame) for one, frame in zip(planned, rows, strict=True)]


def _summary(spark: SparkSession, *commits: Commit | None) -> DataFrame:
    """Returns what commits did, as Spark shows it: a row for each, the first column the number of rows.

    Args:
        spark: The session.
        commits: The commits; None if there was nothing to do.
    """
    rows = []
    for commit in commits:
        counts = (0, 0, 0) if commit is None else (commit.updates, commit.deletes, commit.inserts)
        rows.append((sum(counts), *counts, None if commit is None else commit.instant))
    names = "num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint"
    return spark.createDataFrame(rows, f"{names}, instant string")


def _alias(spark: SparkSession, statement: StatementText, parts: list[str], given: str | None) -> str:
    """Returns what the columns of a table are qualified by: its alias, or its name, in all its forms.

    Args:
        spark: The session.
        statement: The statement.
        parts: The name of the table.
        given: The alias; None for none.
    """
    if given is None:
        statement.replace_qualifiers(qualifiers(spark, parts), parts[-1])
    return given or parts[-1]


def _merge(spark: SparkSession, statement: StatementText, table: SqlTable) -> Commit:
    merge, parts = statement.parsed.merge(), statement.parsed.names[0].parts
    alias = _alias(spark, statement, parts, merge.alias)
    source = parsed_query(spark, statement.sql(merge.source), "SELECT * FROM ")
    name = _alias(spark, statement, merge.source_parts, merge.source_alias)
    scope = _Clauses(statement, RowChanges(spark, table, alias), qualifiers(spark, parts))
    actions = [scope.action(clause, source, name) for clause in merge.clauses]
    return scope.changes.of_merge(source, name, statement.sql(merge.on), actions)


def _change_rows(spark: SparkSession, statement: StatementText, table: SqlTable) -> Commit:
    """Runs UPDATE and DELETE."""
    clauses, parts = statement.parsed.row_change(), statement.parsed.names[0].parts
    alias = _alias(spark, statement, parts, clauses.alias)
    scope = _Clauses(statement, RowChanges(spark, table, alias), qualifiers(spark, parts))
    values = scope.assigned(clauses.assignments)
    where = None if clauses.condition is None else statement.sql(clauses.condition)
    return scope.changes.of_rows(where, RowAction(statement.parsed.kind, "target", None, values))


class _Clauses:
    """The clauses of a statement, as actions on the rows of a table.

    Args:
        statement: The statement.
        changes: The changes of the table.
        names: Names of the table by which its columns can be qualified, beside its alias.
    """

    def __init__(self, statement: StatementText, changes: RowChanges, names: list[list[str]]) -> None:
        self.statement, self.changes = statement, changes
        self._own = [[changes.alias.lower()], *names]

    def action(self, clause: MergeStatementClause, source: DataFrame, name: str) -> RowAction:
        """Returns what a clause of MERGE does.

        Args:
            clause: The clause.
            source: The rows of the source.
            name: What the expressions call them.
        """
        condition = None if clause.condition is None else self.statement.sql(clause.condition)
        if clause.star_at is not None:
            values = self._all(source, name, clause.star_at)
        elif clause.kind == "insert":
            values = {self.changes.column(one.parts[-1]): self._value(one) for one in clause.assignments}
        else:
            values = self.assigned(clause.assignments)
        return RowAction(clause.kind, clause.side, condition, values)

    def _value(self, assignment: StatementAssignment) -> str:
        """Returns a new value; DEFAULT is null, as columns have no other default."""
        return "NULL" if assignment.value is None else self.statement.sql(assignment.value)

    def _all(self, source: DataFrame, name: str, at: int) -> dict[str, str]:
        """Returns the values of `*`: each column of the table from that of the source with its name.

        Args:
            source: The rows of the source.
            name: What the expressions call them.
            at: Where `*` is.
        """
        values = {}
        for column in self.changes.schema.names:
            found = [one for one in source.columns if one.lower() == column.lower()]
            if len(found) != 1:
                raise self.statement.error(
                    f"* needs all columns of the table, and the source has no column {column!r}; name the columns", at
                )
            values[column] = f"{quoted(name)}.{quoted(found[0])}"
        return values

    def assigned(self, assignments: Sequence[StatementAssignment]) -> dict[str, str]:
        """Returns the values of `a = 1, t.b = 2`."""
        values: dict[str, str] = {}
        for one in assignments:
            column = self._column(one)
            if column in values:
                raise self.statement.error("the column is assigned twice", one.at)
            values[column] = self._value(one)
        return values

    def _column(self, assignment: StatementAssignment) -> str:
        """Returns the column that a name such as `fare`, `t.fare` or `db.trips.fare` is of."""
        parts, at = assignment.parts, assignment.at
        lower = [part.lower() for part in parts]
        known = {name.lower() for name in self.changes.schema.names}
        own = (len(one) for one in self._own if lower[: len(one)] == one and lower[len(one) : len(one) + 1])
        behind = next(own, 0)
        if behind and lower[behind] not in known and lower[0] in known:
            behind = 0
        if len(parts) - behind > 1 and lower[behind] in known:
            column = parts[behind]
            raise self.statement.error(
                f"fields of structs are not assigned; assign all of {column}: {column} = named_struct(…)", at
            )
        if len(parts) - behind > 1:
            raise self.statement.error(f"{'.'.join(parts)} is not a column of the table {self.changes.alias}", at)
        try:
            return self.changes.column(parts[behind])
        except InvalidArgumentError as error:
            raise self.statement.error(error.message, at) from error


def _truncate(spark: SparkSession, statement: StatementText, table: SqlTable) -> Commit | None:
    partition = statement.parsed.partition()
    target = TargetTable(spark, table, "truncated")
    if partition is None:
        rows = spark.createDataFrame([], target.schema)
        return write(rows, table.path, "insert_overwrite_table", options=table.change_options(spark))
    paths = whole_partitions(spark, target.opened, statement.partition(partition))
    return target.opened.delete_partitions(paths, target.table_options) if paths else None
