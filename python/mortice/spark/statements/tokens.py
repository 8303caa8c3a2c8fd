"""The tokens of a statement, and errors that show the place in it.

`sqlglot` divides the text: comments, quotes and numbers are as Spark has them. Expressions are not parsed, but taken
from the text as they are.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mortice.errors import InvalidArgumentError

__all__ = ["Cursor", "Token", "literal", "quoted", "tokens_of", "with_arguments"]

_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True)
class Token:
    """A token and where it is in the text; `end` is exclusive."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The token in upper case; empty for quoted names and strings."""
        return "" if self.kind in ("IDENTIFIER", "STRING") else self.text.upper()


def tokens_of(text: str) -> list[Token]:
    """Returns the tokens of a statement. Raises `InvalidArgumentError` for a string that has no end."""
    try:
        from sqlglot.dialects.spark import Spark
        from sqlglot.errors import TokenError
    except ImportError as error:
        raise InvalidArgumentError("mortice.spark.sql needs the package sqlglot; pip install 'mortice[sql]'") from error
    try:
        found = Spark().tokenize(text)
        if found and found[0].token_type.name in ("COMMAND", "SHOW"):
            # sqlglot does not divide what follows CALL, SHOW and their like.
            begin, word = found[0].start, found[0].text
            found = Spark().tokenize(text[:begin] + "x" * len(word) + text[begin + len(word) :])
            found[0].text = word
    except TokenError as error:
        raise InvalidArgumentError(f"the statement cannot be divided into tokens: {error}") from error
    tokens = []
    for one in found:
        kind, source = one.token_type.name, text[one.start : one.end + 1]
        if kind in ("STRING", "IDENTIFIER") or not re.fullmatch(r"[A-Za-z]+(\s+[A-Za-z]+)+", source):
            tokens.append(Token(kind, one.text, one.start, one.end + 1))
            continue
        # sqlglot has tokens of several words: PARTITIONED BY, GROUP BY.
        tokens += [
            Token("VAR", word.group(), one.start + word.start(), one.start + word.end())
            for word in re.finditer(r"\S+", source)
        ]
    while tokens and tokens[-1].kind == "SEMICOLON":
        tokens.pop()
    return tokens


def quoted(name: str) -> str:
    """Returns a name in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def with_arguments(text: str, args: Mapping[str, Any]) -> str:
    """Returns a statement with literals in the place of its parameters (`:name`)."""
    if not args:
        return text
    tokens, pieces, done = tokens_of(text), [], 0
    for colon, name in itertools.pairwise(tokens):
        if colon.kind == "COLON" and name.start == colon.end and name.text in args:
            pieces += [text[done : colon.start], literal(name.text, args[name.text])]
            done = name.end
    return "".join([*pieces, text[done:]])


def literal(name: str, value: Any) -> str:
    """Returns a Python value as a literal of SQL; `name` is for the message of an error."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value}L" if abs(value) >= 2**31 else str(value)
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, decimal.Decimal):
        return f"{value:f}BD"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    raise InvalidArgumentError(f"{name} must be a number, a string, a date, a time or None, got {value!r}")


class Cursor:
    """A position in the tokens of a statement.

    Args:
        text: The statement.
    """

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, tokens_of(text), 0

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
        is_name = token is not None and (token.kind == "IDENTIFIER" or token.text.replace("_", "a").isalnum())
        if token is None or not is_name or token.kind == "STRING":
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
        if token is None or token.word in stops or not (token.kind == "IDENTIFIER" or token.text.isidentifier()):
            return None
        return self._part()

    def until(self, *stops: str) -> str:
        """Consumes an expression up to one of these words, or the end; brackets and CASE … END may contain them."""
        begin, depth = self.at, 0
        while (token := self.token) is not None:
            if depth == 0 and token.word in stops:
                break
            if token.text in _OPEN or token.word == "CASE":
                depth += token.kind != "STRING"
            elif token.text in _CLOSE or token.word == "END":
                if depth == 0:
                    break
                depth -= token.kind != "STRING"
            self.at += 1
        if self.at == begin:
            raise self.error("an expression is expected here")
        return self.text[self.tokens[begin].start : self.tokens[self.at - 1].end]

    def error(self, message: str) -> InvalidArgumentError:
        """Returns an error that shows the line of the next token, and where it is."""
        at = self.token.start if self.token is not None else len(self.text.rstrip())
        begin = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        line = self.text[begin : end if end >= 0 else None]
        number, column = self.text.count("\n", 0, at) + 1, at - begin + 1
        return InvalidArgumentError(f"{message} (line {number}, column {column})\n{line}\n{' ' * (column - 1)}^")
