"""MERGE INTO, UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.row_actions import persisted
from mortice.spark.statements.cursor import Cursor, valued_partition
from mortice.spark.statements.inserts import listed_names, planned_insert
from mortice.spark.statements.queries import Views
from mortice.spark.statements.relations import with_clause
from mortice.spark.statements.row_changes import RowAction, RowChanges
from mortice.spark.statements.spark_errors import parsed_query, run_by_spark
from mortice.spark.statements.target_table import TargetTable, whole_partitions
from mortice.spark.statements.targets import SqlTable, named_table, qualifiers
from mortice.spark.statements.tokens import Expression, matching_bracket, quoted
from mortice.spark.writing.write import write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["change"]


def change(spark: SparkSession, cursor: Cursor, views: Views) -> DataFrame | None:
    """Runs a statement that changes rows. Returns None if it is not one, or not of a table of mortice.

    Args:
        spark: The session.
        cursor: The statement.
        views: Views of the tables that it reads.
    """
    before, inserts, clause = 0, [], with_clause(cursor)
    if clause is not None:
        cursor.at = clause.end
    if cursor.words("FROM"):
        before, inserts = cursor.at, _inserts(cursor)
        cursor.at = inserts[0] if inserts else len(cursor.tokens)
    statements = {"MERGE": _merge, "UPDATE": _update, "DELETE": _delete, "TRUNCATE": _truncate}
    word = cursor.token.word if cursor.token is not None else ""
    if word not in statements and word != "INSERT":
        return None
    begin = cursor.at
    places = [_written_to(cursor.restarted_at(at)) for at in inserts or [begin]]
    targets = [_target(spark, cursor.restarted_at(place)) for place in places]
    cursor.at = 0
    views.put_in_place(cursor, places)
    if not any(targets):
        return run_by_spark(spark, cursor.sql(), views.titles)
    if not all(targets):
        cursor.at = places[targets.index(None)]
        raise cursor.error("of the tables of several INSERT all are to be of mortice, or none, and this one is not")
    if clause is not None:
        cursor.at = clause.end
        views.add_with(cursor, clause)
    cursor.at = begin
    if inserts:
        return _summary(spark, *_run_inserts(spark, cursor, cursor.sql(before, begin), inserts))
    if word == "INSERT":
        return _summary(spark, *_run_inserts(spark, cursor, None, [begin]))
    return _summary(spark, statements[word](spark, cursor))


def _run_inserts(
    spark: SparkSession, cursor: Cursor, before: Expression | None, inserts: Sequence[int]
) -> list[Commit | None]:
    """Runs INSERT clauses, one after the other. The rows of all are those of the tables as they are before the first.

    Args:
        spark: The session.
        cursor: The statement.
        before: `FROM a, b` of a statement that has it before INSERT.
        inserts: The tokens at which the clauses begin.
    """
    ends = [*inserts[1:], len(cursor.tokens)]
    parts = [cursor.part(begin, end) for begin, end in zip(inserts, ends, strict=True)]
    planned = [planned_insert(spark, part, before) for part in parts]
    if len(planned) == 1:
        return [planned[0].write(planned[0].rows)]
    with ExitStack() as kept:
        rows = [kept.enter_context(persisted(one.rows)) for one in planned]
        with typed_errors():
            for frame in rows:
                frame.count()
        return [one.write(frame) for one, frame in zip(planned, rows, strict=True)]


def _inserts(cursor: Cursor) -> list[int]:
    """Returns the tokens at which INSERT begins behind `FROM a, b`."""
    tokens = cursor.tokens
    inserts, at = [], cursor.at
    while at < len(tokens):
        if tokens[at].text == "(" and tokens[at].kind == "OPERATOR":
            at = matching_bracket(tokens, at)
        elif tokens[at].word == "INSERT" and at + 1 < len(tokens) and tokens[at + 1].word in ("INTO", "OVERWRITE"):
            inserts.append(at)
        at += 1
    return inserts


def _written_to(cursor: Cursor) -> int:
    """Returns the token at which the name of the table begins that a statement writes to."""
    words = (
        *("MERGE", "WITH", "SCHEMA", "EVOLUTION", "INTO", "UPDATE", "DELETE", "FROM", "INSERT", "OVERWRITE"),
        *("TRUNCATE", "TABLE"),
    )
    at = cursor.at
    while at < len(cursor.tokens) and cursor.tokens[at].word in words:
        at += 1
    return at


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


def _target(spark: SparkSession, cursor: Cursor) -> tuple[SqlTable, list[str]] | None:
    parts = cursor.name()
    table = named_table(spark, parts)
    return None if table is None else (table, parts)


def _expected_target(spark: SparkSession, cursor: Cursor) -> tuple[SqlTable, list[str]]:
    place, found = cursor.error("there is no such table of mortice"), _target(spark, cursor)
    if found is None:
        raise place
    return found


def _alias(spark: SparkSession, cursor: Cursor, parts: list[str], *stops: str) -> str:
    """Consumes an alias. Without one, columns can be qualified by the name of the table, in all its forms."""
    given = cursor.alias(*stops)
    if given is None:
        cursor.replace_qualifiers(qualifiers(spark, parts), parts[-1])
    return given or parts[-1]


def _merge(spark: SparkSession, cursor: Cursor) -> Commit:
    cursor.expect("MERGE")
    place = cursor.error("WITH SCHEMA EVOLUTION is not supported; add the columns to the table first")
    if cursor.take("WITH", "SCHEMA", "EVOLUTION"):
        raise place
    cursor.take("INTO")
    table, parts = _expected_target(spark, cursor)
    alias = _alias(spark, cursor, parts, "USING")
    cursor.expect("USING")
    source, name = _source(spark, cursor)
    cursor.expect("ON")
    on = cursor.until("WHEN")
    changes = RowChanges(spark, table, alias)
    actions = []
    while cursor.take("WHEN"):
        actions.append(_clause(cursor, changes, qualifiers(spark, parts), source, name))
    cursor.expect_end()
    if not actions:
        raise cursor.error("WHEN MATCHED or WHEN NOT MATCHED is expected here")
    return changes.of_merge(source, name, on, actions)


def _source(spark: SparkSession, cursor: Cursor) -> tuple[DataFrame, str]:
    begin, parts = cursor.at, ["source"]
    if cursor.words("("):
        cursor.at = matching_bracket(cursor.tokens, begin) + 1
    else:
        parts = cursor.name()
        cursor.at = cursor.behind_replaced(begin, cursor.at)
    rows = parsed_query(spark, cursor.sql(begin, cursor.at), "SELECT * FROM ")
    return rows, _alias(spark, cursor, parts, "ON")


def _clause(cursor: Cursor, changes: RowChanges, names: list[list[str]], source: DataFrame, name: str) -> RowAction:
    """Consumes a clause of MERGE behind WHEN.

    Args:
        cursor: The statement.
        changes: The changes of the table.
        names: Names of the table by which its columns can be qualified, beside its alias.
        source: The rows of the source.
        name: What the expressions call them.
    """
    side = "source" if cursor.take("NOT") else "matched"
    cursor.expect("MATCHED")
    if side == "source" and cursor.take("BY"):
        if cursor.take("SOURCE"):
            side = "target"
        else:
            cursor.expect("TARGET")
    condition = cursor.until("THEN") if cursor.take("AND") else None
    cursor.expect("THEN")
    if side == "source":
        cursor.expect("INSERT")
        return RowAction("insert", side, condition, _inserted(cursor, changes, source, name))
    if cursor.take("DELETE"):
        return RowAction("delete", side, condition, {})
    cursor.expect("UPDATE")
    cursor.expect("SET")
    if cursor.take("*"):
        if side == "target":
            raise cursor.error("rows without a source row have no values for *")
        return RowAction("update", side, condition, _all(cursor, changes, source, name))
    return RowAction("update", side, condition, _assignments(cursor, changes, names, "WHEN"))


def _all(cursor: Cursor, changes: RowChanges, source: DataFrame, name: str) -> dict[str, str]:
    """Returns the values of `*`: each column of the table from that of the source with its name.

    Args:
        cursor: The statement, behind `*`.
        changes: The changes of the table.
        source: The rows of the source.
        name: What the expressions call them.
    """
    values = {}
    for column in changes.schema.names:
        found = [one for one in source.columns if one.lower() == column.lower()]
        if len(found) != 1:
            raise cursor.restarted_at(cursor.at - 1).error(
                f"* needs all columns of the table, and the source has no column {column!r}; name the columns"
            )
        values[column] = f"{quoted(name)}.{quoted(found[0])}"
    return values


def _inserted(cursor: Cursor, changes: RowChanges, source: DataFrame, name: str) -> dict[str, str]:
    if cursor.take("*"):
        return _all(cursor, changes, source, name)
    names = listed_names(cursor, changes)
    cursor.expect("VALUES")
    place = cursor.error(f"{len(names)} values are expected here, one for each column")
    values = _listed(cursor)
    if len(values) != len(names):
        raise place
    return dict(zip(names, values, strict=True))


def _listed(cursor: Cursor) -> list[str]:
    cursor.expect("(")
    values = [_value(cursor, ",")]
    while cursor.take(","):
        values.append(_value(cursor, ","))
    cursor.expect(")")
    return values


def _value(cursor: Cursor, *stops: str) -> str:
    """Consumes a new value; DEFAULT is null, as columns have no other default."""
    begin, text = cursor.at, cursor.until(*stops)
    return "NULL" if cursor.at == begin + 1 and cursor.tokens[begin].word == "DEFAULT" else text


def _assignments(cursor: Cursor, changes: RowChanges, names: list[list[str]], *stops: str) -> dict[str, str]:
    """Consumes `a = 1, t.b = 2`.

    Args:
        cursor: The statement.
        changes: The changes of the table.
        names: Names of the table by which its columns can be qualified, beside its alias.
        *stops: Words at which the last value ends.
    """
    values: dict[str, str] = {}
    own = [[changes.alias.lower()], *names]
    while True:
        start = cursor.restarted_at(cursor.at)
        column = _assigned(start, cursor.name(), changes, own)
        if column in values:
            raise start.error("the column is assigned twice")
        if not cursor.take("=") and not cursor.take("=="):
            raise cursor.error("= is expected here")
        values[column] = _value(cursor, ",", *stops)
        if not cursor.take(","):
            return values


def _assigned(place: Cursor, parts: list[str], changes: RowChanges, own: list[list[str]]) -> str:
    """Returns the column that a name such as `fare`, `t.fare` or `db.trips.fare` is of."""
    lower = [part.lower() for part in parts]
    known = {name.lower() for name in changes.schema.names}
    behind = next((len(one) for one in own if lower[: len(one)] == one and lower[len(one) : len(one) + 1]), 0)
    if behind and lower[behind] not in known and lower[0] in known:
        behind = 0
    if len(parts) - behind > 1 and lower[behind] in known:
        column = parts[behind]
        raise place.error(f"fields of structs are not assigned; assign all of {column}: {column} = named_struct(…)")
    if len(parts) - behind > 1:
        raise place.error(f"{'.'.join(parts)} is not a column of the table {changes.alias}")
    try:
        return changes.column(parts[behind])
    except InvalidArgumentError as error:
        raise place.error(error.message) from error


def _update(spark: SparkSession, cursor: Cursor) -> Commit:
    cursor.expect("UPDATE")
    table, parts = _expected_target(spark, cursor)
    alias = _alias(spark, cursor, parts, "SET")
    cursor.expect("SET")
    changes = RowChanges(spark, table, alias)
    values = _assignments(cursor, changes, qualifiers(spark, parts), "WHERE")
    where = _where(cursor)
    return changes.of_rows(where, RowAction("update", "target", None, values))


def _delete(spark: SparkSession, cursor: Cursor) -> Commit:
    cursor.expect("DELETE")
    cursor.expect("FROM")
    table, parts = _expected_target(spark, cursor)
    alias = _alias(spark, cursor, parts, "WHERE")
    where = _where(cursor)
    return RowChanges(spark, table, alias).of_rows(where, RowAction("delete", "target", None, {}))


def _where(cursor: Cursor) -> str | None:
    where = cursor.until() if cursor.take("WHERE") else None
    cursor.expect_end()
    return where


def _truncate(spark: SparkSession, cursor: Cursor) -> Commit | None:
    cursor.expect("TRUNCATE")
    cursor.take("TABLE")
    table, _ = _expected_target(spark, cursor)
    if not cursor.words("PARTITION"):
        cursor.expect_end()
        rows = spark.createDataFrame([], TargetTable(spark, table, "truncated").schema)
        return write(rows, table.path, "insert_overwrite_table", options=table.change_options(spark))
    values = valued_partition(cursor)
    cursor.expect_end()
    target = TargetTable(spark, table, "truncated")
    paths = whole_partitions(spark, target.opened, values)
    return target.opened.delete_partitions(paths, target.table_options) if paths else None
