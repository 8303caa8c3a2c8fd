"""The tokens of a statement: strings, comments, quotes and numbers as Spark's lexer has them (`SqlBaseLexer.g4`).

Expressions are not parsed, but taken from the text as they are; only their ends are found. Spark allows almost all of
its keywords as names of columns, `end` and `when` among them. So a keyword is one only where an operator can stand,
behind a complete operand; where an operand has to stand, it is a name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mortice.errors import InvalidArgumentError

_LEXER = re.compile(
    r"""
      (?P<SPACE>\s+)
    | (?P<COMMENT>--(?:\\\n|[^\r\n])*)
    | (?P<BRACKETED>/\*)
    | (?P<RAW>[rR](?:'[^']*'|"[^"]*"))
    | (?P<STRING>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<IDENTIFIER>`(?:[^`]|``)*`)
    | (?P<NUMBER>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[bB][dD]|[lLsSyYfFdD])?(?!\w))
    | (?P<VAR>\w+)
    | (?P<OPERATOR>=>|->|==|<=>|<>|!=|<=|>=|\|\||\|>|::|:=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_UNENDED = {"'": "this string has no end", '"': "this string has no end", "`": "this name has no end"}
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_CHARACTERS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_LAST = 0x10FFFF


@dataclass(frozen=True)
class Token:
    """A token and where it is in the text; `end` is exclusive."""

    kind: str
    """`STRING`, `IDENTIFIER` (in backquotes), `NUMBER`, `VAR` (a word), `OPERATOR`, or `VALUE` (of a parameter)."""
    text: str
    """What it stands for: of strings and names in quotes what is between the quotes."""
    start: int
    end: int

    @property
    def word(self) -> str:
        """The token in upper case; empty for quoted names, strings and values."""
        return "" if self.kind in ("IDENTIFIER", "STRING", "VALUE") else self.text.upper()

    @property
    def is_name(self) -> bool:
        """Whether it can be a name, or part of one."""
        return self.kind in ("IDENTIFIER", "VAR")


def tokens_of(text: str) -> list[Token]:
    """Returns the tokens of a statement. Raises `InvalidArgumentError` for a string or comment that has no end."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        found = _LEXER.match(text, at)
        kind = found.lastgroup if found is not None else None
        if found is None or kind is None:
            raise error_at(text, at, "this character is not part of SQL")
        start, at = at, found.end()
        if kind == "BRACKETED":
            at = _comment_end(text, start)
        elif kind not in ("SPACE", "COMMENT"):
            if kind == "OPERATOR" and found.group() in _UNENDED:
                raise error_at(text, start, _UNENDED[found.group()])
            tokens.append(Token("STRING" if kind == "RAW" else kind, _meaning(kind, found.group()), start, at))
    while tokens and tokens[-1].text == ";" and tokens[-1].kind == "OPERATOR":
        tokens.pop()
    return tokens


def _comment_end(text: str, start: int) -> int:
    """Returns where a comment ends. Comments are nested; hints are read as comments, as they change no rows."""
    depth, at = 0, start
    while True:
        opened, closed = text.find("/*", at), text.find("*/", at)
        if closed < 0:
            raise error_at(text, start, "this comment has no end")
        if 0 <= opened < closed and not (depth and text.startswith("/*+", opened)):
            depth, at = depth + 1, opened + 2
            continue
        depth, at = depth - 1, closed + 2
        if depth == 0:
            return at


def _meaning(kind: str, source: str) -> str:
    if kind == "RAW":
        return source[2:-1]
    if kind == "IDENTIFIER":
        return source[1:-1].replace("``", "`")
    if kind == "STRING":
        return _ESCAPED.sub(_character, source[1:-1].replace(source[0] * 2, source[0]))
    return source


def _character(found: re.Match[str]) -> str:
    four, eight, octal, other = found.groups()
    if four or eight:
        code = int(four or eight, 16)
        return chr(code) if code <= _LAST else "?"
    return chr(int(octal, 8)) if octal else _CHARACTERS.get(other, other)


def quoted(name: str) -> str:
    """Returns a name in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def error_at(text: str, at: int, message: str) -> InvalidArgumentError:
    """Returns an error that shows the line of a place in a text."""
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[begin : end if end >= 0 else None]
    number, column = text.count("\n", 0, at) + 1, at - begin + 1
    return InvalidArgumentError(f"{message} (line {number}, column {column})\n{line}\n{' ' * (column - 1)}^")


