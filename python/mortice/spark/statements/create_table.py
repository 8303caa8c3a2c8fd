"""CREATE TABLE … USING mortice or hudi, with columns or AS SELECT, or LIKE another one, as Hudi's SQL has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mortice import _mortice
from mortice._mortice import CreateTableStatement, StatementColumn
from mortice.catalogs.run import without_sync
from mortice.errors import InvalidArgumentError, TableExistsError, TableNotFoundError, UnsupportedError
from mortice.spark.schema import arrow_schema
from mortice.spark.settings.catalog_table import MANAGED
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.drop_table import TableFolder
from mortice.spark.statements.parameters import quoted
from mortice.spark.statements.queries import Views
from mortice.spark.statements.spark_errors import parsed_query
from mortice.spark.statements.statement_text import StatementText
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
from mortice.values.options import absolute_uri
from mortice.values.type_names import META_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class _Definition:
    """A table as a statement describes it."""

    statement: StatementText
    clauses: CreateTableStatement
    properties: dict[str, str]
    """Options and properties, with those of the table that it is like."""
    partitions: Sequence[str]
    schema: StructType | None
    """The columns of the table that it is like."""

    @property
    def location(self) -> str | None:
        """Where the statement says that the table is."""
        return self.clauses.location or self.properties.get("path")


def create_table(spark: SparkSession, statement: StatementText, views: Views) -> DataFrame | None:
    """Runs CREATE TABLE of a new table; None for other sources, and where Spark alone suffices.

    Args:
        spark: The session.
        statement: The statement.
        views: Views of the tables that its query names.
    """
    about = _definition(spark, statement)
    if about is None:
        return None
    clauses = about.clauses
    parts = clauses.parts
    if any(name.lower() == MANAGED for name in about.properties):
        raise InvalidArgumentError(f"{MANAGED} is not an option: a table without LOCATION is managed")
    is_empty = not clauses.columns and clauses.query is None and about.schema is None
    if clauses.provider == "MORTICE" and is_empty and has_entries(spark):
        return None
    if clauses.query is not None:
        views.put_in_place(statement, clauses.query[0])
    if not is_path(parts) and (is_view(spark, parts) or spark.catalog.tableExists(named(parts))):
        if clauses.if_not_exists:
            return done(spark)
        raise InvalidArgumentError(f"there is a table or view {'.'.join(parts)}; drop it, or write IF NOT EXISTS")
    _created(spark, about)
    return done(spark)


def _definition(spark: SparkSession, statement: StatementText) -> _Definition | None:
    """Returns what the table is to be. None if neither it nor the table that it is like is of mortice."""
    from pyspark.errors import PySparkException

    parsed = statement.parsed
    if len(parsed.names) == 1:
        clauses = parsed.create_table()
        return _Definition(statement, clauses, dict([*clauses.options, *clauses.properties]), clauses.partitions, None)
    source = parsed.names[1]
    table = named_table(spark, source.parts)
    if table is None and parsed.kind == "create_table_like":
        return None
    clauses = parsed.create_table()
    given = dict([*clauses.options, *clauses.properties])
    if table is not None:
        opened = table.opened(spark)
        lower = {name.lower() for name in given}
        copied = {name: value for name, value in properties(opened).items() if name.lower() not in lower}
        return _Definition(statement, clauses, given | copied, opened.partition_fields, _plain(own_schema(opened)))
    try:
        return _Definition(statement, clauses, given, [], _plain(spark.table(named(source.parts)).schema))
    except PySparkException as error:
        raise statement.error("there is no such table", source.at) from error


def _plain(schema: StructType) -> StructType:
    """Returns columns that can be null and have no metadata."""
    made = type(schema)()
    for field in schema:
        made = made.add(field.name, field.dataType)
    return made


def types_of(spark: SparkSession, statement: StatementText, columns: Sequence[StatementColumn]) -> StructType:
    """Returns the columns with the types of Spark. Raises `InvalidArgumentError` at a type that is none.

    Args:
        spark: The session.
        statement: The statement.
        columns: The columns as it describes them.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructField, StructType

    def parsed(some: Sequence[StatementColumn]) -> StructType | None:
        casts = (f"CAST(NULL AS {one.kind}) AS {quoted('.'.join(one.path))}" for one in some)
        try:
            return spark.sql(f"SELECT {', '.join(casts)}").schema
        except PySparkException:
            return None

    found = parsed(columns)
    if found is None:
        wrong = next((one for one in columns if parsed([one]) is None), columns[0])
        raise statement.error(f"{wrong.kind} is not a type of Spark", wrong.kind_at)
    fields = zip(found, columns, strict=True)
    return StructType([StructField(field.name, field.dataType, one.is_nullable) for field, one in fields])


def _created(spark: SparkSession, about: _Definition) -> None:
    clauses, parts = about.clauses, about.clauses.parts
    storage = {name: value for name, value in about.properties.items() if is_of_storage(name)}
    given = [pair for pair in about.properties.items() if pair[0].lower() != "path" and pair[0] not in storage]
    kept, _ = _mortice.create_table_options(parts[-1], given, about.partitions, None)
    path = _location(spark, about)
    there = _table_at(spark, path, storage)
    is_managed = not clauses.is_external and not is_path(parts) and about.location is None and there is None
    if is_managed:
        _check_vacant(spark, path)
    frame = None if clauses.query is None else parsed_query(spark, about.statement.sql(clauses.query))
    schema = about.schema if frame is None else frame.schema
    if clauses.columns:
        schema = types_of(spark, about.statement, clauses.columns)
    if schema is None:
        if there is None:
            raise TableNotFoundError("there is no table; CREATE TABLE needs columns, or AS SELECT", path=path)
    else:
        names = _last(schema.names, about.partitions)
        schema = type(schema)([schema[name] for name in names])
        _, options = _mortice.create_table_options(parts[-1], given, about.partitions, schema.names)
        if there is not None:
            _check_same(there, schema, is_query=frame is not None)
        elif frame is not None:
            frame = frame.select([frame[name] for name in names])
            operation = options.pop("hoodie.datasource.write.operation", "bulk_insert")
            write(frame, path, operation, options={**options, **storage})
        else:
            _create(spark, path, schema, {**options, **storage}, about)
    if not is_path(parts):
        managed = managed_here(spark, parts) if is_managed else None
        add_entry(spark, parts, SqlTable(path, dict(kept)), clauses.comment, managed)


def _create(spark: SparkSession, path: str, schema: StructType, options: dict[str, str], about: _Definition) -> None:
    target = WriteTarget.from_options(path, without_sync(options))
    storage = target.storage_options(spark)
    NewTable(target.uri, storage).create("upsert", arrow_schema(schema).empty_table(), target.options)
    comments = {one.path[-1]: one.comment for one in about.clauses.columns if one.comment is not None}
    if comments:
        Table(target.uri, storage_options=storage).alter(comment=comments)


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


def _location(spark: SparkSession, about: _Definition) -> str:
    given, parts = about.location, about.clauses.parts
    if given is None and is_path(parts):
        given = parts[1]
    if given is None:
        database = named(parts[:-1]) if len(parts) > 1 else "`" + spark.catalog.currentDatabase() + "`"
        rows = {str(row[0]).lower(): str(row[1]) for row in spark.sql(f"DESCRIBE DATABASE {database}").collect()}
        given = f"{rows['location'].rstrip('/')}/{parts[-1]}"
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
