"""Queries of tables by path and of earlier states: mortice.`/lake/trips`, TIMESTAMP AS OF, VERSION AS OF."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from mortice.errors import InvalidArgumentError
from mortice.spark.reading.read import read
from mortice.spark.settings.option_names import AS_OF
from mortice.spark.statements.clauses import options_clause, partition_clause
from mortice.spark.statements.cursor import Cursor
from mortice.spark.statements.partitions import matching_partitions
from mortice.spark.statements.targets import SqlTable, is_path, is_view, named_table, remember_view
from mortice.spark.statements.tokens import Token, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Views", "create_view", "show_partitions"]

_KINDS = ("TIMESTAMP", "VERSION", "SYSTEM_TIME", "SYSTEM_VERSION")
_CHANGES = "hudi_table_changes"
_META = "_hoodie_"
_BEFORE = ("FROM", "JOIN", "USING")
_AFTER = (
    *("WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "JOIN", "INNER", "LEFT", "RIGHT"),
    *("FULL", "CROSS", "ON", "USING", "AS", "WHEN", "SET", "LATERAL", "CLUSTER", "DISTRIBUTE", "SORT", "WINDOW", ","),
)


class Views:
    """Temporary views of the tables of a statement, in the state that it asks for.

    Args:
        spark: The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.names: list[str] = []
        self._shows_meta = False
        self._own: set[str] = set()

    def in_place(self, text: str, skipped: int | None = None) -> str:
        """Returns the text with views in the place of paths and of earlier states.

        Args:
            text: The statement.
            skipped: The token at which the name of a table begins that is written to.
        """
        cursor, pieces, done = Cursor(text), [], 0
        tokens = cursor.tokens
        self._shows_meta = any(one.kind != "STRING" and one.text.lower().startswith(_META) for one in tokens)
        self._own = {
            one.text.lower()
            for one, word, bracket in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if word.word == "AS" and bracket.text == "("
        }
        while (token := cursor.token) is not None:
            begin = cursor.at
            if begin == skipped or not _is_name(token) or (begin and cursor.tokens[begin - 1].text == "."):
                cursor.at += 1
                continue
            parts = cursor.name()
            end = cursor.tokens[cursor.at - 1].end
            view = self._view(cursor, parts)
            if view is not None:
                alias = "" if self._has_alias(cursor) or is_path(parts) else f" AS {quoted(parts[-1])}"
                pieces += [text[done : token.start], quoted(view), alias]
                done = max(end, cursor.tokens[cursor.at - 1].end)
            elif cursor.at == begin:
                cursor.at += 1
        return "".join([*pieces, text[done:]])

    def drop(self) -> None:
        """Drops the views. Queries that were made of them keep their rows, except on Spark Connect."""
        for name in self.names:
            self.spark.catalog.dropTempView(name)

    def _view(self, cursor: Cursor, parts: list[str]) -> str | None:
        if parts[0].lower() == _CHANGES and len(parts) == 1 and cursor.words("("):
            return self._named(self._changes(cursor))
        place, as_of = cursor.at, self._as_of(cursor)
        is_source = place > len(parts) * 2 - 1 and cursor.tokens[place - len(parts) * 2].word in _BEFORE
        # Tables of the catalog have no meta columns. A name that WITH gives is not that of a table.
        is_of_meta = is_source and self._shows_meta and not (len(parts) == 1 and parts[0].lower() in self._own)
        if as_of is None and not is_path(parts) and len(parts) > 1 and not is_of_meta:
            return None
        table = None
        if as_of is not None or is_path(parts) or is_of_meta or (is_source and is_view(self.spark, parts)):
            table = named_table(self.spark, parts)
        if table is None:
            cursor.at = place
            return None
        options = {name: value for name, value in table.options.items() if name != AS_OF}
        frame = read(self.spark, table.path, as_of=as_of, options=options)
        return self._named(frame)

    def _named(self, frame: DataFrame) -> str:
        name = f"_mortice_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(name)
        self.names.append(name)
        return name

    def _changes(self, cursor: Cursor) -> DataFrame:
        """Consumes `('table or path', 'latest_state' or 'cdc', 'begin'[, 'end'])`, the arguments of Hudi's function."""
        place = cursor.error("four strings are expected here: a table or a path, latest_state or cdc, begin and end")
        cursor.expect("(")
        given = []
        while not cursor.take(")"):
            given.append(cursor.string())
            if not cursor.take(",") and not cursor.words(")"):
                raise place
        least, most = 3, 4
        if not least <= len(given) <= most or given[1] not in ("latest_state", "cdc"):
            raise place
        parts = Cursor(given[0]).name() if "/" not in given[0] else ["mortice", given[0]]
        table = named_table(self.spark, parts)
        if table is None:
            raise InvalidArgumentError(f"there is no table {given[0]}; {place}")
        options = {name: value for name, value in table.options.items() if name != AS_OF}
        if given[1] == "cdc":
            options["hoodie.datasource.query.incremental.format"] = "cdc"
        begin, end = given[2], given[3] if len(given) == most else None
        return read(self.spark, table.path, query_type="incremental", begin=begin, end=end, options=options)

    def _as_of(self, cursor: Cursor) -> str | None:
        """Consumes TIMESTAMP AS OF and its like; returns the instant."""
        begin = cursor.at
        cursor.take("FOR")
        if not any(cursor.take(kind, "AS", "OF") for kind in _KINDS):
            cursor.at = begin
            return None
        token, following = cursor.token, cursor.tokens[cursor.at + 1 : cursor.at + 2]
        is_literal = token is not None and token.kind in ("STRING", "NUMBER")
        if token is not None and is_literal and (not following or following[0].text not in "+-"):
            cursor.at += 1
            return token.text
        place, text = cursor.error("the instant of this expression cannot be computed"), cursor.until(*_AFTER)
        try:
            found = self.spark.sql(f'SELECT date_format({text}, "yyyyMMddHHmmssSSS")').collect()[0][0]
        except Exception as error:
            raise place from error
        return str(found)

    @staticmethod
    def _has_alias(cursor: Cursor) -> bool:
        at = cursor.at
        try:
            return (
                cursor.alias(
                    *_AFTER,
                    "TABLESAMPLE",
                    "PIVOT",
                    "UNPIVOT",
                    "SELECT",
                    "MATCHED",
                    "THEN",
                    "NATURAL",
                    "ANTI",
                    "SEMI",
                    "ASOF",
                    "QUALIFY",
                    "MINUS",
                    "OFFSET",
                    "VALUES",
                )
                is not None
            )
        finally:
            cursor.at = at


