"""ALTER TABLE: columns by `Table.alter`, partitions by `Table.delete_partitions`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.spark.schema import arrow_schema
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.statements.cursor import ColumnClause, Cursor, column_clause, type_text, types_of, valued_partition
from mortice.spark.statements.target_table import whole_partitions
from mortice.spark.statements.targets import SqlTable, done, is_path, is_view, named, named_table, renew_entry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def alter_table(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    """Runs ALTER TABLE. Returns None for a table that is not of mortice, and for changes of the catalog alone."""
    if not cursor.take("ALTER", "TABLE"):
        return None
    parts = cursor.name()
    table = named_table(spark, parts)
    if table is None:
        return None
    change = _Change(spark, cursor, table)
    if cursor.take("ADD"):
        change.add()
    elif cursor.take("DROP"):
        change.drop()
    elif cursor.take("RENAME"):
        if cursor.words("TO"):
            return _renamed(spark, cursor, parts, table)
        change.rename()
    elif cursor.take("ALTER") or cursor.take("CHANGE"):
        change.alter()
    else:
        raise cursor.error(_refusal(cursor))
    cursor.expect_end()
    change.write()
    renew_entry(spark, parts, table)
    return done(spark)


def _refusal(cursor: Cursor) -> str:
    if cursor.words("SET") or cursor.words("UNSET"):
        return (
            "properties and the location of a table cannot be changed by ALTER TABLE; give options of writes in the "
            "OPTIONS of CREATE TABLE, or to mortice.spark.write"
        )
    if cursor.words("REPLACE"):
        return "REPLACE COLUMNS is not supported; ADD, DROP, RENAME and ALTER columns"
    return "ADD, DROP, RENAME, ALTER or CHANGE is expected here"


def _renamed(spark: SparkSession, cursor: Cursor, parts: list[str], table: SqlTable) -> DataFrame | None:
    if is_path(parts) or is_view(spark, parts):
        raise cursor.error("only a table of the catalog can get another name; a path stays where it is")
    cursor.expect("TO")
    new = cursor.name()
    cursor.expect_end()
    result = spark.sql(f"ALTER TABLE {table.name} RENAME TO {named(new)}")
    if table.is_managed:
        # The entry has the name that the table was created with.
        renew_entry(spark, new, replace(table, name=named(new)))
    return result


class _Change:
    """The changes of columns that a statement asks for, as arguments of `Table.alter`.

    Args:
        spark: The session.
        cursor: The statement, behind the name of the table.
        table: The table.
    """

    def __init__(self, spark: SparkSession, cursor: Cursor, table: SqlTable) -> None:
        self.spark, self.cursor = spark, cursor
        self.options = {name: value for name, value in table.write_options().items() if not is_of_storage(name)}
        self.table = table.opened(spark)
        self.added: dict[str, pa.DataType] = {}
        self.dropped: list[str] = []
        self.renamed: dict[str, str] = {}
        self.types: dict[str, pa.DataType] = {}
        self.nullable: list[str] = []
        self.comments: dict[str, str] = {}
        self.moved: dict[str, str | None] = {}
        self.partitions: list[str] | None = None

    def write(self) -> None:
        """Makes the changes, as one commit."""
        if self.partitions is not None:
            if self.partitions:
                self.table.delete_partitions(self.partitions, self.options)
            return
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
                options=self.options,
            )

    def add(self) -> None:
        """Reads `ADD COLUMNS (tip double COMMENT 'x' AFTER fare, …)`."""
        cursor = self.cursor
        if cursor.words("PARTITION") or cursor.words("IF"):
            raise cursor.error("partitions are not added by hand; a write adds those of its rows")
        self._column_word()
        is_in_brackets = cursor.take("(")
        columns = [column_clause(cursor)]
        while cursor.take(","):
            columns.append(column_clause(cursor))
        if is_in_brackets:
            cursor.expect(")")
        schema = arrow_schema(types_of(self.spark, cursor, columns))
        added: dict[str, pa.DataType] = {}
        for column, field in zip(columns, schema, strict=True):
            if not column.is_nullable:
                cursor.at = column.place
                raise cursor.error("a new column is null in the rows that there are, and cannot be NOT NULL")
            *parents, name = column.path
            path = ".".join([*([self._path(parents)] if parents else []), name])
            added[path] = field.type
            self._describe(path, column)
        self.added = added

    def _describe(self, path: str, column: ColumnClause) -> None:
        if column.comment is not None:
            self.comments[path] = column.comment
        if column.is_first or column.after is not None:
            behind = None if column.after is None else self._neighbour(path, column.after)
            self.moved[path] = behind

    def drop(self) -> None:
        """Reads `DROP COLUMNS (a, b.c)` and `DROP PARTITION (dt = '…')`."""
        cursor = self.cursor
        cursor.take("IF", "EXISTS")
        if cursor.words("PARTITION"):
            self._drop_partitions()
            return
        self._column_word()
        if_exists = cursor.take("IF", "EXISTS")
        is_in_brackets = cursor.take("(")
        dropped = []
        while True:
            begin, parts = cursor.at, cursor.name()
            path = self._found(parts)
            if path is not None:
                dropped.append(path)
            elif not if_exists:
                cursor.at = begin
                raise self._unknown(parts)
            if not cursor.take(","):
                break
        if is_in_brackets:
            cursor.expect(")")
        if dropped:
            self.dropped = dropped

    def _drop_partitions(self) -> None:
        """Reads the partitions; one that is not there has no effect, as in Hudi."""
        cursor, found = self.cursor, []
        while True:
            found += whole_partitions(self.spark, self.table, valued_partition(cursor))
            if not cursor.take(","):
                break
        cursor.take("PURGE")
        self.partitions = list(dict.fromkeys(found))

    def rename(self) -> None:
        """Reads `RENAME COLUMN a TO b`."""
        self.cursor.expect("COLUMN")
        path = self._path_here()
        self.cursor.expect("TO")
        self.renamed = {path: self.cursor.name()[-1]}

    def alter(self) -> None:
        """Reads `ALTER COLUMN a TYPE bigint`, `CHANGE COLUMN a b bigint COMMENT 'x' AFTER c` and their like."""
        cursor = self.cursor
        cursor.take("COLUMN")
        while True:
            path = self._path_here()
            self._alter_one(path)
            if not cursor.take(","):
                return

    def _alter_one(self, path: str) -> None:
        cursor = self.cursor
        if cursor.take("TYPE"):
            self._widen(path, ColumnClause((path,), "", cursor.at))
        elif cursor.take("COMMENT"):
            self.comments[path] = cursor.string()
        elif cursor.take("FIRST"):
            self.moved[path] = None
        elif cursor.take("AFTER"):
            self.moved[path] = self._neighbour(path, cursor.name()[-1])
        elif cursor.take("DROP", "NOT", "NULL"):
            self.nullable.append(path)
        elif cursor.words("SET") or cursor.words("DROP"):
            raise cursor.error("TYPE, COMMENT, FIRST, AFTER or DROP NOT NULL is expected here; others cannot be done")
        else:
            self._hive_form(path)

    def _hive_form(self, path: str) -> None:
        column = column_clause(self.cursor)
        new = column.path[-1]
        if new != path.rpartition(".")[2]:
            self.renamed[path] = new
            path = ".".join([*path.split(".")[:-1], new])
        self._widen(path, column)
        self._describe(path, column)

    def _widen(self, path: str, column: ColumnClause) -> None:
        if not column.kind:
            column = ColumnClause(column.path, type_text(self.cursor), column.place)
        kind = arrow_schema(types_of(self.spark, self.cursor, [column])).field(0).type
        self.types[path] = kind

    def _column_word(self) -> None:
        if not self.cursor.take("COLUMN") and not self.cursor.take("COLUMNS"):
            raise self.cursor.error("COLUMN or COLUMNS is expected here")

    def _path_here(self) -> str:
        begin, parts = self.cursor.at, self.cursor.name()
        path = self._found(parts)
        if path is None:
            self.cursor.at = begin
            raise self._unknown(parts)
        return path

    def _unknown(self, parts: list[str]) -> InvalidArgumentError:
        return self.cursor.error(f"there is no column {'.'.join(parts)}")

    def _path(self, parts: list[str]) -> str:
        path = self._found(parts)
        if path is None:
            raise self._unknown(parts)
        return path

    def _neighbour(self, path: str, name: str) -> str:
        """Returns the table's name of the column that `path` is put behind."""
        parents = path.split(".")[:-1]
        found = self._found([*parents, name])
        added = [one.rpartition(".")[2] for one in self.added]
        if found is None and name in added:
            return name
        if found is None:
            raise self._unknown([*parents, name])
        return found.rpartition(".")[2]

    def _found(self, parts: list[str]) -> str | None:
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