_OPEN, _CLOSE = ("(", "[", "{"), (")", "]", "}")
_OPERATORS = (
    *("AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "DIV", "ESCAPE", "DISTINCT"),
    *("FROM", "COLLATE"),
)
"""Words behind an operand that need another one."""
_OF_CASE = ("WHEN", "THEN", "ELSE")
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")


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


def _is(token: Token, operators: Collection[str]) -> bool:
    return token.kind == "OPERATOR" and token.text in operators


def matching_bracket(tokens: Sequence[Token], at: int) -> int:
    """Returns the token that closes the bracket at a token; the number of tokens if none does."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += _is(tokens[place], _OPEN) - _is(tokens[place], _CLOSE)
        if depth == 0:
            return place
    return len(tokens)


def expression_end(
    tokens: Sequence[Token], begin: int, stops: Collection[str], *, ends_before_names: bool = False
) -> int:
    """Returns the token behind an expression.

    Args:
        tokens: The tokens of the statement.
        begin: The first token of the expression.
        stops: Words and operators at which it ends.
        ends_before_names: Whether a name behind an operand, such as an alias, ends it, too.
    """
    return _Reader(tokens, stops, ends_before_names).end_from(begin)


class _Reader:
    """Reads an expression token by token.

    Args:
        tokens: The tokens of the statement.
        stops: The words at which it ends.
        ends_before_names: Whether a name behind an operand ends it, too.
    """

    def __init__(self, tokens: Sequence[Token], stops: Collection[str], ends_before_names: bool) -> None:
        self.tokens, self.stops, self.ends_before_names = tokens, stops, ends_before_names
        self.cases = 0
        self.needs_operand = True

    def end_from(self, begin: int) -> int:
        at = begin
        while at < len(self.tokens):
            token = self.tokens[at]
            if _is(token, _CLOSE):
                break
            if _is(token, _OPEN):
                at = matching_bracket(self.tokens, at) + 1
                self.needs_operand = False
                continue
            if token.kind == "OPERATOR":
                if token.text in self.stops and not self.cases:
                    break
                self.needs_operand = True
            elif self._is_field(at):
                self.needs_operand = False
            elif self.needs_operand:
                if self._is_keyword(at):
                    break
                self._operand(at)
            elif self._behind_operand(at):
                break
            at += 1
        return min(at, len(self.tokens))

    def _is_field(self, at: int) -> bool:
        return at > 0 and _is(self.tokens[at - 1], (".",)) and self.tokens[at].kind != "STRING"

    def _operand(self, at: int) -> None:
        word = self.tokens[at].word
        if word == "NOT" and not self._is_followed_by_operator(at):
            return
        if word == "CASE" and self._is_case(at):
            self.cases += 1
            return
        if self.cases and word in _OF_CASE and (self._is_behind_case(at) or not self._is_followed_by_operator(at)):
            return
        self.needs_operand = False

    def _is_behind_case(self, at: int) -> bool:
        """Whether WHEN is the first one of a CASE, and not what is compared with them."""
        following = self.tokens[at + 1].word if at + 1 < len(self.tokens) else ""
        return self.tokens[at - 1].word == "CASE" and following != "WHEN"

    def _behind_operand(self, at: int) -> bool:
        """Takes a word behind an operand. Returns whether the expression ends before it."""
        word = self.tokens[at].word
        if self.cases:
            self.needs_operand = word in _OF_CASE or word in _OPERATORS
            if word == "END":
                self.cases -= 1
            return False
        if self.tokens[at].kind not in ("NUMBER", "VALUE") and word in self.stops:
            return True
        if word in _OPERATORS:
            self.needs_operand = True
            return False
        is_name = self.tokens[at].is_name
        return self.ends_before_names and is_name and not word.removesuffix("S").startswith(_UNITS)

    def _is_keyword(self, at: int) -> bool:
        """Whether a word that can end the expression does so, as nothing follows it that can follow a name."""
        word = self.tokens[at].word
        return not self.cases and word in self.stops and not self._is_followed_by_operator(at)

    def _is_followed_by_operator(self, at: int) -> bool:
        """Whether the token behind one can only follow an operand."""
        if at + 1 >= len(self.tokens):
            return True
        following = self.tokens[at + 1]
        if following.kind == "OPERATOR":
            return following.text not in _OPEN
        word = following.word
        is_of_case = self.cases > 0 and (word in _OF_CASE or word == "END")
        return is_of_case or word in self.stops or (word in _OPERATORS and word != "NOT")

    def _is_case(self, at: int) -> bool:
        """Whether CASE begins an expression, and is not the name of a column."""
        if at + 1 >= len(self.tokens):
            return False
        following = self.tokens[at + 1]
        words = [token.word for token in self.tokens[at + 1 :]]
        if "WHEN" not in words or "END" not in words:
            return False
        if following.kind == "OPERATOR":
            return following.text in ("(", "-", "+", "~", "[", "!", "{")
        word = following.word
        is_name = word in ("THEN", "ELSE", "END", *self.stops) and word != "WHEN"
        return not is_name and (word not in _OPERATORS or word == "NOT")
