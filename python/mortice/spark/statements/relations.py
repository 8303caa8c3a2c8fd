"""The names of tables in a query: behind FROM, JOIN, TABLE and USING, in brackets and lists, and in WITH."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mortice.spark.statements.cursor import Cursor
from mortice.spark.statements.tokens import Token, matching_bracket

_QUERY = ("SELECT", "WITH", "FROM", "TABLE", "VALUES")
_BEHIND_LISTS = (
    *("WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "SELECT", "UNION", "EXCEPT", "INTERSECT", "MINUS", "SORT"),
    *("CLUSTER", "DISTRIBUTE", "WINDOW", "OFFSET", "QUALIFY", "SET", "WHEN", "PIVOT", "UNPIVOT"),
)
_NO_QUERY = (
    *("CREATE", "INTO", "OVERWRITE", "TRUNCATE", "ALTER", "DROP", "CACHE", "UNCACHE", "REFRESH", "DESCRIBE", "DESC"),
    *("ANALYZE", "REPAIR", "SHOW", "EXTERNAL", "REPLACE", "LAZY", "TEMPORARY"),
)
"""Words before TABLE that are not those of a query."""


@dataclass(frozen=True)
class Relation:
    """The name of a table in a query, or of a function that returns one."""

    parts: list[str]
    begin: int
    """Its first token."""
    end: int
    """The token behind it."""
    is_known: bool
    """Whether it is a name that WITH gives."""


@dataclass(frozen=True)
class WithClause:
    """`WITH a AS (…), b AS (…)` at the beginning of a statement."""

    names: list[str]
    end: int
    """The token behind it."""


def with_clause(cursor: Cursor) -> WithClause | None:
    """Returns the clause that begins at the next token; None if there is none."""
    if not cursor.words("WITH"):
        return None
    found = _names(cursor.tokens, cursor.at, len(cursor.tokens))
    if found is None:
        return None
    return WithClause([name for name, _, _ in found[0]], found[1])


def relations_of(cursor: Cursor) -> Iterator[Relation]:
    """Returns the names of tables in a statement, from the next token on."""
    clause = with_clause(cursor)
    is_merge = cursor.restarted_at(clause.end if clause is not None else cursor.at).words("MERGE")
    yield from _Scan(cursor.tokens, is_merge).within(cursor.at, len(cursor.tokens), frozenset(), is_query=True)


def _names(tokens: Sequence[Token], at: int, end: int) -> tuple[list[tuple[str, int, int]], int] | None:
    """Returns the names of a WITH clause with the tokens of their queries, and the token behind it."""
    at += 1
    if at < end and tokens[at].word == "RECURSIVE":
        at += 1
    found = []
    while at < end and tokens[at].is_name:
        name = tokens[at].text.lower()
        at += 1
        if at < end and tokens[at].text == "(" and tokens[at].kind == "OPERATOR":
            at = matching_bracket(tokens, at) + 1
        while at < end and tokens[at].word not in ("AS", "(", ",", ")"):
            at += 1  # MAX RECURSION LEVEL
        if at >= end or tokens[at].word != "AS":
            return None
        while at < end and tokens[at].text != "(":
            at += 1
        close = matching_bracket(tokens, at)
        found.append((name, at + 1, close))
        at = close + 1
        if at >= end or tokens[at].text != ",":
            return found, at
        at += 1
    return None


class _Scan:
    """Scans the tokens of a statement for names of tables.

    Args:
        tokens: The tokens.
        is_merge: Whether USING names a table.
    """

    def __init__(self, tokens: Sequence[Token], is_merge: bool) -> None:
        self.tokens, self.is_merge = tokens, is_merge

    def within(
        self, begin: int, end: int, names: frozenset[str], *, is_query: bool, expects: bool = False
    ) -> Iterator[Relation]:
        """Yields the names between two tokens, which no bracket separates.

        Args:
            begin: The first token.
            end: The token behind the last.
            names: Names that WITH gives.
            is_query: Whether FROM has the tables of a query, and is not an argument such as `year FROM t`.
            expects: Whether a table is the first thing.
        """
        at, in_list = begin, expects
        while at < end:
            token = self.tokens[at]
            if token.text == "(" and token.kind == "OPERATOR":
                close = min(matching_bracket(self.tokens, at), end)
                inner = self.tokens[at + 1].word if at + 1 < close else ""
                is_inner = inner in _QUERY
                yield from self.within(
                    at + 1, close, names, is_query=is_inner or expects, expects=expects and not is_inner
                )
                at, expects = close + 1, False
                continue
            if self._is_field(at):
                at += 1
                continue
            if expects and token.is_name and token.word not in ("LATERAL", *_QUERY):
                found = self._name(at, end, names)
                yield found
                at, expects = found.end, False
                continue
            if self._is_with(at, end):
                clause = _names(self.tokens, at, end)
                if clause is not None:
                    is_recursive = self.tokens[at + 1].word == "RECURSIVE"
                    for name, first, last in clause[0]:
                        known = names | {name} if is_recursive else names
                        yield from self.within(first, last, known, is_query=True)
                        names |= {name}
                    at = clause[1]
                    continue
            expects, in_list = self._after(at, is_query=is_query, expects=expects, in_list=in_list)
            at += 1

    def _after(self, at: int, *, is_query: bool, expects: bool, in_list: bool) -> tuple[bool, bool]:
        """Returns whether a table is expected behind a token, and whether a comma would be followed by another."""
        token, before = self.tokens[at], self.tokens[at - 1].word if at else ""
        if token.kind == "OPERATOR":
            return (in_list if token.text == "," else expects), in_list
        word = token.word
        if word == "LATERAL":
            return expects, in_list
        if word == "FROM":
            is_clause = is_query and before != "DISTINCT"
            return is_clause, is_clause or in_list
        if word in ("JOIN", "USING"):
            is_table = word == "JOIN" or (self.is_merge and before != ")")
            return is_table, in_list or word == "JOIN"
        if word == "TABLE" and before not in _NO_QUERY:
            return True, False
        return False, in_list and word not in _BEHIND_LISTS

    def _is_field(self, at: int) -> bool:
        return at > 0 and self.tokens[at - 1].text == "." and self.tokens[at - 1].kind == "OPERATOR"

    def _is_with(self, at: int, end: int) -> bool:
        return self.tokens[at].word == "WITH" and at + 1 < end and self.tokens[at + 1].is_name

    def _name(self, at: int, end: int, names: frozenset[str]) -> Relation:
        begin, parts = at, [self.tokens[at].text]
        at += 1
        while at + 1 < end and self.tokens[at].text == "." and self.tokens[at + 1].is_name:
            parts.append(self.tokens[at + 1].text)
            at += 2
        return Relation(parts, begin, at, len(parts) == 1 and parts[0].lower() in names)
