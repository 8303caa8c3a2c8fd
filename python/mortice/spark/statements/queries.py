"""Queries of tables by path and of earlier states: mortice.`/lake/trips`, TIMESTAMP AS OF, VERSION AS OF."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mortice import _mortice
from mortice._mortice import StatementRelation
from mortice.errors import TableNotFoundError
from mortice.spark.reading.read import read
from mortice.spark.settings.option_names import AS_OF
from mortice.spark.statements.parameters import quoted
from mortice.spark.statements.procedures import function_rows
from mortice.spark.statements.spark_errors import parsed_query, run_by_spark
from mortice.spark.statements.statement_text import StatementText
from mortice.spark.statements.targets import (
    SqlTable,
    depend_on_views,
    done,
    is_path,
    is_view,
    make_view,
    named_table,
    views_named,
)
from mortice.table import METADATA_FOLDER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_META = "_hoodie_"


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

    def put_in_place(self, statement: StatementText, start: int = 0) -> None:
        """Replaces names in a statement by views, from a place on."""
        words, relations = statement.parsed.words(), statement.parsed.relations()
        self._renew(*words, relations)
        shows_meta = any(word.startswith(_META) for some in words for word in some)
        for relation in relations:
            if relation.at >= start:
                self._put(statement, relation, shows_meta)

    def _renew(self, words: list[str], others: list[str], relations: Sequence[StatementRelation]) -> None:
        """Makes the views that a statement names again, of the newest states of their tables."""
        for name in views_named(self.spark, words, others):
            table = named_table(self.spark, [name])
            if table is None:
                continue
            try:
                rows = self._read(table.path, None, table.read_options())
            except TableNotFoundError:
                # A name of the statement's own, such as an alias, may be that of a view whose table was removed.
                if any(one.parts[-1].lower() == name for one in relations):
                    raise
                continue
            make_view(self.spark, name, table, rows)

    def add_with(self, statement: StatementText) -> None:
        """Makes views of the names that WITH gives, and puts them in place in the rest of a statement."""
        clause, relations = statement.parsed.with_relations()
        made: dict[str, str] = {}
        for relation in relations:
            name = relation.parts[0].lower()
            if name not in made:
                rows = parsed_query(self.spark, statement.sql(clause), after=f" TABLE {quoted(name)}")
                made[name] = self._named(rows, name)
            self._replace(statement, relation, made[name], relation.parts[0])

    def made(self) -> list[str]:
        """Returns the views that were made."""
        return list(self._given)

    def keep(self) -> None:
        """Keeps the views, in the states that they have."""
        self._kept.update(self._given)

    def keep_for(self, name: str, statement: StatementText) -> None:
        """Keeps the views for a view that a statement has made, which shows the newest states of its tables."""
        self.keep()
        for helper, (table, frame) in self._newest.items():
            make_view(self.spark, helper, table, frame)
        depend_on_views(
            self.spark, name, [*self._newest, *(word for words in statement.parsed.words() for word in words)]
        )

    def drop(self) -> None:
        """Drops the views. Queries that were made of them keep their rows, except on Spark Connect."""
        for name in self._given:
            if name not in self._kept:
                self.spark.catalog.dropTempView(name)

    def titles(self) -> dict[str, str]:
        """Returns what the statement calls each of the views."""
        return dict(self._given)

    def _put(self, statement: StatementText, relation: StatementRelation, shows_meta: bool) -> None:
        parts = relation.parts
        if relation.arguments is not None:
            frame = self._function(statement, relation, relation.arguments)
            self._replace(statement, relation, self._named(frame, parts[0]), parts[-1])
            return
        as_of = relation.as_of
        if relation.as_of_expression is not None:
            as_of = self._instant(statement, relation.as_of_expression)
        is_at_path = is_path(parts)
        if as_of is None and not is_at_path and (not shows_meta or is_view(self.spark, parts)):
            return
        table = named_table(self.spark, parts)
        if table is None:
            return
        frame = self._read(table.path, as_of, table.read_options())
        view = self._named(frame, ".".join(parts))
        if as_of is None:
            self._newest[view] = (table, frame)
        self._replace(statement, relation, view, None if is_at_path else parts[-1])

    def _replace(self, statement: StatementText, relation: StatementRelation, view: str, title: str | None) -> None:
        """Puts a view in place of a name and of what follows it, with the name as its alias unless it has another.

        Args:
            statement: The statement.
            relation: The name.
            view: The name of the view.
            title: The alias; None for none.
        """
        statement.replace(relation.at, relation.end, quoted(view))
        if title is None or not relation.takes_alias:
            return
        if relation.alias_at is not None:
            begin = relation.at if relation.alias_at == relation.end else relation.alias_at
            text = f"{quoted(view)} AS {quoted(title)}" if begin == relation.at else f" AS {quoted(title)}"
            statement.replace(begin, relation.alias_at, text)
        if len(relation.parts) > 1:
            statement.replace_qualifiers([[part.lower() for part in relation.parts]], title)

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

    def _function(self, statement: StatementText, relation: StatementRelation, given: list[str]) -> DataFrame:
        """Returns the rows of one of Hudi's table functions; its first argument is a table or a path."""
        name, *rest = given
        table = named_table(self.spark, _mortice.table_name(name) if "/" not in name else ["mortice", name])
        if table is None:
            raise statement.error(f"there is no table {name}", relation.at)
        options = {name: value for name, value in table.options.items() if name != AS_OF}
        function = relation.parts[0].lower()
        if function == "hudi_metadata":
            return read(self.spark, f"{table.path.rstrip('/')}/{METADATA_FOLDER}", options=options)
        if function == "hudi_query":
            return read(self.spark, table.path, query_type=rest[0], options=options)
        if function != "hudi_table_changes":
            return function_rows(self.spark, function, table, next(iter(rest), None))
        kind, begin, *end = rest
        if kind == "cdc":
            options["hoodie.datasource.query.incremental.format"] = "cdc"
        return read(
            self.spark, table.path, query_type="incremental", begin=begin, end=next(iter(end), None), options=options
        )

    def _instant(self, statement: StatementText, span: tuple[int, int]) -> str:
        """Returns the instant that an expression is, with its offset: the timeline may have another zone."""
        text = f"SELECT date_format({statement.sql(span)}, \"yyyy-MM-dd'T'HH:mm:ss.SSSXXX\")"
        failed = statement.error("the instant of this expression cannot be computed", span[0])
        try:
            found = self.spark.sql(text).collect()[0][0]
        except Exception as error:
            raise failed from error
        if found is None:
            raise failed
        return str(found)


def create_view(spark: SparkSession, statement: StatementText, views: Views) -> DataFrame:
    """Runs CREATE VIEW: of a table (USING mortice OPTIONS (…), on all versions of Spark), and of a query.

    Later statements of `mortice.spark.sql` show the newest states of their tables. For Spark alone, a view is the state
    of its last use.

    Args:
        spark: The session.
        statement: The statement.
        views: Views of the tables that its query names.
    """
    parsed = statement.parsed
    name = parsed.names[0]
    if parsed.view_options is not None:
        options = dict(parsed.view_options)
        path = options.pop("path")
        make_view(spark, name.parts[0], SqlTable(path, options), read(spark, path, options=options))
        return done(spark)
    views.put_in_place(statement, name.behind)
    if views.made() and not parsed.is_temporary:
        raise statement.error(
            "a view that stays cannot have tables by path, earlier states, changes or meta columns; create a TEMPORARY "
            "VIEW",
            name.behind,
        )
    result = run_by_spark(spark, statement.sql(), views.titles)
    views.keep_for(name.parts[-1], statement)
    return result
