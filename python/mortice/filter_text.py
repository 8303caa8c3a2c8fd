"""Parses the text of a filter, written as the condition of SQL's WHERE.

    fare > 80 and city in ('oslo', 'lima') and not (note is null or note like 'x%')

    condition  = condition or condition | condition and condition | not condition | ( condition ) | comparison
    comparison = column = literal         also ==, !=, <>, <, <=, >, >= ; the literal may be on the left
               | column [not] in ( literal, … )
               | column [not] between literal and literal
               | column [not] like 'pattern'
               | column is [not] null
               | column                   of booleans
    column     = name | name.name … (fields of structs) | "quoted name" | `quoted name`
    literal    = 'string' | number | true | false | date 'yyyy-mm-dd' | timestamp 'yyyy-mm-dd hh:mm:ss' | x'hex' | word

Names are matched as they are written; keywords are in any case. A word that names no column is a string, so that
`city = oslo` works in a shell. Numbers are exact decimals, and strings if their column is one of strings.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
from dataclasses import dataclass
from typing import Any

from mortice.errors import InvalidArgumentError
from mortice.predicate import AllOf, AnyOf, Column, Comparison, Constant, Negation, Predicate

__all__ = ["Number", "Word", "parse_filter"]

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<date>\d{4}-\d\d-\d\d(?:[T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?(?![\w.]))
    | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<bytes>[xX]'(?:[0-9a-fA-F]{2})*')
    | (?P<string>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")+"|`(?:[^`]|``)+`)
    | (?P<word>[^\W\d]\w*)
    | (?P<symbol>==|!=|<>|<=|>=|[=<>(),.])
    )""",
    re.VERBOSE,
)
_COMPARISONS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_KEYWORDS = frozenset({"and", "or", "not", "in", "between", "like", "is", "null", "true", "false"})
_DEEPEST = 200
"""Levels of parentheses and negations, which the parser follows by recursion."""


@dataclass(frozen=True)
class Number:
    """A number as it was written: the type of its column decides whether it is one or a string."""

    text: str

    @property
    def value(self) -> int | float | decimal.Decimal:
        """The number: an integer, an exact decimal, or a float if it has too many digits for a decimal."""
        if re.fullmatch(r"[+-]?\d+", self.text):
            return int(self.text)
        exact = decimal.Decimal(self.text)
        exponent = exact.as_tuple().exponent
        is_small = isinstance(exponent, int) and len(exact.as_tuple().digits) <= 38 and -38 <= exponent <= 0  # noqa: PLR2004
        return exact if is_small else float(self.text)


