"""The text of a statement, as Spark gets it: with values in the place of parameters, and views in that of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mortice import _mortice
from mortice._mortice import Statement
from mortice.errors import InvalidArgumentError
from mortice.spark.statements.parameters import bound, quoted

_Span = tuple[int, int]


class Expression(str):
    """A part of a statement as Spark evaluates it, and where it is in the statement."""

    __slots__ = ("pieces", "statement")

    statement: str
    pieces: list[tuple[int, int, bool]]
    """Where its pieces begin in it, and in the statement, and whether they are copied from there."""

    @staticmethod
    def of_statement(text: str, statement: str, pieces: list[tuple[int, int, bool]]) -> Expression:
        """Returns a part of a statement.

        Args:
            text: The part, as Spark evaluates it.
            statement: The statement.
            pieces: The pieces of the text.
        """
        expression = Expression(text)
        expression.statement, expression.pieces = statement, pieces
        return expression

    def place(self, offset: int) -> int:
        """Returns where a character of the expression is in the statement."""
        found = next(one for one in reversed(self.pieces) if one[0] <= max(0, offset))
        return found[1] + (offset - found[0] if found[2] else 0)


class StatementText:
    """The text of a statement, and what Spark gets in place of its parts.

    Args:
        text: The statement.
        arguments: The values of its parameters, as the keyword arguments of `mortice.spark.sql`.
    """

    def __init__(self, text: str, arguments: Mapping[str, object]) -> None:
        self.text = text
        values = bound(text, arguments)
        self.parsed = Statement.parse(text, [value[:4] for value in values])
        self._replaced = [(start, end, literal) for start, end, _, _, literal in values]

    def replace(self, start: int, end: int, text: str) -> None:
        """Gives Spark another text for a part of the statement; errors show the part as it was given.

        Args:
            start: Where the part begins.
            end: Where it ends, exclusive.
            text: The other text.
        """
        kept = [one for one in self._replaced if one[1] <= start or one[0] >= end]
        self._replaced = sorted([*kept, (start, end, text)])

    def replace_qualifiers(self, qualifiers: Sequence[Sequence[str]], alias: str) -> None:
        """Replaces the qualifiers of columns that are names of a table (`db.trips.fare`) by its alias.

        Args:
            qualifiers: The names, as their parts in lower case.
            alias: The alias.
        """
        for parts in qualifiers:
            for start, end in self.parsed.qualified(parts):
                self.replace(start, end, quoted(alias))

    def sql(self, span: _Span | None = None) -> Expression:
        """Returns a part of the statement as Spark is to run it; all of it by default."""
        start, stop = (0, len(self.text)) if span is None else span
        text, done, pieces = "", start, []
        for first, last, other in self._replaced:
            if first >= start and last <= stop:
                pieces += [(len(text), done, True), (len(text) + first - done, first, False)]
                text += self.text[done:first] + other
                done = last
        pieces.append((len(text), done, True))
        return Expression.of_statement(text + self.text[done:stop], self.text, pieces)

    def partition(self, values: Sequence[tuple[str, _Span | None]]) -> dict[str, str | None]:
        """Returns the expressions of a PARTITION clause by column; None where there is none."""
        return {name: None if span is None else self.sql(span) for name, span in values}

    def error(self, message: str, at: int) -> InvalidArgumentError:
        """Returns an error that shows the line of a place."""
        return _mortice.statement_error(self.text, at, message)
