"""CREATE TABLE … USING mortice or hudi, with columns or AS SELECT, or LIKE another one, as Hudi's SQL has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mortice import _mortice
from mortice.catalogs.run import without_sync
from mortice.errors import InvalidArgumentError, TableExistsError, TableNotFoundError, UnsupportedError
from mortice.spark.schema import arrow_schema
from mortice.spark.settings.catalog_table import MANAGED
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.cursor import ColumnClause, Cursor, column_clause, options_clause, types_of
from mortice.spark.statements.drop_table import TableFolder
from mortice.spark.statements.inserts import INTO_OPERATION
from mortice.spark.statements.queries import Views
from mortice.spark.statements.spark_errors import parsed_query
from mortice.spark.statements.statement_text import Expression, StatementText
from mortice.spark.statements.table_description import properties
from mortice.spark.statements.target_table import own_schema
from mortice.spark.statements.targets import (
    SqlTable,
    add_entry,
    done,
    has_entries,
    is_path,
    is_view,
    managed_here,
    named,
    named_table,
)
from mortice.spark.writing.write import NewTable, write
from mortice.table import Table
from mortice.values.meta_columns import META_COLUMNS
from mortice.values.options import absolute_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_PROVIDERS = ("MORTICE", "HUDI")
_OF_HUDI = {
    "type": "hoodie.datasource.write.table.type",
    "primarykey": "hoodie.datasource.write.recordkey.field",
    "precombinefield": "hoodie.datasource.write.precombine.field",
    "orderingfields": "hoodie.datasource.write.precombine.field",
    "payloadclass": "hoodie.datasource.write.payload.class",
    "recordmergemode": "hoodie.write.record.merge.mode",
    "hoodie.record.merge.mode": "hoodie.write.record.merge.mode",
}
"""Hudi's names of table properties in SQL, in lower case, and the options that they stand for."""
_FIELDS = ("hoodie.datasource.write.recordkey.field", "hoodie.datasource.write.precombine.field")
_PARTITIONS = "hoodie.datasource.write.partitionpath.field"
_TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}


@dataclass
class _Definition:
    """A table as a statement describes it."""

    parts: list[str]
    if_not_exists: bool
    columns: list[ColumnClause]
    statement: StatementText
    views: Views
    """Views of the tables that its query names."""
    is_external: bool = False
    partitions: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    location: str | None = None
    comment: str | None = None
    query: Expression | None = None


def create_table(spark: SparkSession, statement: StatementText, cursor: Cursor, views: Views) -> DataFrame | None:
    """Runs CREATE TABLE of a new table; None for other sources, and where Spark alone suffices.

    Args:
        spark: The session.
        statement: The statement.
        cursor: Its tokens.
        views: Views of the tables that its query names.
    """
    cursor.expect("CREATE")
    replaces = cursor.take("OR", "REPLACE")
    is_external = cursor.take("EXTERNAL")
    if not cursor.take("TABLE"):
        return None
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    parts = cursor.name()
    is_like = cursor.words("LIKE")
    about = _Definition(parts, if_not_exists, [], statement, views, is_external)
    if is_like and not _like(spark, cursor, about):
        return None
    provider = _provider(cursor)
    if not is_like and provider not in _PROVIDERS:
        return None
    if replaces:
        raise cursor.error("OR REPLACE is not supported, as it would delete the table with its history; drop it first")
    if not is_like:
        _definition(cursor, about)
    if any(name.lower() == MANAGED for name in {**about.options, **about.properties}):
        raise InvalidArgumentError(f"{MANAGED} is not an option: a table without LOCATION is managed")
    if provider == "MORTICE" and not about.columns and about.query is None and has_entries(spark):
        return None
    if not is_path(parts) and (is_view(spark, parts) or spark.catalog.tableExists(named(parts))):
        if if_not_exists:
            return done(spark)
        raise InvalidArgumentError(f"there is a table or view {'.'.join(parts)}; drop it, or write IF NOT EXISTS")
    _created(spark, cursor, about)
    return done(spark)


def _provider(cursor: Cursor) -> str:
    """Returns the word behind USING, without consuming anything."""
    at, depth = cursor.at, 0
    while at < len(cursor.tokens):
        token = cursor.tokens[at]
        depth += (token.text == "(") - (token.text == ")") if token.kind != "STRING" else 0
        if depth == 0 and token.text != ")":
            break
        at += 1
    found = cursor.tokens[at : at + 2]
    return found[1].text.upper() if len(found) > 1 and found[0].word == "USING" else ""


