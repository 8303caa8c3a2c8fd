"""CREATE INDEX, DROP INDEX, REFRESH INDEX and SHOW INDEXES."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortice.errors import InvalidArgumentError
from mortice.spark.statements.statement_text import StatementText
from mortice.spark.statements.targets import done, named_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def change_indexes(spark: SparkSession, statement: StatementText) -> DataFrame | None:
    """Runs a statement about indexes; None for a table that is not of mortice."""
    target = named_table(spark, statement.parsed.names[0].parts)
    if target is None:
        return None
    change, index, is_lenient, _ = statement.parsed.index()
    table, options = target.opened(spark), target.write_options()
    rows = table._native.indexes()  # noqa: SLF001
    indexes = {name: columns for name, _, columns in rows}
    if change == "show":
        return spark.createDataFrame(rows, "index_name string, index_type string, col_name string")
    name = index.split("(")[0]
    if (change == "create") == (name in indexes):
        if is_lenient:
            return done(spark)
        raise InvalidArgumentError(f"the index {name} {'exists' if change == 'create' else 'does not exist'}")
    if change != "create":
        table.build_metadata(options, drop=[name])
    if change == "refresh" and name.startswith("secondary_index_"):
        index = f"{name}({indexes[name]})"
    if change != "drop":
        table.build_metadata(options, add=[index])
    return done(spark)
