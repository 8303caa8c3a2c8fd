"""ALTER TABLE: columns by `Table.alter`, partitions by `Table.delete_partitions`; indexes by `Table.build_metadata`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import AlterTableStatement, StatementColumn
from mortice.errors import InvalidArgumentError
from mortice.spark.schema import arrow_schema
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.statements.create_table import types_of
from mortice.spark.statements.statement_text import StatementText
from mortice.spark.statements.table_description import properties
from mortice.spark.statements.target_table import whole_partitions
from mortice.spark.statements.targets import SqlTable, done, is_path, is_view, named, named_table, renew_entry
from mortice.table import Table
from mortice.values.argument_types import OptionValue
from mortice.values.type_names import META_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def alter_table(spark: SparkSession, statement: StatementText) -> DataFrame | None:
    """Runs ALTER TABLE. Returns None for a table that is not of mortice."""
    parts = statement.parsed.names[0].parts
    table = named_table(spark, parts)
    if table is None:
        return None
    clauses = statement.parsed.alter_table()
    if clauses.to is not None:
        return _renamed(spark, statement, clauses.to, clauses.to_at, table)
    if clauses.kind == "properties":
        return _with_properties(spark, statement, clauses, table)
    opened = table.opened(spark)
    options = {name: value for name, value in table.write_options().items() if not is_of_storage(name)}
    if clauses.kind == "drop_partitions":
        # One that is not there has no effect, as in Hudi.
        given = map(statement.partition, clauses.partitions)
        found = list(dict.fromkeys(path for one in given for path in whole_partitions(spark, opened, one)))
        if found:
            opened.delete_partitions(found, options)
    else:
        _Columns(spark, statement, opened).change(clauses, options)
    renew_entry(spark, parts, table)
    return done(spark)


def _renamed(spark: SparkSession, statement: StatementText, to: list[str], at: int, table: SqlTable) -> DataFrame:
    parts = statement.parsed.names[0].parts
    if is_path(parts) or is_view(spark, parts):
        raise statement.error("only a table of the catalog can get another name; a path stays where it is", at)
    result = spark.sql(f"ALTER TABLE {table.name} RENAME TO {named(to)}")
    if table.is_managed:
        # The entry has the name that the table was created with.
        renew_entry(spark, to, replace(table, name=named(to)))
    return result


def _with_properties(
    spark: SparkSession, statement: StatementText, clauses: AlterTableStatement, table: SqlTable
) -> DataFrame:
    """Sets and unsets options of the entry or the view of a table: those of its reads and writes.

    Args:
        spark: The session.
        statement: The statement.
        clauses: Its clauses.
        table: The table.
    """
    parts, at = statement.parsed.names[0].parts, clauses.properties_at
    if is_path(parts):
        raise statement.error("a path has no properties; a name of the catalog, or a view, has", at)
    options = dict(table.options)
    for name, value in clauses.properties:
        plain = name.lower()
        if not plain.startswith(("hoodie.", "mortice.")) or _mortice.is_table_property(plain):
            known = {one.lower() for one in properties(table.opened(spark))}
            if clauses.if_exists and plain not in known and not _mortice.is_table_property(plain):
                continue
            raise statement.error(
                f"{name} is what a table is created with, or no property; options that begin with hoodie. can change",
                at,
            )
        if value is not None:
            options[name] = value
        elif options.pop(name, None) is None and not clauses.if_exists:
            raise statement.error(f"the table does not have the property {name}", at)
    renew_entry(spark, parts, replace(table, options=options))
    return done(spark)


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


class _Columns:
    """The changes of columns that a statement asks for, as arguments of `Table.alter`.

    Args:
        spark: The session.
        statement: The statement.
        table: The table.
    """

    def __init__(self, spark: SparkSession, statement: StatementText, table: Table) -> None:
        self.spark, self.statement, self.table = spark, statement, table
        self.added: dict[str, pa.DataType] = {}
        self.dropped: list[str] = []
        self.renamed: dict[str, str] = {}
        self.types: dict[str, pa.DataType] = {}
        self.nullable: list[str] = []
        self.comments: dict[str, str] = {}
        self.moved: dict[str, str | None] = {}

    def change(self, clauses: AlterTableStatement, options: dict[str, OptionValue]) -> None:
        """Makes the changes, as one commit."""
        if clauses.kind == "replace":
            self._replace(clauses.columns)
        elif clauses.kind == "add":
            self._add(clauses.columns)
        else:
            for column in clauses.columns:
                self._alter(column)
        for name in clauses.dropped:
            path = self._found(name.parts)
            if path is not None:
                self.dropped.append(path)
            elif not clauses.if_exists:
                raise self._unknown(name.parts, name.at)
        changes = self.added, self.dropped, self.renamed, self.types, self.nullable, self.comments, self.moved
        if any(changes):
            self.table.alter(
                add=self.added or None,
                drop=self.dropped or None,
                rename=self.renamed or None,
                type=self.types or None,
                nullable=self.nullable or None,
                comment=self.comments or None,
                move=self.moved or None,
                options=options,
            )

    def _types(self, columns: Sequence[StatementColumn]) -> list[pa.DataType]:
        return [field.type for field in arrow_schema(types_of(self.spark, self.statement, columns))]

    def _add(self, columns: Sequence[StatementColumn]) -> None:
        for column, kind in zip(columns, self._types(columns), strict=True):
            *parents, name = column.path
            path = ".".join([*([self._path(parents, column.at)] if parents else []), name])
            self.added[path] = kind
            self._describe(path, column)

    def _replace(self, columns: Sequence[StatementColumn]) -> None:
        """Gives the table these columns in this order. Those of the same name keep their values, where Hudi's are null;
        partition columns that are left out stay."""
        kept = [self._found(column.path) for column in columns]
        stays = {*kept, *META_COLUMNS, *self.table.partition_fields}
        self.dropped = [name for name in self.table.schema.names if name not in stays]
        if added := [column for column, name in zip(columns, kept, strict=True) if name is None]:
            self._add(added)
        before = None
        for column, kind, found in zip(columns, self._types(columns), kept, strict=True):
            name = found or column.path[-1]
            if found is not None:
                if self.table.schema.field(found).type != kind:
                    self.types[found] = kind
                if column.comment is not None:
                    self.comments[found] = column.comment
            self.moved[name] = before
            before = name

    def _alter(self, column: StatementColumn) -> None:
        path = self._path(column.path, column.at)
        if column.new_name is not None and column.new_name != path.rpartition(".")[2]:
            self.renamed[path] = column.new_name
            path = ".".join([*path.split(".")[:-1], column.new_name])
        if column.kind is not None:
            (self.types[path],) = self._types([column])
        if column.drops_not_null:
            self.nullable.append(path)
        self._describe(path, column)

    def _describe(self, path: str, column: StatementColumn) -> None:
        if column.comment is not None:
            self.comments[path] = column.comment
        if column.is_first:
            self.moved[path] = None
        elif column.after is not None:
            self.moved[path] = self._neighbour(path, column.after, column.after_at)

    def _neighbour(self, path: str, name: str, at: int) -> str:
        """Returns the name of the column that `path` is put behind: one of the table, or one that is added before it.

        Args:
            path: The column.
            name: The other one.
            at: Where its name is.
        """
        parents = path.split(".")[:-1]
        before = {one.lower(): one for one in self.added if one != path}
        found = self._found([*parents, name]) or before.get(".".join([*parents, name]).lower())
        if found is None:
            raise self._unknown([*parents, name], at)
        return found.rpartition(".")[2]

    def _unknown(self, parts: Sequence[str], at: int) -> InvalidArgumentError:
        return self.statement.error(f"there is no column {'.'.join(parts)}", at)

    def _path(self, parts: Sequence[str], at: int) -> str:
        path = self._found(parts)
        if path is None:
            raise self._unknown(parts, at)
        return path

    def _found(self, parts: Sequence[str]) -> str | None:
        """Returns the path of a column as the table writes it; case is ignored, as Spark does."""
        kind: pa.DataType = pa.struct(list(self.table.schema))
        names = []
        for part in parts:
            if pa.types.is_list(kind) and part.lower() == "element":
                names.append("element")
                kind = kind.value_type
                continue
            if pa.types.is_map(kind) and part.lower() == "value":
                names.append("value")
                kind = kind.item_type
                continue
            fields = list(kind) if pa.types.is_struct(kind) else []
            same = [field for field in fields if field.name.lower() == part.lower()]
            if len(same) != 1:
                return None
            names.append(same[0].name)
            kind = same[0].type
        return ".".join(names)
