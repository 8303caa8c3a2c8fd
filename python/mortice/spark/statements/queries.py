"""Queries of tables by path and of earlier states: mortice.`/lake/trips`, TIMESTAMP AS OF, VERSION AS OF."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from mortice.errors import InvalidArgumentError, TableNotFoundError
from mortice.spark.reading.read import read
from mortice.spark.settings.option_names import AS_OF
from mortice.spark.statements.cursor import Cursor, options_clause
from mortice.spark.statements.relations import Relation, WithClause, relations_of
from mortice.spark.statements.spark_errors import parsed_query, run_by_spark
from mortice.spark.statements.targets import (
    SqlTable,
    depend_on_views,
    is_path,
    is_view,
    make_view,
    named_table,
    views_named,
)
from mortice.spark.statements.tokens import matching_bracket, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KINDS = ("TIMESTAMP", "VERSION", "SYSTEM_TIME", "SYSTEM_VERSION")
_CHANGES = "hudi_table_changes"
_META = "_hoodie_"
_AFTER = (
    *("WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "JOIN", "INNER", "LEFT", "RIGHT"),
    *("FULL", "CROSS", "ON", "USING", "AS", "WHEN", "SET", "LATERAL", "CLUSTER", "DISTRIBUTE", "SORT", "WINDOW", ","),
    *("TABLESAMPLE", "PIVOT", "UNPIVOT", "SELECT", "MATCHED", "THEN", "NATURAL", "ANTI", "SEMI", "ASOF", "QUALIFY"),
    *("MINUS", "OFFSET", "VALUES", "INSERT", "WITH", "|>"),
)


class Views:
    """Temporary views of the tables of a statement, in the state that it asks for.

    Tables by path, earlier states, changes and tables whose meta columns are asked for become views of their own. Views
    that `create_view` has made, and those that depend on them, are made again, of the newest state: Spark finds them
    then wherever they are named.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._given: dict[str, str] = {}
        self._kept: set[str] = set()
        self._newest: dict[str, tuple[SqlTable, DataFrame]] = {}
        self._frames: dict[tuple[object, ...], DataFrame] = {}

    def put_in_place(self, cursor: Cursor, skipped: Collection[int] = ()) -> None:
        """Replaces names in a statement by views, from the next token on.

        Args:
            cursor: The statement.
            skipped: The tokens at which the names of tables begin that are written to.
        """
        self.renew(cursor, skipped)
        shows_meta = any(one.is_name and one.text.lower().startswith(_META) for one in cursor.tokens)
        for relation in relations_of(cursor):
            if relation.begin not in skipped and not relation.is_known:
                self._put(cursor, relation, shows_meta)

    def renew(self, cursor: Cursor, skipped: Collection[int] = ()) -> None:
        """Makes the views that a statement names again, of the newest states of their tables."""
        found: tuple[set[str], set[str]] = (set(), set())
        for at, one in enumerate(cursor.tokens):
            if one.is_name and at not in skipped:
                found[at > 0 and cursor.tokens[at - 1].text == "."].add(one.text.lower())
        for name in views_named(self.spark, *found):
            table = named_table(self.spark, [name])
            if table is None:
                continue
            try:
                rows = self._read(table.path, None, table.options)
            except TableNotFoundError:
                # A name of the statement's own, such as an alias, may be that of a view whose table was removed.
                if any(one.parts[-1].lower() == name for one in relations_of(cursor) if not one.is_known):
                    raise
                continue
            make_view(self.spark, name, table, rows)

    def add_with(self, cursor: Cursor, clause: WithClause) -> None:
        """Makes views of the names that WITH gives, and puts them in place in the rest of a statement.

        Args:
            cursor: The statement, at the token behind the clause.
            clause: The clause, at the beginning of the statement.
        """
        made: dict[str, str] = {}
        for relation in relations_of(cursor):
            name = relation.parts[0].lower()
            if len(relation.parts) > 1 or relation.is_known or name not in clause.names:
                continue
            if name not in made:
                rows = parsed_query(self.spark, cursor.sql(0, clause.end), after=f" TABLE {quoted(name)}")
                made[name] = self._named(rows, name)
            self._replace(cursor, relation, relation.end, made[name], relation.parts[0])

    def made(self) -> list[str]:
        """Returns the views that were made."""
        return list(self._given)

    def keep(self) -> None:
        """Keeps the views, in the states that they have."""
        self._kept.update(self._given)

    def keep_for(self, name: str, cursor: Cursor) -> None:
        """Keeps the views for a view that a statement has made, which shows the newest states of its tables."""
        self.keep()
        for helper, (table, frame) in self._newest.items():
            make_view(self.spark, helper, table, frame)
        depend_on_views(self.spark, name, [*self._newest, *(one.text for one in cursor.tokens if one.is_name)])

    def drop(self) -> None:
        """Drops the views. Queries that were made of them keep their rows, except on Spark Connect."""
        for name in self._given:
            if name not in self._kept:
                self.spark.catalog.dropTempView(name)

    def titles(self) -> dict[str, str]:
        """Returns what the statement calls each of the views."""
        return dict(self._given)

    def _put(self, cursor: Cursor, relation: Relation, shows_meta: bool) -> None:
        parts, other = relation.parts, cursor.restarted()
        other.at = relation.end
        if len(parts) == 1 and parts[0].lower() == _CHANGES and other.words("("):
            frame = self._changes(other)
            self._replace(cursor, relation, other.at, self._named(frame, parts[0]), parts[-1])
            return
        if other.words("("):
            return
        as_of = self._as_of(other)
        is_at_path = is_path(parts)
        if as_of is None and not is_at_path and (not shows_meta or is_view(self.spark, parts)):
            return
        table = named_table(self.spark, parts)
        if table is None:
            return
        frame = self._read(table.path, as_of, table.options)
        view = self._named(frame, ".".join(parts))
        if as_of is None:
            self._newest[view] = (table, frame)
        self._replace(cursor, relation, other.at, view, None if is_at_path else parts[-1])

    def _replace(self, cursor: Cursor, relation: Relation, end: int, view: str, title: str | None) -> None:
        """Puts a view in place of a name and of what follows it, with the name as its alias unless it has another."""
        tokens, other = cursor.tokens, cursor.restarted()
        if relation.begin and tokens[relation.begin - 1].word == "TABLE":
            title = None
        cursor.replace(tokens[relation.begin].start, tokens[end - 1].end, quoted(view))
        other.at = end
        if other.take("TABLESAMPLE"):
            other.at = matching_bracket(tokens, other.at) + 1
            if other.take("REPEATABLE"):
                other.at = matching_bracket(tokens, other.at) + 1
        place = tokens[other.at - 1].end
        if title is not None and not self._has_alias(other):
            alias = f" AS {quoted(title)}"
            if other.at == end:
                cursor.replace(tokens[relation.begin].start, place, quoted(view) + alias)
            else:
                cursor.replace(place, place, alias)
        if len(relation.parts) > 1 and title is not None:
            cursor.replace_qualifiers([[part.lower() for part in relation.parts]], title)

    def _read(self, path: str, as_of: str | None, options: Mapping[str, object]) -> DataFrame:
        """Returns the rows of a table; those of one state for the whole statement."""
        given = {name: value for name, value in options.items() if as_of is None or name != AS_OF}
        key = (path, as_of, tuple(sorted((name, str(value)) for name, value in given.items())))
        if key not in self._frames:
            self._frames[key] = read(self.spark, path, as_of=as_of, options=given)
        return self._frames[key]

    def _named(self, frame: DataFrame, title: str) -> str:
        name = f"_mortice_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(name)
        self._given[name] = title
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
        if token is not None and is_literal and not (following and following[0].text in ("+", "-", "||", "::")):
            cursor.at += 1
            return token.text
        place, text = cursor.error("the instant of this expression cannot be computed"), None
        text = cursor.until(*_AFTER, ends_before_names=True)
        try:
            # With its offset: the timeline may have another zone than the session.
            form = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
            found = self.spark.sql(f'SELECT date_format({text}, "{form}")').collect()[0][0]
        except Exception as error:
            raise place from error
        if found is None:
            raise place
        return str(found)

    @staticmethod
    def _has_alias(cursor: Cursor) -> bool:
        return cursor.restarted_at(cursor.at).alias(*_AFTER) is not None


