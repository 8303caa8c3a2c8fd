"""What Spark gets of the statements of `mortice.spark.sql`. Nothing here starts Spark.

How a statement is divided is tested with the parser (`rust/expr/src/statements/tests`).
"""

import datetime
import decimal

import numpy as np
import pytest

from mortice.errors import InvalidArgumentError
from mortice.spark.statements.parameters import literal
from mortice.spark.statements.statement_text import StatementText


@pytest.mark.parametrize("text", ["$", "${env:HOME}", "it's", '"', "\\", "a\nb", "\x00", "\u00e9'"])
def test_strings_that_spark_could_change_are_written_by_their_bytes(text):
    assert literal("v", text) == f"CAST(X'{text.encode().hex()}' AS STRING)"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (-1, "(-1)"),
        (2**31, f"{2**31}L"),
        (-(2**63), f"({-(2**63)}L)"),
        (2**63, f"{2**63}BD"),
        (np.int64(3), "3"),
        (np.array([1.5]), "ARRAY(CAST('1.5' AS DOUBLE))"),
        (float("nan"), "CAST('nan' AS DOUBLE)"),
        (decimal.Decimal("1E+3"), "1000BD"),
        (b"", "X''"),
        ([None, True], "ARRAY(NULL, true)"),
        ({"a": datetime.date(2024, 1, 1)}, "MAP('a', DATE '2024-01-01')"),
        (datetime.datetime(2024, 1, 1, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=5))),
         "TIMESTAMP_LTZ '2024-01-01 00:00:00+00:00'"),
    ],
)  # fmt: skip
def test_values_are_literals_of_spark(value, expected):
    assert literal("v", value) == expected


@pytest.mark.parametrize("value", [decimal.Decimal("NaN"), decimal.Decimal("1E+38"), 10**38, object(), "\ud800"])
def test_values_that_spark_cannot_have_are_refused_by_name(value):
    with pytest.raises(InvalidArgumentError, match=r"\] size "):
        literal("size", value)


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("SELECT :a, ':a', x.a -- :a", {"a": 1}, "SELECT 1, ':a', x.a -- :a"),
        ("SELECT 1 -:a, b::int, :b", {"a": -1}, "SELECT 1 -(-1), b::int, :b"),
        ("SELECT CAST(x AS struct<a:int, b:int>) = :int", {"int": 1}, "SELECT CAST(x AS struct<a:int, b:int>) = 1"),
        ("SELECT :text, :args", {"text": 1, "args": 2}, "SELECT 1, 2"),
        ("SELECT :args", {"args": [1]}, "SELECT ARRAY(1)"),
        ("SELECT :a", {"args": {"a": "x"}}, "SELECT 'x'"),
        ("SELECT ?, '?'", {"args": (5,)}, "SELECT 5, '?'"),
    ],
)
def test_parameters_are_bound_where_they_are_named(text, given, expected):
    assert StatementText(text, given).sql() == expected


def test_errors_show_the_statement_that_was_given():
    statement = StatementText("UPDATE t SET a = :a, b = c", {"a": "much longer than its name"})
    statement.replace(7, 8, "`something else`")
    expression = statement.sql((13, 26))
    assert expression == "a = 'much longer than its name', b = c"
    assert expression.place(expression.index("b = c")) == statement.text.index("b = c")
    with pytest.raises(InvalidArgumentError, match="more than 1 parameters"):
        StatementText("SELECT ?, ?", {"args": [1]})


@pytest.mark.parametrize("text", ["'a", '"a', "`a", "SELECT\n /* a /* b */", "'a\\'"])
def test_what_has_no_end_is_an_error_with_its_place(text):
    with pytest.raises(InvalidArgumentError, match=r"has no end \(line \d, column \d"):
        StatementText(text, {})


def test_places_are_those_of_characters():
    statement = StatementText("UPDATE t SET `😀` = 'ä' WHERE b = :b", {"b": "é"})
    clauses = statement.parsed.row_change()
    assert statement.sql(clauses.assignments[0].value) == "'ä'"
    assert statement.sql(clauses.condition) == "b = 'é'"
