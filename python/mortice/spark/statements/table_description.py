"""What a table is: DESCRIBE EXTENDED, SHOW CREATE TABLE, SHOW TBLPROPERTIES, SHOW PARTITIONS. Statements that Spark's
own tables need: MSCK, ANALYZE TABLE.

Spark knows of a table of a Python data source only its columns. `SHOW TABLE EXTENDED` is the exception, which shows the
whole entry of the session catalog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortice.spark.statements.parameters import quoted, quoted_string
from mortice.spark.statements.statement_text import StatementText
from mortice.spark.statements.target_table import matching_partitions, own_schema
from mortice.spark.statements.targets import SqlTable, done, entry_lines, is_path, named, named_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mortice.table import Table


_TYPES = {"COPY_ON_WRITE": "cow", "MERGE_ON_READ": "mor"}
_MODES = ("COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING")


def properties(table: Table) -> dict[str, str]:
    """Returns the properties of CREATE TABLE that make such a table."""
    found = {"type": _TYPES.get(table.properties.get("hoodie.table.type", ""), "cow")}
    if table.record_key_fields:
        found["primaryKey"] = ",".join(table.record_key_fields)
    if table.ordering_fields:
        found["orderingFields"] = ",".join(table.ordering_fields)
    if table.merge_mode in _MODES and table.merge_mode != _MODES[bool(table.ordering_fields)]:
        found["recordMergeMode"] = table.merge_mode
    if table.merge_mode not in _MODES and "hoodie.compaction.payload.class" in table.properties:
        found["payloadClass"] = table.properties["hoodie.compaction.payload.class"]
    return found


def _definition(table: Table, given: dict[str, str]) -> str:
    """Returns what follows the name in CREATE TABLE, up to the location.

    Args:
        table: The table.
        given: Properties besides those of the table.
    """
    columns = [f"  {quoted(field.name)} {field.dataType.simpleString()}" for field in own_schema(table)]
    listed = ", ".join(f"{quoted_string(name)} = {quoted_string(value)}" for name, value in given.items())
    text = "(\n" + ",\n".join(columns) + f")\nUSING hudi\nTBLPROPERTIES ({listed})"
    if table.partition_fields:
        text += f"\nPARTITIONED BY ({', '.join(map(quoted, table.partition_fields))})"
    return text


def describe_table(spark: SparkSession, statement: StatementText) -> DataFrame | None:
    """Runs DESCRIBE of a path, and DESCRIBE EXTENDED of all names; None for others."""
    parts, is_extended = statement.parsed.names[0].parts, statement.parsed.is_extended
    table = named_table(spark, parts) if is_extended or is_path(parts) else None
    if table is None:
        return None
    opened = table.opened(spark)
    schema = own_schema(opened)
    rows: list[tuple[str, str, str | None]] = [(field.name, field.dataType.simpleString(), None) for field in schema]
    if opened.partition_fields:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [(name, schema[name].dataType.simpleString(), None) for name in opened.partition_fields]
    if is_extended:
        rows += [("", "", ""), ("# Detailed Table Information", "", "")]
        rows += [(name, text, "") for name, text in _details(spark, table, opened).items()]
    return spark.createDataFrame(rows, "col_name string, data_type string, comment string")


def _details(spark: SparkSession, table: SqlTable, opened: Table) -> dict[str, str]:
    lines = {} if table.name is None else entry_lines(spark, table.name)
    shown: dict[str, str] = {
        name: lines[name]
        for name in ("Catalog", "Database", "Table", "Owner", "Created Time", "Created By", "Comment")
        if name in lines
    }
    listed = ", ".join(f"{name}={value}" for name, value in {**properties(opened), **table.options}.items())
    return {
        **shown,
        "Type": "MANAGED" if table.is_managed else "EXTERNAL",
        "Provider": "mortice",
        "Location": opened.uri,
        "Table Properties": f"[{listed}]",
    }


def show_table(spark: SparkSession, statement: StatementText) -> DataFrame | None:
    """Runs SHOW CREATE TABLE and SHOW TBLPROPERTIES; None for other tables."""
    parts = statement.parsed.names[0].parts
    table = named_table(spark, parts)
    if table is None:
        return None
    name, opened = statement.parsed.property(), table.opened(spark)
    of_entry = {name: str(value) for name, value in table.options.items() if name.startswith(("hoodie.", "mortice."))}
    found = {**properties(opened), **of_entry}
    if statement.parsed.kind == "show_create_table":
        location = "" if table.is_managed else f"LOCATION {quoted_string(opened.uri)}\n"
        text = f"CREATE TABLE {named(parts)} {_definition(opened, found)}\n{location}"
        return spark.createDataFrame([(text,)], "createtab_stmt string")
    if name is not None:
        found = {name: found.get(name, f"Table {named(parts)} does not have property: {name}")}
    return spark.createDataFrame(sorted(found.items()), "key string, value string")


def show_partitions(spark: SparkSession, statement: StatementText) -> DataFrame | None:
    """Runs SHOW PARTITIONS [PARTITION (…)]; None for a table that is not of mortice."""
    table = named_table(spark, statement.parsed.names[0].parts)
    if table is None:
        return None
    values = statement.partition(statement.parsed.partition() or [])
    paths = matching_partitions(spark, table.opened(spark), values)
    return spark.createDataFrame([(path,) for path in paths if path], "partition string")


def repair(spark: SparkSession, statement: StatementText) -> DataFrame | None:
    """Runs MSCK REPAIR TABLE, which changes nothing: partitions are those of the commits, and not of the catalog."""
    if named_table(spark, statement.parsed.names[0].parts) is None:
        return None
    statement.parsed.partition()
    return done(spark)


def refuse(spark: SparkSession, statement: StatementText) -> None:
    """Refuses ANALYZE TABLE of a table of mortice."""
    refusal = statement.parsed.refusal()
    if refusal is not None and named_table(spark, statement.parsed.names[0].parts) is not None:
        raise refusal
