"""A position in a statement. Errors show the place in the text that was given."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from mortice.errors import InvalidArgumentError
from mortice.spark.statements.expressions import Expression, expression_end
from mortice.spark.statements.parameters import Parameters, bound
from mortice.spark.statements.tokens import Token, error_at, quoted, tokens_of

__all__ = ["Cursor"]


class Cursor:
    """A position in the tokens of a statement.

    Args:
        text: The statement.
    """

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, tokens_of(text), 0
        self._replaced: list[tuple[int, int, str]] = []

    def bind(self, parameters: Parameters) -> None:
        """Puts values in the place of parameters."""
        self.tokens, self._replaced = bound(self.tokens, parameters)

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
            width = 2 * len(parts)
            for at in range(len(self.tokens) - width):
                found = self.tokens[at : at + width]
                if at and self.tokens[at - 1].text == ".":
                    continue
                names = [one.text.lower() for one in found[::2] if one.is_name]
                if names == list(parts) and all(one.text == "." for one in found[1::2]):
                    self.replace(found[0].start, found[-2].end, quoted(alias))

    def behind_replaced(self, begin: int, end: int) -> int:
        """Returns the token behind a part that Spark gets in another form, which may be longer than it seems.

        Args:
            begin: The first token.
            end: The token behind the part.
        """
        start, stop = self.tokens[begin].start, self.tokens[end - 1].end
        last = max((one[1] for one in self._replaced if one[0] == start), default=stop)
        while end < len(self.tokens) and self.tokens[end].start < last:
            end += 1
        return end

    def restarted(self) -> Cursor:
        """Returns a cursor at the beginning of the same statement."""
        return self.restarted_at(0)

    def restarted_at(self, at: int) -> Cursor:
        """Returns a cursor at a token of the same statement."""
        other = copy.copy(self)
        other.at = at
        return other

    def part(self, begin: int, end: int) -> Cursor:
        """Returns a cursor for a part of the same statement, which ends with it.

        Args:
            begin: The first token.
            end: The token behind the part.
        """
        other = self.restarted_at(begin)
        other.tokens, other.text = self.tokens[:end], self.text[: self.tokens[end - 1].end]
        return other

    @property
    def token(self) -> Token | None:
        """The next token; None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def words(self, *words: str, ahead: int = 0) -> bool:
        """Returns whether these are the next words."""
        found = self.tokens[self.at + ahead : self.at + ahead + len(words)]
        return [token.word for token in found] == list(words)

    def take(self, *words: str) -> bool:
        """Consumes these words if they are the next ones."""
        if not self.words(*words):
            return False
        self.at += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Consumes these words. Raises `InvalidArgumentError` if they are not the next ones."""
        if not self.take(*words):
            raise self.error(f"{' '.join(words)} is expected here")

    def expect_end(self) -> None:
        """Raises `InvalidArgumentError` unless the statement ends here."""
        if self.token is not None:
            raise self.error("the statement should end here")

    def name(self) -> list[str]:
        """Consumes a name of one or more parts."""
        parts = [self._part()]
        while self.take("."):
            parts.append(self._part())
        return parts

    def _part(self) -> str:
        token = self.token
        if token is None or not token.is_name:
            raise self.error("a name is expected here")
        self.at += 1
        return token.text

    def string(self) -> str:
        """Consumes a string. Raises `InvalidArgumentError` if the next token is none."""
        token = self.token
        if token is None or token.kind != "STRING":
            raise self.error("a string is expected here")
        self.at += 1
        return token.text

    def alias(self, *stops: str) -> str | None:
        """Consumes an alias, if there is one; words of `stops` are none."""
        if self.take("AS"):
            return self._part()
        token = self.token
        if token is None or not token.is_name or token.word in stops:
            return None
        return self._part()

    def until(self, *stops: str, ends_before_names: bool = False) -> Expression:
        """Consumes an expression up to one of these words, or the end; columns may have such names.

        Args:
            stops: The words.
            ends_before_names: Whether an alias ends it, too.
        """
        begin = self.at
        self.at = expression_end(self.tokens, begin, stops, ends_before_names=ends_before_names)
        if self.at == begin:
            raise self.error("an expression is expected here")
        return self.sql(begin, self.at)

    def sql(self, begin: int = 0, end: int | None = None) -> Expression:
        """Returns a part of the statement as Spark is to run it.

        Args:
            begin: The first token.
            end: The token behind the part; None for all.
        """
        if begin == 0 and end is None:
            start, stop = 0, len(self.text)
        else:
            stop = len(self.text) if end is None else self.tokens[end - 1].end
            start = self.tokens[begin].start if begin < len(self.tokens) else stop
        text, done, pieces = "", start, []
        for first, last, other in self._replaced:
            if first >= start and last <= stop:
                pieces += [(len(text), done, True), (len(text) + first - done, first, False)]
                text += self.text[done:first] + other
                done = last
        pieces.append((len(text), done, True))
        return Expression.of_statement(text + self.text[done:stop], self.text, pieces)

    def error(self, message: str) -> InvalidArgumentError:
        """Returns an error that shows the line of the next token, and where it is."""
        return error_at(self.text, self.token.start if self.token is not None else len(self.text.rstrip()), message)
