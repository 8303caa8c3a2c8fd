"""The tokens of a statement: strings, comments, quotes and numbers as Spark's lexer has them (`SqlBaseLexer.g4`).

Expressions are not parsed, but taken from the text as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mortice.errors import InvalidArgumentError

__all__ = ["Token", "error_at", "quoted", "tokens_of"]

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
