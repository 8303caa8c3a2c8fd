"""Errors of Spark's analysis, as errors of the statement: they show the place, and no names that mortice has made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mortice import _mortice
from mortice.errors import InvalidArgumentError
from mortice.spark.statements.statement_text import Expression

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLACE = re.compile(r"\(?line (\d+),? pos(?:ition)? (\d+)\)?")
_SUGGESTED = re.compile(r"\s*Did you mean one of the following\? \[(?P<names>.*?)\]\.?(?=[\s;]|$)")
_OWN = "_mortice_"


def _analysis_errors() -> tuple[type[Exception], ...]:
    from pyspark.errors import AnalysisException, ParseException

    return AnalysisException, ParseException


@contextmanager
def located_errors(evaluated: Iterable[tuple[DataFrame, str]]) -> Iterator[None]:
    """Raises `InvalidArgumentError` for errors of Spark's analysis, which shows the expression that is wrong.

    Args:
        evaluated: The expressions, each with rows that have the columns that it can name.
    """
    try:
        yield
    except _analysis_errors() as error:
        for rows, text in evaluated:
            if (cause := _refusal(rows, text)) is not None:
                raise _located(cause, text, 0) from error
        raise InvalidArgumentError(_message(error, {})) from error


def _refusal(rows: DataFrame, text: str) -> Exception | None:
    """Returns why Spark refuses an expression; None if it does not."""
    from pyspark.sql import functions as f

    try:
        _ = rows.select(f.expr(str(text))).schema
    except _analysis_errors() as cause:
        return cause
    return None


def parsed_query(spark: SparkSession, text: Expression, before: str = "", after: str = "") -> DataFrame:
    """Returns the rows of a query. Raises `InvalidArgumentError`, which shows the place, if Spark refuses it.

    Args:
        spark: The session.
        text: The query, a part of a statement.
        before: What Spark gets before it.
        after: What Spark gets behind it.
    """
    try:
        rows = spark.sql(f"{before}{text}{after}")
        _ = rows.schema
    except _analysis_errors() as error:
        raise _located(error, text, len(before)) from error
    return rows


def run_by_spark(spark: SparkSession, text: Expression, titles: Callable[[], Mapping[str, str]]) -> DataFrame:
    """Runs a statement that Spark runs, in the form that it is given.

    Args:
        spark: The session.
        text: The statement.
        titles: Returns what the statement calls the views that it has in place of tables.
    """
    try:
        return spark.sql(str(text))
    except _analysis_errors() as error:
        if _OWN not in text:
            raise
        raise _located(error, text, 0, titles()) from error


def _message(error: Exception, titles: Mapping[str, str]) -> str:
    """Returns what Spark says of an expression, without plans and names of mortice."""
    text = str(error).strip().partition("\n")[0].rstrip("; ")
    text = _SUGGESTED.sub(_known_names, _PLACE.sub("", text)).rstrip("; ")
    for name, title in titles.items():
        text = text.replace(name, title)
    return text


def _known_names(found: re.Match[str]) -> str:
    names = [name for name in found["names"].split(", ") if _OWN not in name]
    return f" Did you mean one of the following? [{', '.join(names)}]." if names else ""


def _located(error: Exception, text: str, before: int, titles: Mapping[str, str] | None = None) -> InvalidArgumentError:
    """Returns the error of an expression.

    Args:
        error: The error of Spark.
        text: The expression.
        before: How many characters Spark was given before it.
        titles: What the statement calls views.
    """
    message = _message(error, titles or {})
    if not isinstance(text, Expression):
        return InvalidArgumentError(f"{message}: {text}")
    offset, found = 0, _PLACE.search(str(error))
    if found is not None:
        lines = text.split("\n")
        line, column = int(found[1]) - 1, int(found[2])
        if line < len(lines):
            column -= before if line == 0 else 0
            offset = sum(len(one) + 1 for one in lines[:line]) + column
    place = text.place(min(max(0, offset), max(0, len(text) - 1)))
    return _mortice.statement_error(text.statement, place, message)
