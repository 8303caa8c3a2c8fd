"""The tokens of an expression, and of a filter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mortice.errors import InvalidArgumentError

__all__ = ["Text", "Token"]

_DATE = r"(?P<date>\d{4}-\d\d-\d\d(?:[T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?(?![\w.]))|"
_REST = r"""(?P<space>\s+)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<string>'(?:[^']|'')*')
    |(?P<quoted>`(?:[^`]|``)+`|"(?:[^"]|"")+")
    |(?P<name>[^\W\d]\w*)
    |(?P<symbol><=>|<>|!=|<=|>=|==|\|\||[-+*/%=<>(),.])"""
_EXPRESSION, _FILTER = (re.compile(pattern, re.VERBOSE) for pattern in (_REST, _DATE + _REST))
_SHOWN = 200
MEANT = {"&": " (and is the word for it)", "|": " (or is the word for it)", "!": " (not is the word for it)"}
"""What signs of other languages are here."""


@dataclass(frozen=True)
class Token:
    """A token. Its kind is `number`, `string`, `quoted`, `name`, `symbol`, in a filter `date`, or `end`."""

    kind: str
    text: str
    at: int

    @property
    def word(self) -> str:
        """The keyword that the token may be, in upper case; empty for a token that is none."""
        return self.text.upper() if self.kind == "name" else self.text if self.kind == "symbol" else ""


@dataclass(frozen=True)
class Text:
    """An expression or a filter as it was written."""

    whole: str
    is_filter: bool = False
    """A filter has dates without quotes, which are differences of numbers in an expression."""

    def tokens(self) -> Iterator[Token]:
        """Yields the tokens, and one of the kind `end`. Raises `InvalidArgumentError` for other characters."""
        pattern, text, at = _FILTER if self.is_filter else _EXPRESSION, self.whole, 0
        while at < len(text):
            found = pattern.match(text, at)
            if found is None:
                what = (
                    "a string that does not end"
                    if text[at] in "'\"`"
                    else f"the sign {text[at]!r}{MEANT.get(text[at], '')}"
                )
                raise self.refused(at, f"has {what}")
            kind, token = str(found.lastgroup), found.group()
            if kind == "string":
                token = token[1:-1].replace("''", "'")
            elif kind == "quoted":
                token = token[1:-1].replace(token[0] * 2, token[0])
            if kind != "space":
                yield Token(kind, token, at)
            at = found.end()
        yield Token("end", "", len(text))

    def refused(self, at: int, what: str) -> InvalidArgumentError:
        """Returns the error for the text: what is wrong, at which place, counted from 1."""
        shown = self.whole if len(self.whole) <= _SHOWN else self.whole[:_SHOWN] + "…"
        kind, example = ("filter", "; an example: fare > 80 and city in ('oslo', 'lima')") if self.is_filter else _PLAIN
        return InvalidArgumentError(f"the {kind} {shown!r} {what} at character {at + 1}{example}")


_PLAIN = ("expression", "")