def create_view(spark: SparkSession, cursor: Cursor, views: Views) -> DataFrame | None:
    """Runs CREATE VIEW: of a table (USING mortice OPTIONS (…), on all versions of Spark), and of a query.

    Later statements of `mortice.spark.sql` show the newest states of their tables. For Spark alone, a view is the state
    of its last use.

    Args:
        spark: The session.
        cursor: The statement.
        views: Views of the tables that its query names.
    """
    cursor.expect("CREATE")
    cursor.take("OR", "REPLACE")
    cursor.take("GLOBAL")
    is_temporary = cursor.take("TEMPORARY") or cursor.take("TEMP")
    if not cursor.take("VIEW"):
        return None
    cursor.take("IF", "NOT", "EXISTS")
    parts = cursor.name()
    if is_temporary and len(parts) == 1 and cursor.take("USING", "MORTICE"):
        return _view_of_table(spark, cursor, parts[0])
    place = cursor.error(
        "a view that stays cannot have tables by path, earlier states, changes or meta columns; create a TEMPORARY VIEW"
    )
    views.put_in_place(cursor)
    if views.made() and not is_temporary:
        raise place
    done = run_by_spark(spark, cursor.sql(), views.titles)
    views.keep_for(parts[-1], cursor)
    return done


def _view_of_table(spark: SparkSession, cursor: Cursor, name: str) -> DataFrame:
    cursor.expect("OPTIONS")
    options = options_clause(cursor)
    cursor.expect_end()
    path = options.pop("path", None)
    if path is None:
        raise cursor.error("the option path is missing")
    make_view(spark, name, SqlTable(path, options), read(spark, path, options=options))
    return spark.createDataFrame([], "done string").select()
