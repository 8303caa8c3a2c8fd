"""MERGE INTO, UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from mortice.commit import Commit
from mortice.errors import InvalidArgumentError
from mortice.spark.statements.cursor import Cursor
from mortice.spark.statements.inserts import insert, listed_names
from mortice.spark.statements.row_changes import RowAction, RowChanges
from mortice.spark.statements.target_table import TargetTable
from mortice.spark.statements.targets import SqlTable, named_table
from mortice.spark.statements.tokens import quoted
from mortice.spark.writing.write import write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["change", "summary"]


def change(spark: SparkSession, cursor: Cursor) -> Commit | None:
    """Runs a statement that changes rows. Returns None if it is not one, or not of a table of mortice."""
    statements = {"MERGE": _merge, "UPDATE": _update, "DELETE": _delete, "INSERT": insert, "TRUNCATE": _truncate}
    word = cursor.token.word if cursor.token is not None else ""
    return statements[word](spark, cursor) if word in statements else None


def summary(spark: SparkSession, commit: Commit) -> DataFrame:
    """Returns what a commit did, as Spark shows it: one row, the first column the number of rows."""
    counts = (commit.updates, commit.deletes, commit.inserts)
    names = "num_affected_rows bigint, num_updated_rows bigint, num_deleted_rows bigint, num_inserted_rows bigint"
    return spark.createDataFrame([(sum(counts), *counts, commit.instant)], f"{names}, instant string")


def _target(spark: SparkSession, cursor: Cursor) -> tuple[SqlTable, list[str]] | None:
    parts = cursor.name()
    table = named_table(spark, parts)
    return None if table is None else (table, parts)


def _merge(spark: SparkSession, cursor: Cursor) -> Commit | None:
    cursor.expect("MERGE")
    evolves = cursor.take("WITH", "SCHEMA", "EVOLUTION")
    cursor.take("INTO")
    if (found := _target(spark, cursor)) is None:
        return None
    if evolves:
        raise cursor.error("WITH SCHEMA EVOLUTION is not supported; add the columns to the table first")
    table, parts = found
    alias = cursor.alias("USING") or parts[-1]
    cursor.expect("USING")
    source, name = _source(spark, cursor)
    cursor.expect("ON")
    on = cursor.until("WHEN")
    changes = RowChanges(spark, table, alias)
    actions = []
    while cursor.take("WHEN"):
        actions.append(_clause(cursor, changes, source, name))
    cursor.expect_end()
    if not actions:
        raise cursor.error("WHEN MATCHED or WHEN NOT MATCHED is expected here")
    return changes.of_merge(source, name, on, actions)


def _source(spark: SparkSession, cursor: Cursor) -> tuple[DataFrame, str]:
    if cursor.words("("):
        text, default = cursor.until("AS", "ON", *_names_after(cursor)), "source"
        rows = spark.sql(text[1:-1])
    else:
        parts = cursor.name()
        default = parts[-1]
        rows = spark.table(".".join(quoted(part) for part in parts))
    return rows, cursor.alias("ON") or default


def _names_after(cursor: Cursor) -> list[str]:
    """Returns the word behind the bracket that opens at the next token: the alias without AS."""
    depth = 0
    for at in range(cursor.at, len(cursor.tokens)):
        text = cursor.tokens[at].text if cursor.tokens[at].kind != "STRING" else ""
        depth += (text == "(") - (text == ")")
        if depth == 0:
            following = cursor.tokens[at + 1 : at + 2]
            return [following[0].word] if following else []
    return []


def _clause(cursor: Cursor, changes: RowChanges, source: DataFrame, name: str) -> RowAction:
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
        return RowAction("update", side, condition, _all(changes, source, name))
    return RowAction("update", side, condition, _assignments(cursor, changes, "WHEN"))


def _all(changes: RowChanges, source: DataFrame, name: str) -> dict[str, str]:
    """Returns the values of `*`: each column of the table from that of the source with its name."""
    values = {}
    for column in changes.schema.names:
        found = [one for one in source.columns if one.lower() == column.lower()]
        if len(found) != 1:
            raise InvalidArgumentError(
                f"* needs all columns of the table, and the source has no column {column!r}; name the columns"
            )
        values[column] = f"{quoted(name)}.{quoted(found[0])}"
    return values


def _inserted(cursor: Cursor, changes: RowChanges, source: DataFrame, name: str) -> dict[str, str]:
    if cursor.take("*"):
        return _all(changes, source, name)
    names = listed_names(cursor, changes)
    cursor.expect("VALUES")
    place = cursor.error(f"{len(names)} values are expected here, one for each column")
    values = _listed(cursor)
    if len(values) != len(names):
        raise place
    return dict(zip(names, values, strict=True))


def _listed(cursor: Cursor) -> list[str]:
    cursor.expect("(")
    values: list[str] = [cursor.until(",")]
    while cursor.take(","):
        values.append(cursor.until(","))
    cursor.expect(")")
    return values


def _assignments(cursor: Cursor, changes: RowChanges, *stops: str) -> dict[str, str]:
    values: dict[str, str] = {}
    while True:
        start, parts = copy.copy(cursor), cursor.name()
        try:
            # `t.fare` and `fare`; fields of structs are not assigned.
            column = changes.column(parts[-1])
        except InvalidArgumentError as error:
            raise start.error(error.message) from error
        if len(parts) > 2 or (len(parts) == 2 and parts[0].lower() != changes.alias.lower()):  # noqa: PLR2004
            raise cursor.error(f"{'.'.join(parts)} is not a column of the table {changes.alias}")
        if column in values:
            raise start.error("the column is assigned twice")
        if not cursor.take("=") and not cursor.take("=="):
            raise cursor.error("= is expected here")
        values[column] = cursor.until(",", *stops)
        if not cursor.take(","):
            return values


def _update(spark: SparkSession, cursor: Cursor) -> Commit | None:
    cursor.expect("UPDATE")
    if (found := _target(spark, cursor)) is None:
        return None
    table, parts = found
    alias = cursor.alias("SET") or parts[-1]
    cursor.expect("SET")
    changes = RowChanges(spark, table, alias)
    values = _assignments(cursor, changes, "WHERE")
    where = _where(cursor)
    return changes.of_rows(where, RowAction("update", "target", None, values))


def _delete(spark: SparkSession, cursor: Cursor) -> Commit | None:
    cursor.expect("DELETE")
    cursor.expect("FROM")
    if (found := _target(spark, cursor)) is None:
        return None
    table, parts = found
    alias = cursor.alias("WHERE") or parts[-1]
    where = _where(cursor)
    return RowChanges(spark, table, alias).of_rows(where, RowAction("delete", "target", None, {}))


def _where(cursor: Cursor) -> str | None:
    where = cursor.until() if cursor.take("WHERE") else None
    cursor.expect_end()
    return where


def _truncate(spark: SparkSession, cursor: Cursor) -> Commit | None:
    cursor.expect("TRUNCATE")
    cursor.take("TABLE")
    if (found := _target(spark, cursor)) is None:
        return None
    cursor.expect_end()
    table = found[0]
    rows = spark.createDataFrame([], TargetTable(spark, table, "truncated").schema)
    return write(rows, table.path, "insert_overwrite_table", options=table.write_options())