def _like(spark: SparkSession, cursor: Cursor, about: _Definition) -> bool:
    """Consumes `LIKE name …`. Returns false if neither the new table nor the other one is of mortice."""
    from pyspark.errors import PySparkException

    cursor.expect("LIKE")
    place = cursor.error("there is no such table")
    source = cursor.name()
    table = named_table(spark, source)
    provider = _provider(cursor)
    if provider not in _PROVIDERS if provider else table is None:
        return False
    at = cursor.at
    if table is not None:
        opened = table.opened(spark)
        schema = own_schema(opened)
        about.partitions = list(opened.partition_fields)
        copied = properties(opened)
    else:
        try:
            schema, copied = spark.table(named(source)).schema, {}
        except PySparkException as error:
            raise place from error
    about.columns = [ColumnClause((field.name,), field.dataType.simpleString(), at) for field in schema]
    if provider:
        cursor.expect("USING")
        cursor.name()
    while cursor.token is not None:
        if not any(cursor.words(word) for word in ("TBLPROPERTIES", "OPTIONS", "LOCATION", "COMMENT")):
            raise cursor.error("USING, TBLPROPERTIES, OPTIONS, LOCATION or COMMENT is expected here")
        _clause(cursor, about)
    given = {name.lower() for name in {**about.options, **about.properties}}
    about.properties |= {name: value for name, value in copied.items() if name.lower() not in given}
    return True


def _definition(cursor: Cursor, about: _Definition) -> None:
    if cursor.take("("):
        about.columns.append(column_clause(cursor))
        while cursor.take(","):
            about.columns.append(column_clause(cursor))
        cursor.expect(")")
    cursor.expect("USING")
    cursor.name()
    while cursor.token is not None:
        _clause(cursor, about)