@dataclass(frozen=True)
class Word:
    """A name where a literal is expected: a string, unless it names a column."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.lower() in words


def parse_filter(text: str) -> Predicate:
    """Returns the predicate that a text describes. Its literals may be `Number` and `Word`.

    Raises `InvalidArgumentError`, which says where the text cannot be parsed.
    """
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0

    def whole(self) -> Predicate:
        if self._peek().kind == "end":
            raise self._error("it is empty", self._peek())
        predicate = self._any()
        if self._peek().kind != "end":
            raise self._error("`and`, `or` or the end is expected", self._peek())
        return predicate

    def _any(self) -> Predicate:
        parts = [self._all()]
        while self._take("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all(self) -> Predicate:
        parts = [self._one()]
        while self._take("and"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _one(self) -> Predicate:
        first = self._peek()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("too many levels of parentheses", first)
        if self._take("not"):
            predicate: Predicate = Negation(self._one())
        elif self._take_symbol("("):
            predicate = self._any()
            self._expect(")")
        else:
            predicate = self._comparison()
        self._depth -= 1
        return predicate

    def _comparison(self) -> Predicate:
        left = self._operand()
        operator = _COMPARISONS.get(self._peek().text) if self._peek().kind == "symbol" else None
        if not isinstance(left, _Name):
            if operator is None:
                if isinstance(left, bool) or left is None:
                    return Constant(left)
                raise self._error("a comparison operator is expected", self._peek())
            self._next += 1
            return self._compared(self._name(), _FLIPPED[operator], left)
        if operator is not None:
            self._next += 1
            return self._compared(left.column, operator, self._literal())
        return self._special(left.column)

    def _special(self, column: Column) -> Predicate:
        if self._take("is"):
            operator = "is not null" if self._take("not") else "is null"
            if not self._take("null"):
                raise self._error("`null` or `not null` is expected", self._peek())
            return Comparison(column, operator)
        is_negated = self._take("not")
        if self._take("in"):
            predicate = self._membership(column)
        elif self._take("between"):
            least = self._literal()
            if not self._take("and"):
                raise self._error("`and` is expected", self._peek())
            greatest = self._literal()
            predicate = AllOf((self._compared(column, ">=", least), self._compared(column, "<=", greatest)))
        elif self._take("like"):
            token = self._peek()
            if token.kind != "string":
                raise self._error("a pattern in single quotes is expected", token)
            predicate = Comparison(column, "like", self._literal())
        elif is_negated or (self._peek().kind != "end" and not self._is_boundary()):
            raise self._error("an operator is expected (=, !=, <, <=, >, >=, in, between, like, is null)", self._peek())
        else:
            return Comparison(column, "=", True)
        return Negation(predicate) if is_negated else predicate

    def _is_boundary(self) -> bool:
        token = self._peek()
        return token.is_word("and", "or") or (token.kind, token.text) == ("symbol", ")")

    def _membership(self, column: Column) -> Predicate:
        if not self._take_symbol("("):
            raise self._error("a list in brackets is expected, as in city in ('oslo', 'lima')", self._peek())
        literals: list[Any] = []
        if not self._take_symbol(")"):
            literals.append(self._literal())
            while self._take_symbol(","):
                literals.append(self._literal())
            if not self._take_symbol(")"):
                raise self._error("a comma or the closing bracket of a list is expected", self._peek())
        present = [literal for literal in literals if literal is not None]
        found: Predicate = Comparison(column, "in", present)
        # Null may be the value that is looked for.
        return found if len(present) == len(literals) else AnyOf((found, Constant(None)))

    @staticmethod
    def _compared(column: Column, operator: str, literal: Any) -> Predicate:
        return Constant(None) if literal is None else Comparison(column, operator, literal)

    def _operand(self) -> Any:
        """Returns a literal, or a name: at the beginning of a comparison a word is a name."""
        token = self._peek()
        following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        is_typed = token.is_word("date", "timestamp") and following.kind == "string"
        if token.kind == "quoted" or (token.kind == "word" and not is_typed and not token.is_word(*_KEYWORDS)):
            return _Name(self._name())
        return self._literal()

    def _name(self) -> Column:
        names = [self._name_part()]
        while self._take_symbol("."):
            names.append(self._name_part())
        return names[0] if len(names) == 1 else tuple(names)

    def _name_part(self) -> str:
        token = self._peek()
        self._next += 1
        if token.kind == "word" and not token.is_word(*_KEYWORDS):
            return token.text
        if token.kind == "quoted":
            quote = token.text[0]
            return token.text[1:-1].replace(quote * 2, quote)
        raise self._error("the name of a column is expected", token)

    def _literal(self) -> Any:
        token = self._peek()
        if token.is_word("date", "timestamp") and self._tokens[self._next + 1].kind == "string":
            self._next += 2
            return self._typed(token, self._tokens[self._next - 1])
        if token.kind in ("quoted", "word") and not token.is_word(*_KEYWORDS):
            name = self._name()
            return Word((name,) if isinstance(name, str) else name)
        self._next += 1
        if token.kind == "string":
            return token.text[1:-1].replace("''", "'")
        if token.kind == "number":
            return Number(token.text)
        if token.kind == "date":
            return token.text
        if token.kind == "bytes":
            return bytes.fromhex(token.text[2:-1])
        if token.is_word("true", "false"):
            return token.text.lower() == "true"
        if token.is_word("null"):
            return None
        raise self._error("a literal is expected", token)

    def _typed(self, kind: _Token, token: _Token) -> Any:
        text = token.text[1:-1]
        if kind.is_word("timestamp"):
            return text
        try:
            return dt.date.fromisoformat(text)
        except ValueError:
            raise self._error("a date is expected, as in date '2024-01-31'", token) from None

    def _peek(self) -> _Token:
        return self._tokens[min(self._next, len(self._tokens) - 1)]

    def _take(self, word: str) -> bool:
        taken = self._peek().is_word(word)
        self._next += taken
        return taken

    def _take_symbol(self, symbol: str) -> bool:
        taken = (self._peek().kind, self._peek().text) == ("symbol", symbol)
        self._next += taken
        return taken

    def _expect(self, symbol: str) -> None:
        if not self._take_symbol(symbol):
            raise self._error(f"{symbol!r} is expected", self._peek())

    def _error(self, what: str, token: _Token) -> InvalidArgumentError:
        found = "at the end" if token.kind == "end" else f"at {self._text[token.at : token.at + 20]!r}"
        return InvalidArgumentError(
            f"the filter {self._text!r} cannot be parsed {found}: {what}; a filter is written as "
            "fare > 80 and city in ('oslo', 'lima') or note is null"
        )


@dataclass(frozen=True)
class _Name:
    column: Column


def _tokens(text: str) -> list[_Token]:
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            rest = text[at:].lstrip()
            what = (
                "a quote is not closed" if rest[:1] in {"'", '"', "`"} else "it has a character that is no part of it"
            )
            raise InvalidArgumentError(f"the filter {text!r} cannot be parsed at {rest[:20]!r}: {what}")
        tokens.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        at = match.end()
    return [*tokens, _Token("end", "", end)]
