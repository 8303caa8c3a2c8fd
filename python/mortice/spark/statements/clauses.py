"""Clauses that several statements have: options, types, columns and partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mortice.spark.statements.cursor import Cursor
from mortice.spark.statements.tokens import quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

__all__ = [
    "ColumnClause",
    "column_clause",
    "options_clause",
    "partition_clause",
    "type_text",
    "types_of",
    "valued_partition",
]

_BEHIND_TYPES = ("NOT", "COMMENT", "DEFAULT", "GENERATED", "FIRST", "AFTER", "COLLATE", ",")


@dataclass(frozen=True)
class ColumnClause:
    """A column as a statement describes it."""

    path: tuple[str, ...]
    """Its name; several parts for a field of a struct."""
    kind: str
    """Its type, in SQL."""
    place: int
    """The token at which the type begins."""
    is_nullable: bool = True
    comment: str | None = None
    after: str | None = None
    """The column that it is put behind."""
    is_first: bool = False


def options_clause(cursor: Cursor) -> dict[str, str]:
    """Consumes `(name = value, name value, 'name' = 'value')`."""
    options: dict[str, str] = {}
    cursor.expect("(")
    while not cursor.take(")"):
        token = cursor.token
        name = cursor.string() if token is not None and token.kind == "STRING" else ".".join(cursor.name())
        if not cursor.take("="):
            cursor.take("==")
        value = cursor.token
        if value is None or (value.kind not in ("STRING", "NUMBER") and value.word not in ("TRUE", "FALSE")):
            raise cursor.error("a value is expected here")
        cursor.at += 1
        options[name] = value.text
        if not cursor.take(",") and not cursor.words(")"):
            raise cursor.error(", or ) is expected here")
    return options


def type_text(cursor: Cursor) -> str:
    """Consumes a type: `decimal(10, 2)`, `struct<a: int, b: map<string, int>>`."""
    begin, depth = cursor.at, 0
    while (token := cursor.token) is not None:
        if depth == 0 and (token.word in _BEHIND_TYPES or token.text == ")"):
            break
        if token.kind not in ("STRING", "IDENTIFIER"):
            depth += sum(token.text.count(one) for one in "(<") - sum(token.text.count(one) for one in ")>")
        cursor.at += 1
    if cursor.at == begin:
        raise cursor.error("a type is expected here")
    return cursor.text[cursor.tokens[begin].start : cursor.tokens[cursor.at - 1].end]


def column_clause(cursor: Cursor) -> ColumnClause:
    """Consumes `name type [NOT NULL] [COMMENT 'text'] [FIRST | AFTER name]`."""
    path = tuple(cursor.name())
    cursor.take(":")
    place, kind = cursor.at, type_text(cursor)
    is_nullable, is_first = True, False
    comment = after = None
    while True:
        if cursor.take("NOT", "NULL"):
            is_nullable = False
        elif cursor.take("COMMENT"):
            comment = cursor.string()
        elif cursor.take("FIRST"):
            is_first = True
        elif cursor.take("AFTER"):
            after = cursor.name()[-1]
        elif cursor.words("DEFAULT") or cursor.words("GENERATED"):
            raise cursor.error("columns with default and generated values are not supported")
        else:
            return ColumnClause(path, kind, place, is_nullable, comment, after, is_first)


def types_of(spark: SparkSession, cursor: Cursor, columns: Sequence[ColumnClause]) -> StructType:
    """Returns the columns with the types of Spark. Raises `InvalidArgumentError` at a type that is none."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructField, StructType

    def parsed(some: Sequence[ColumnClause]) -> StructType | None:
        casts = (f"CAST(NULL AS {one.kind}) AS {quoted('.'.join(one.path))}" for one in some)
        try:
            return spark.sql(f"SELECT {', '.join(casts)}").schema
        except PySparkException:
            return None

    found = parsed(columns)
    if found is None:
        wrong = next((one for one in columns if parsed([one]) is None), columns[0])
        cursor.at = wrong.place
        raise cursor.error(f"{wrong.kind} is not a type of Spark")
    fields = zip(found, columns, strict=True)
    return StructType([StructField(field.name, field.dataType, one.is_nullable) for field, one in fields])


def partition_clause(cursor: Cursor) -> dict[str, str | None]:
    """Consumes `PARTITION (dt = '2021-12-09', hh)`. Returns expressions by column; None where there is none."""
    cursor.expect("PARTITION")
    cursor.expect("(")
    values: dict[str, str | None] = {}
    while True:
        place, name = cursor.error("the column is named twice"), cursor.name()[-1]
        if name.lower() in (other.lower() for other in values):
            raise place
        has_value = cursor.take("=") or cursor.take("==")
        values[name] = cursor.until(",") if has_value else None
        if not cursor.take(","):
            cursor.expect(")")
            return values


def valued_partition(cursor: Cursor) -> dict[str, str | None]:
    """Consumes `PARTITION (dt = '2021-12-09')`, each column with a value."""
    place, values = cursor.error("each column needs a value here: PARTITION (name = value)"), partition_clause(cursor)
    if None in values.values():
        raise place
    return values