def _is_name(token: Token) -> bool:
    return token.is_name


def create_view(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    """Runs CREATE TEMPORARY VIEW … USING mortice OPTIONS (…), on all versions of Spark; None for other statements.

    Later statements of `mortice.spark.sql` know the table of the view. The view itself is a state of the table.
    """
    if not cursor.take("CREATE"):
        return None
    cursor.take("OR", "REPLACE")
    if not (cursor.take("TEMPORARY", "VIEW") or cursor.take("TEMP", "VIEW")):
        return None
    parts = cursor.name()
    if not cursor.take("USING", "MORTICE") or len(parts) != 1:
        return None
    cursor.expect("OPTIONS")
    options = options_clause(cursor)
    cursor.expect_end()
    path = options.pop("path", None)
    if path is None:
        raise cursor.error("the option path is missing")
    read(spark, path, options=options).createOrReplaceTempView(parts[0])
    remember_view(spark, parts[0], SqlTable(path, options))
    return spark.createDataFrame([], "done string").select()


def show_partitions(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    """Runs SHOW PARTITIONS [PARTITION (…)]; None for a table that is not of mortice."""
    if not cursor.take("SHOW", "PARTITIONS"):
        return None
    parts = cursor.name()
    table = named_table(spark, parts)
    if table is None:
        return None
    values = partition_clause(cursor) if cursor.words("PARTITION") else {}
    cursor.expect_end()
    paths = matching_partitions(spark, table.opened(spark), values)
    return spark.createDataFrame([(path,) for path in paths if path], "partition string")
