"""The columns of a DataFrame that is merged into a table, with the names and types of the table's.

Spark would compare keys of different types in the type that both have in common, and the rows to write would have it:
the upsert would give it to the table's column. So values are cast before the join, and those that the table's type does
not hold exactly are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mortice._mortice import MergePlan
from mortice.errors import InvalidArgumentError
from mortice.spark.statements.parameters import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

MISFIT = MergePlan.MISFIT
"""A column of the rows: what is wrong with a value, or null."""
CASE_SENSITIVE = "spark.sql.caseSensitive"


def ignores_case(df: DataFrame) -> bool:
    """Returns whether the session of a DataFrame ignores the case of names."""
    return str(df.sparkSession.conf.get(CASE_SENSITIVE, "false")).lower() != "true"


def with_table_types(marked: DataFrame, names: Sequence[str], table: StructType, used: Sequence[str]) -> DataFrame:
    """Returns rows with these names and the table's types, and with the column `MISFIT`.

    Args:
        marked: The given rows, with further columns at the end.
        names: The names of the first columns.
        table: The columns of the table.
        used: The columns of the rows that the merge uses. Values of others are not cast; they are left out.

    Raises `InvalidArgumentError`, naming the column, for a type that is not cast to the table's.
    """
    from pyspark.sql import functions as f

    types = {field.name: field.dataType for field in table}
    columns, misfits = [], []
    for given, name in zip(marked.schema, [*names, *marked.columns[len(names) :]], strict=True):
        column, kind = f.col(quoted(given.name)), types.get(name)
        # The names of types leave out what may be null.
        if kind is None or given.dataType.simpleString() == kind.simpleString():
            columns.append(column.alias(name))
            continue
        if name not in used:
            columns.append(f.lit(None).cast(kind).alias(name))
            continue
        if not is_castable(given.dataType, kind):
            raise InvalidArgumentError(
                f"column {name!r} has the type {given.dataType.simpleString()} in the rows and {kind.simpleString()} "
                "in the table, and these are not cast; cast it before the merge"
            )
        columns.append(try_cast(given.name, kind).alias(name))
        if given.dataType.typeName() == "void":
            continue
        back = try_cast(given.name, kind, given.dataType)
        message = f.concat_ws(
            "",
            f.lit(f"column {name!r}: the value "),
            column.cast("string"),
            f.lit(
                f" of type {given.dataType.simpleString()} does not fit the table's {kind.simpleString()}; cast the "
                "column before the merge, or leave these rows out"
            ),
        )
        misfits.append(f.when(column.isNotNull() & ~column.eqNullSafe(back), message))
    misfit = f.coalesce(*misfits) if misfits else f.lit(None).cast("string")
    return marked.select(*columns, misfit.alias(MISFIT))


def try_cast(name: str, *kinds: DataType) -> Column:
    """Returns the column cast to types, one after the other, with null for values that they do not have."""
    from pyspark.sql import functions as f

    column, text = f.col(quoted(name)), quoted(name)
    # A Column has any name as an attribute: that of a field.
    if hasattr(type(column), "try_cast"):
        for kind in kinds:
            column = column.try_cast(kind)
        return column
    # Spark 3.5 has the function in SQL only.
    for kind in kinds:
        text = f"try_cast({text} as {kind.simpleString()})"
    return f.expr(text)


_FAMILIES = {
    **dict.fromkeys(("byte", "short", "integer", "long", "float", "double", "decimal"), "number"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "time"),
}


def is_castable(given: DataType, table: DataType) -> bool:
    """Returns true for types of which one may hold the values of the other. Maps are not compared by Spark."""
    from pyspark.sql import types as st

    if isinstance(given, st.NullType):
        return True
    if isinstance(given, st.ArrayType) and isinstance(table, st.ArrayType):
        return is_castable(given.elementType, table.elementType)
    if isinstance(given, st.StructType) and isinstance(table, st.StructType):
        # Spark casts fields by their position.
        if given.names != table.names:
            return False
        return all(is_castable(one.dataType, two.dataType) for one, two in zip(given, table, strict=True))
    kinds = [kind.typeName() for kind in (given, table)]
    families = {_FAMILIES.get(kind, kind) for kind in kinds}
    if "map" in families or "variant" in families:
        return False
    is_nested = bool(families & {"array", "struct"})
    return len(families) == 1 or ("string" in families and not is_nested)
