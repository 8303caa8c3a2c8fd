"""What a table is: DESCRIBE EXTENDED, SHOW CREATE TABLE, SHOW TBLPROPERTIES. Statements that Spark's own tables need:
MSCK, ANALYZE TABLE.

Spark knows of a table of a Python data source only its columns. `SHOW TABLE EXTENDED` is the exception, which shows the
whole entry of the session catalog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortice.errors import InvalidArgumentError
from mortice.spark.statements.cursor import Cursor, partition_clause
from mortice.spark.statements.parameters import quoted_string
from mortice.spark.statements.target_table import own_schema
from mortice.spark.statements.targets import SqlTable, done, entry_lines, is_path, named, named_table
from mortice.spark.statements.tokens import quoted

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


def describe_table(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    """Runs DESCRIBE of a path, and DESCRIBE EXTENDED of all names; None for others and for single columns."""
    if not cursor.take("DESCRIBE") and not cursor.take("DESC"):
        return None
    cursor.take("TABLE")
    is_extended = cursor.take("EXTENDED") or cursor.take("FORMATTED")
    if cursor.at == len(cursor.tokens) or any(
        cursor.words(word) for word in ("DATABASE", "SCHEMA", "FUNCTION", "QUERY")
    ):
        return None
    try:
        parts = cursor.name()
    except InvalidArgumentError:
        return None
    is_whole = cursor.at == len(cursor.tokens)
    if not is_whole or not (is_extended or is_path(parts)):
        return None
    table = named_table(spark, parts)
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


def show_table(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    """Runs SHOW CREATE TABLE and SHOW TBLPROPERTIES; None for other statements and other tables."""
    cursor.expect("SHOW")
    creates = cursor.take("CREATE", "TABLE")
    if not creates and not cursor.take("TBLPROPERTIES"):
        return None
    parts = cursor.name()
    table = named_table(spark, parts)
    if table is None:
        return None
    opened = table.opened(spark)
    of_entry = {name: str(value) for name, value in table.options.items() if name.startswith(("hoodie.", "mortice."))}
    found = {**properties(opened), **of_entry}
    if creates:
        cursor.take("AS", "SERDE")
        cursor.expect_end()
        location = "" if table.is_managed else f"LOCATION {quoted_string(opened.uri)}\n"
        text = f"CREATE TABLE {named(parts)} {_definition(opened, found)}\n{location}"
        return spark.createDataFrame([(text,)], "createtab_stmt string")
    if cursor.take("("):
        name = (
            cursor.string() if cursor.token is not None and cursor.token.kind == "STRING" else ".".join(cursor.name())
        )
        cursor.expect(")")
        none = f"Table {named(parts)} does not have property: {name}"
        found = {name: found.get(name, none)}
    cursor.expect_end()
    return spark.createDataFrame(sorted(found.items()), "key string, value string")


_INDEXES = (
    "CREATE INDEX, DROP INDEX and SHOW INDEXES are not supported; indexes are those of the metadata table: options of "
    "writes (hoodie.metadata.index.…) and CALL create_metadata_table(table => '…', options => '…') choose them"
)


def maintain(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    """Runs MSCK REPAIR TABLE, and refuses ANALYZE TABLE and statements of indexes; None for others and other tables."""
    if cursor.take("MSCK") or cursor.words("REPAIR", "TABLE"):
        return _repaired(spark, cursor)
    place = cursor.error("ANALYZE TABLE is not supported: Spark has no statistics of a Python data source")
    if cursor.take("ANALYZE", "TABLE"):
        if named_table(spark, cursor.name()) is not None:
            raise place
        return None
    refusal = cursor.error(_INDEXES)
    if cursor.take("CREATE") or cursor.take("DROP"):
        if not cursor.take("INDEX"):
            return None
        cursor.take("IF", "NOT", "EXISTS")
        cursor.take("IF", "EXISTS")
        cursor.name()
        is_of_table = cursor.take("ON")
    else:
        cursor.expect("SHOW")
        is_of_table = cursor.take("INDEXES", "FROM") or cursor.take("INDEXES", "IN")
    cursor.take("TABLE")
    if is_of_table and named_table(spark, cursor.name()) is not None:
        raise refusal
    return None


def _repaired(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    cursor.expect("REPAIR", "TABLE")
    if named_table(spark, cursor.name()) is None:
        return None
    if any(cursor.take(word) for word in ("ADD", "DROP", "SYNC")):
        cursor.expect("PARTITIONS")
    elif cursor.words("PARTITION"):
        partition_clause(cursor)
    cursor.expect_end()
    # Partitions are those of the commits: the catalog has none that could differ.
    return done(spark)
