"""How `mortice.spark.sql` divides a statement: as Spark's lexer and grammar do. Nothing here starts Spark."""

import datetime
import decimal

import numpy as np
import pytest

from mortice.errors import InvalidArgumentError
from mortice.spark.statements.cursor import Cursor, parameters_of
from mortice.spark.statements.parameters import literal
from mortice.spark.statements.relations import relations_of, with_clause
from mortice.spark.statements.tokens import tokens_of

WORDS = ("case", "end", "when", "then", "else", "set", "values", "matched", "not", "by", "where", "on", "using", "as")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X'' x'0A'", ["X", "", "x", "0A"]),
        ("1L 1e3D 5BD .5 5. 1.e-3 1st a.1st", ["1L", "1e3D", "5BD", ".5", "5.", "1.e-3", "1st", "a", ".", "1st"]),
        ("'it\\'s' 'a\\\\' '\\u0041\\101\\n' \"q'q\"", ["it's", "a\\", "AA\n", "q'q"]),
        ("r'a\\' R\"\\\"", ["a\\", "\\"]),
        ("`a``b`.`c d`", ["a`b", ".", "c d"]),
        ("a /* x /* ' */ ( */ b -- ( '\nc --\\\n d", ["a", "b", "c"]),
        ("SELECT /*+ BROADCAST(v) */ 1;;", ["SELECT", "1"]),
        ("a<=>b::int <> c => d -> e", ["a", "<=>", "b", "::", "int", "<>", "c", "=>", "d", "->", "e"]),
    ],
)
def test_tokens_are_those_of_spark(text, expected):
    assert [token.text for token in tokens_of(text)] == expected


@pytest.mark.parametrize("text", ["'a", '"a', "`a", "SELECT\n /* a /* b */", "'a\\'"])
def test_what_has_no_end_is_an_error_with_its_place(text):
    with pytest.raises(InvalidArgumentError, match=r"has no end \(line \d, column \d"):
        tokens_of(text)


@pytest.mark.parametrize("word", WORDS)
def test_an_expression_goes_on_at_names_that_are_keywords(word):
    """Spark allows these words as names of columns, without quotes."""
    operand = f"t.{word}"
    for text in (
        f"{operand} > 1",
        f"{operand} + s.{word} IS NOT NULL AND f({operand})",
        f"CASE WHEN {operand} > 1 THEN {operand} ELSE t.{word} END",
        f"{word}.x = 1 AND (SELECT {word} FROM x WHERE CASE WHEN 1 = 1 THEN 1 END = 1) = 1",
    ):
        for stop in ("WHEN", "THEN", "WHERE", ","):
            cursor = Cursor(f"{text} {stop} rest")
            assert cursor.until("WHEN", "THEN", "WHERE", ",") == text
            assert cursor.token.word == stop


@pytest.mark.parametrize("word", ["end", "when", "then", "set", "values", "matched", "case", "on", "using"])
def test_an_expression_goes_on_at_such_names_without_a_table(word):
    for text in (f"{word} > 1", f"1 = {word}", f"{word} IS NULL OR CASE WHEN {word} = 2 THEN {word} END = {word}"):
        cursor = Cursor(f"{text} THEN rest")
        assert cursor.until("WHEN", "THEN") == text


def test_an_expression_has_strings_and_brackets_of_all_forms():
    text = "r'(' || X'' || '(' = \"\\\")\" AND a[1] IN (1, 'WHEN') AND INTERVAL '1' DAY > {x}"
    assert Cursor(f"{text} WHEN MATCHED").until("WHEN") == text
    with pytest.raises(InvalidArgumentError, match="an expression is expected here"):
        Cursor("WHEN MATCHED").until("WHEN")


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT * FROM a, b c JOIN d.e USING (x), (f) LEFT JOIN (g CROSS JOIN h) ON g.i = h.i", "a b d.e f g h"),
        ("SELECT (SELECT 1 FROM a WHERE x IN (TABLE b)), y FROM (SELECT z FROM c) d, e WHERE k, l", "a b c e"),
        ("SELECT extract(year FROM a), trim(BOTH x FROM y) FROM b WHERE c IS DISTINCT FROM d GROUP BY e, f", "b"),
        ("WITH a AS (SELECT * FROM a, b), c(x) AS (SELECT * FROM a) SELECT * FROM c, d", "a b d"),
        ("SELECT * FROM a WHERE x IN (WITH b AS (SELECT 1) SELECT * FROM b) UNION ALL TABLE b", "a b"),
        ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r, a", "a"),
        ("FROM a SELECT b.c UNION SELECT * FROM VALUES (1), (2) AS v(x), w LATERAL VIEW explode(x) AS y", "a w"),
        ("MERGE INTO t USING a ON t.x = a.x WHEN MATCHED AND x IN (SELECT y FROM b) THEN DELETE", "a b"),
        ("WITH s AS (SELECT 1) MERGE INTO t USING s ON 1 = 1 WHEN MATCHED THEN DELETE", ""),
        ("SELECT * FROM range(3), a TABLESAMPLE (1 ROWS) PIVOT (max(x) FOR y IN (1, 2)), LATERAL (SELECT 1 FROM b)",
         "range a b"),
    ],
)  # fmt: skip
def test_tables_of_a_query_are_found_wherever_they_are(text, tables):
    found = [".".join(one.parts) for one in relations_of(Cursor(text)) if not one.is_known]
    assert found == tables.split()


def test_a_with_clause_ends_before_its_statement():
    cursor = Cursor("WITH a AS (SELECT 1), b (x) AS (SELECT ')') DELETE FROM t")
    clause = with_clause(cursor)
    assert clause.names == ["a", "b"]
    assert cursor.tokens[clause.end].word == "DELETE"
    assert with_clause(Cursor("WITH SCHEMA EVOLUTION INTO t")) is None


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
    cursor = Cursor(text)
    cursor.bind(parameters_of(given, cursor.tokens))
    assert cursor.sql() == expected


def test_errors_show_the_statement_that_was_given():
    cursor = Cursor("UPDATE t SET a = :a, b = c")
    cursor.bind({"a": "much longer than its name"})
    cursor.replace(7, 8, "`something else`")
    expression = cursor.sql(3)
    assert expression == "a = 'much longer than its name', b = c"
    assert expression.place(expression.index("b = c")) == cursor.text.index("b = c")
    with pytest.raises(InvalidArgumentError, match="more than 1 parameters"):
        Cursor("SELECT ?, ?").bind([1])
