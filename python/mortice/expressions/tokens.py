"""The tokens of an expression."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mortice.errors import InvalidArgumentError

__all__ = ["Token", "refused", "tokens"]

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<string>'(?:[^']|'')*')
    |(?P<quoted>`(?:[^`]|``)+`|"(?:[^"]|"")+")
    |(?P<name>[^\W\d]\w*)
    |(?P<symbol><=>|<>|!=|<=|>=|==|\|\||[-+*/%=<>(),.])""",
    re.VERBOSE,
)
_SHOWN = 200


@dataclass(frozen=True)
class Token:
    """A token. Its kind is `number`, `string`, `quoted`, `name`, `symbol` or `end`."""

    kind: str
    text: str
    at: int

    @property
    def word(self) -> str:
        """The keyword that the token may be, in upper case; empty for a token that is none."""
        return self.text.upper() if self.kind == "name" else self.text if self.kind == "symbol" else ""


def tokens(text: str) -> Iterator[Token]:
    """Yields the tokens of an expression, and one of the kind `end`. Raises `InvalidArgumentError` for other signs."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            what = "a string that does not end" if text[at] in "'\"`" else f"the sign {text[at]!r}"
            raise refused(text, at, f"has {what}")
        kind, token = str(found.lastgroup), found.group()
        if kind == "string":
            token = token[1:-1].replace("''", "'")
        elif kind == "quoted":
            token = token[1:-1].replace(token[0] * 2, token[0])
        if kind != "space":
            yield Token(kind, token, at)
        at = found.end()
    yield Token("end", "", len(text))


def refused(text: str, at: int, what: str) -> InvalidArgumentError:
    """Returns the error for an expression: what is wrong, at which place of the text, counted from 1."""
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return InvalidArgumentError(f"the expression {shown!r} {what} at character {at + 1}")