def _clause(cursor: Cursor, about: _Definition) -> None:
    if cursor.take("PARTITIONED", "BY"):
        _partitions(cursor, about)
    elif cursor.take("OPTIONS"):
        about.options = options_clause(cursor)
    elif cursor.take("TBLPROPERTIES"):
        about.properties = options_clause(cursor)
    elif cursor.take("LOCATION"):
        about.location = cursor.string()
    elif cursor.take("COMMENT"):
        about.comment = cursor.string()
    elif cursor.take("AS") or any(cursor.words(word) for word in ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")):
        place = cursor.error("columns and AS SELECT exclude each other")
        clauses = about.statement.parsed.create_table()
        if clauses.query is not None:
            about.views.put_in_place(about.statement, clauses.query[0])
            about.query = about.statement.sql(clauses.query)
        cursor.until()
        if about.columns:
            raise place
    else:
        raise cursor.error("PARTITIONED BY, TBLPROPERTIES, OPTIONS, LOCATION, COMMENT or AS is expected here")


def _partitions(cursor: Cursor, about: _Definition) -> None:
    cursor.expect("(")
    while True:
        following = cursor.tokens[cursor.at + 1 : cursor.at + 2]
        if following and following[0].text in (",", ")"):
            about.partitions.append(cursor.name()[-1])
        elif following and following[0].text == "(":
            raise cursor.error("tables are partitioned by columns; partition transforms are not supported")
        else:
            about.columns.append(column_clause(cursor))
            about.partitions.append(about.columns[-1].path[-1])
        if not cursor.take(","):
            cursor.expect(")")
            return


def _created(spark: SparkSession, cursor: Cursor, about: _Definition) -> None:
    given = _write_options(about)
    path = _location(spark, about)
    storage = {name: value for name, value in {**about.options, **about.properties}.items() if is_of_storage(name)}
    there = _table_at(spark, path, storage)
    is_managed = not about.is_external and not is_path(about.parts) and _given_location(about) is None and there is None
    if is_managed:
        _check_vacant(spark, path)
    frame = None
    if about.query is not None:
        frame = parsed_query(spark, about.query)
    if frame is None and not about.columns:
        if there is None:
            raise TableNotFoundError("there is no table; CREATE TABLE needs columns, or AS SELECT", path=path)
    else:
        schema = frame.schema if frame is not None else types_of(spark, cursor, about.columns)
        names = _last(schema.names, about.partitions)
        schema = type(schema)([schema[name] for name in names])
        options = _table_options(about, schema, given)
        if there is not None:
            _check_same(there, schema, is_query=frame is not None)
        elif frame is not None:
            frame = frame.select([frame[name] for name in names])
            operation = options.pop("hoodie.datasource.write.operation", "bulk_insert")
            write(frame, path, operation, options={**options, **storage})
        else:
            _create(spark, path, schema, {**options, **storage}, about)
    if not is_path(about.parts):
        # What describes the table is in its properties.
        described = (*_OF_HUDI.values(), _PARTITIONS)
        kept = {
            name: value
            for name, value in given.items()
            if name not in described and not name.startswith("hoodie.table.") and not _mortice.is_table_property(name)
        }
        managed = managed_here(spark, about.parts) if is_managed else None
        add_entry(spark, about.parts, SqlTable(path, kept), about.comment, managed)


def _create(spark: SparkSession, path: str, schema: StructType, options: dict[str, str], about: _Definition) -> None:
    target = WriteTarget.from_options(path, without_sync(options))
    storage = target.storage_options(spark)
    NewTable(target.uri, storage).create("upsert", arrow_schema(schema).empty_table(), target.options)
    comments = {one.path[-1]: one.comment for one in about.columns if one.comment is not None}
    if comments:
        Table(target.uri, storage_options=storage).alter(comment=comments)


def _write_options(about: _Definition) -> dict[str, str]:
    """Returns options of Hudi, of those that the statement gives. Raises `InvalidArgumentError` for other names."""
    found = {}
    for name, value in {**about.options, **about.properties}.items():
        lower = name.lower()
        if lower == "path" or is_of_storage(name):
            continue
        if lower in _OF_HUDI:
            made = _TYPES.get(value.lower(), value) if lower == "type" else value
            found[_OF_HUDI[lower]] = ",".join(part.strip() for part in made.split(","))
        elif lower.startswith(("hoodie.", "mortice.")):
            found[name] = value
        else:
            raise InvalidArgumentError(
                f"{name} is not a property of a table; properties are type, primaryKey, orderingFields, "
                "preCombineField, payloadClass, recordMergeMode, and options that begin with hoodie."
            )
    return found


def _table_options(about: _Definition, schema: StructType, given: dict[str, str]) -> dict[str, str]:
    """Returns the options of the write that creates the table. Names of columns get the case of the columns."""
    options = {
        "hoodie.table.name": re.sub(r"[^A-Za-z0-9_]", "_", about.parts[-1].rstrip("/").rpartition("/")[2]),
        "hoodie.datasource.write.hive_style_partitioning": "true",
        **given,
    }
    options.pop(INTO_OPERATION, None)
    for name in _FIELDS:
        if name in options:
            fields = [_column(schema, one, name) for one in options[name].split(",")]
            options[name] = ",".join(fields)
    if about.partitions:
        options[_PARTITIONS] = ",".join(_column(schema, one, "PARTITIONED BY") for one in about.partitions)
    return options


def _column(schema: StructType, name: str, where: str) -> str:
    name = name.strip()
    found = [one for one in schema.names if one.lower() == name.lower()]
    if len(found) != 1 and "." not in name:
        raise InvalidArgumentError(f"{where} names {name!r}, which is not a column; they are {', '.join(schema.names)}")
    return found[0] if found else name


def _last(names: Sequence[str], partitions: Sequence[str]) -> list[str]:
    """Returns columns with those of the partition at the end, as Spark orders them."""
    lower = [one.lower() for one in partitions]
    behind = [name for one in lower for name in names if name.lower() == one]
    return [*(name for name in names if name not in behind), *behind]


def _check_vacant(spark: SparkSession, path: str) -> None:
    """Refuses a folder with files of no table, as far as this session can list it."""
    try:
        folder = TableFolder.at(spark, path)
    except UnsupportedError:
        return
    folder.check_vacant()


def _given_location(about: _Definition) -> str | None:
    return about.location or about.options.get("path") or about.properties.get("path")


def _location(spark: SparkSession, about: _Definition) -> str:
    given = _given_location(about)
    if given is None and is_path(about.parts):
        given = about.parts[1]
    if given is None:
        database = named(about.parts[:-1]) if len(about.parts) > 1 else "`" + spark.catalog.currentDatabase() + "`"
        rows = {str(row[0]).lower(): str(row[1]) for row in spark.sql(f"DESCRIBE DATABASE {database}").collect()}
        given = f"{rows['location'].rstrip('/')}/{about.parts[-1]}"
    return absolute_uri(re.sub(r"^file:/+", "/", given))


def _table_at(spark: SparkSession, path: str, storage: dict[str, str]) -> Table | None:
    """Returns the table that is there; one without columns is not counted."""
    try:
        table = SqlTable(path, storage).opened(spark)
        return table if table.timeline.completed or table.schema.names else None
    except TableNotFoundError:
        return None
    except InvalidArgumentError:
        # The first write of a new table failed, so it has no columns.
        return None


def _check_same(table: Table, schema: StructType, *, is_query: bool) -> None:
    """Refuses another table than the one that is there."""
    if is_query:
        raise TableExistsError("there is a table; CREATE TABLE … AS SELECT needs a new location", path=table.uri)
    own = [one for one in table.schema if one.name not in META_COLUMNS]
    there, given = ({one.name.lower(): one.type for one in fields} for fields in (own, arrow_schema(schema)))
    if there != given:
        listed = ", ".join(f"{one.name} {one.type}" for one in own)
        raise TableExistsError(
            f"there is a table with other columns ({listed}); leave the columns out, or name another location",
            path=table.uri,
        )
