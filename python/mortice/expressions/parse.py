"""The parser of expressions, and of the conditions that filters are: recursive descent by precedence."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from typing import Any, NoReturn

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.expressions.functions import FUNCTIONS
from mortice.expressions.tokens import Text, Token
from mortice.expressions.tree import Call, Case, Cast, Column, InList, Literal, Node

__all__ = ["OPERATORS", "Parser", "parse"]

COMPARISONS = {"=": "=", "==": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
LEVELS = {"OR": 1, "AND": 2, "+": 4, "-": 4, "||": 4, "*": 5, "/": 5, "%": 5}
"""The precedence of the operators of two operands."""
TEST, SUM = 3, 4
"""The level of comparisons and other tests, and the one above it."""
TESTS = {*COMPARISONS, "IS", "NOT", "IN", "BETWEEN", "LIKE"}
NAMES = {"OR": "or", "AND": "and", "||": "concat"}
MOST_DEPTH = 200
MOST_DIGITS = 38
INT64 = range(-(2**63), 2**63)
TYPES = {
    "BOOLEAN": pa.bool_(),
    "INT": pa.int32(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "REAL": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "VARCHAR": pa.string(),
    "TEXT": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}
UNITS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6}
UNITS |= {"DAY": 24 * UNITS["HOUR"], "WEEK": 7 * 24 * UNITS["HOUR"]}
OPERATORS = frozenset({"AND", "OR", "NOT", "IN", "IS", "LIKE", "BETWEEN"})
RESERVED = OPERATORS | {"CASE", "WHEN", "THEN", "ELSE", "END", "AS", "CAST"}


def parse(text: str) -> Node:
    """Returns the tree of an expression. Raises `InvalidArgumentError` that names the place in the text."""
    if not isinstance(text, str):
        raise InvalidArgumentError(f"an expression must be a string, got {text!r}")
    return Parser(Text(text)).parsed()


class Parser:
    """Parses an expression by the precedence of its operators.

    Args:
        text: The expression.
    """

    reserved = RESERVED

    def __init__(self, text: Text) -> None:
        self.text = text
        self.tokens = list(text.tokens())
        self.place = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        raise self.text.refused(self.token.at if at is None else at, what)

    def take(self, *words: str) -> str | None:
        """Takes the next token if it is one of these words or symbols."""
        word = self.token.word
        if word in words and word:
            self.place += 1
            return word
        return None

    def expect(self, *words: str) -> str:
        taken = self.take(*words)
        if taken is None:
            got = repr(self.token.text) if self.token.kind != "end" else "its end"
            self.fail(f"has {got} where {' or '.join(words)} is expected")
        return taken

    def parsed(self) -> Node:
        if self.token.kind == "end":
            self.fail("is empty")
        node = self.expression()
        if self.token.kind != "end":
            self.fail(f"has {self.token.text!r}, which is not expected")
        return node

    def nest(self) -> None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            self.fail(f"is nested more than {MOST_DEPTH} levels deep")

    def expression(self, least: int = LEVELS["OR"]) -> Node:
        """Parses operators of the level `least` and above. A level of parentheses needs few calls in this way."""
        at, signs, most = self.token.at, "", max(LEVELS.values())
        while symbol := self.take("-", "+"):
            signs += symbol
        if least <= TEST and not signs and self.take("NOT"):
            self.nest()
            node: Node = Call("not", (self.expression(TEST),), at)
            most = TEST - 1
            self.depth -= 1
        elif self.take("("):
            self.nest()
            node = self.expression()
            self.expect(")")
            self.depth -= 1
        elif signs and self.token.kind == "number":
            node, signs = self.number(("-" if signs.count("-") % 2 else "+") + self.token.text), ""
        else:
            node = self.primary()
        if signs.count("-") % 2:
            node = Call("negate", (node,), at)
        while least <= (level := self.level()) <= most:
            if level == TEST:
                # A test is no operand of another one.
                node, most = self.test(node), TEST - 1
            else:
                operator, most = self.token, level
                self.place += 1
                name = NAMES.get(operator.word, operator.word)
                node = Call(name, (node, self.expression(level + 1)), operator.at)
        return node

    def level(self) -> int:
        word = self.token.word
        return TEST if word in TESTS else LEVELS.get(word, 0)

    def test(self, node: Node) -> Node:
        at = self.token.at
        if symbol := self.take(*COMPARISONS):
            return Call(COMPARISONS[symbol], (node, self.expression(SUM)), at)
        if self.take("IS"):
            negated = self.take("NOT") is not None
            kind = self.expect("NULL", "TRUE", "FALSE")
            tested: Node = Call(f"is {kind.lower()}", (node,), at)
            return Call("not", (tested,), at) if negated else tested
        negated = self.take("NOT") is not None
        if self.take("IN"):
            if self.take("(") is None:
                self.fail("has IN without a list in brackets")
            found: Node = InList(node, self.list_until_closed(), at)
        elif self.take("BETWEEN"):
            low = self.expression(SUM)
            self.expect("AND")
            high = self.expression(SUM)
            found = Call("and", (Call(">=", (node, low), at), Call("<=", (node, high), at)), at)
        elif self.take("LIKE"):
            found = Call("like", (node, self.expression(SUM)), at)
        else:
            self.fail("has NOT where IN, BETWEEN or LIKE is expected behind it")
        return Call("not", (found,), at) if negated else found

    def list_until_closed(self) -> tuple[Node, ...]:
        if self.take(")"):
            return ()
        self.nest()
        items = [self.expression()]
        while self.expect(",", ")") == ",":
            items.append(self.expression())
        self.depth -= 1
        return tuple(items)

    def primary(self) -> Node:
        token = self.token
        if token.kind == "number":
            return self.number(token.text)
        if token.kind == "string":
            self.place += 1
            return Literal(pa.scalar(token.text))
        if token.kind == "quoted":
            return self.column()
        if token.kind != "name":
            what = f"has {token.text!r}" if token.text else "ends"
            self.fail(f"{what} where a value is expected")
        return self.word()

    def word(self) -> Node:
        token, following = self.token, self.tokens[self.place + 1]
        if following.kind == "string" and token.word in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "X", "INTERVAL"):
            return self.typed_literal(token.word)
        if token.word == "INTERVAL" and following.kind == "number":
            return self.typed_literal(token.word)
        if constant := self.take("TRUE", "FALSE"):
            return Literal(pa.scalar(constant == "TRUE"))
        if self.take("NULL"):
            return Literal(pa.scalar(None))
        form = self.form()
        if form is None and token.word in self.reserved:
            self.fail(f"has {token.text!r} where a value is expected; quote a column of this name with backticks")
        return self.column() if form is None else form

    def form(self) -> Node | None:
        """Parses what begins with a word and is computed; None for anything else."""
        if self.take("CASE"):
            return self.case()
        if self.take("CAST"):
            self.expect("(")
            value = self.expression()
            self.expect("AS")
            cast = Cast(value, self.type())
            self.expect(")")
            return cast
        return self.call() if self.tokens[self.place + 1].word == "(" else None

    def number(self, text: str) -> Node:
        at = self.token.at
        self.place += 1
        if "e" in text.lower():
            return Literal(pa.scalar(float(text), pa.float64()))
        value = decimal.Decimal(text)
        if "." not in text and int(value) in INT64:
            return Literal(pa.scalar(int(value), pa.int64()))
        if len(value.as_tuple().digits) > MOST_DIGITS or -int(value.as_tuple().exponent) > MOST_DIGITS:
            self.fail(f"has a number of more than {MOST_DIGITS} digits", at)
        return Literal(pa.scalar(value))

    def typed_literal(self, word: str) -> Node:
        at, text = self.token.at, self.tokens[self.place + 1].text
        self.place += 2
        try:
            if word == "X":
                return Literal(pa.scalar(bytes.fromhex(text)))
            if word == "DATE":
                return Literal(pa.scalar(dt.date.fromisoformat(text.strip())))
            if word == "INTERVAL":
                return Literal(self.interval(text))
            moment = dt.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
            if word == "TIMESTAMP":
                aware = moment if moment.tzinfo else moment.replace(tzinfo=dt.timezone.utc)
                return Literal(pa.scalar(aware.astimezone(dt.timezone.utc), pa.timestamp("us", "UTC")))
            if moment.tzinfo is not None:
                self.fail("has a TIMESTAMP_NTZ with a time zone", at)
            return Literal(pa.scalar(moment, pa.timestamp("us")))
        except ValueError as error:
            self.fail(f"has {word} {text!r}, which is not one ({error}),", at)

    def interval(self, text: str) -> pa.Scalar[Any]:
        found = re.fullmatch(r"\s*([+-]?\d+)\s*([A-Za-z]*)\s*", text)
        unit = (found.group(2) if found and found.group(2) else "").upper()
        if found and not unit:
            unit = self.token.text.upper()
            self.place += 1
        size = UNITS.get(unit.removesuffix("S"))
        if found is None or size is None:
            raise ValueError(f"INTERVAL '3' DAY; units: {', '.join(UNITS)}")
        return pa.scalar(int(found.group(1)) * size, pa.duration("us"))

    def type(self) -> pa.DataType:
        token = self.token
        self.place += token.kind != "end"
        if token.word in ("DECIMAL", "NUMERIC"):
            digits, scale = 10, 0
            if self.take("("):
                digits = self.whole()
                if self.expect(",", ")") == ",":
                    scale = self.whole()
                    self.expect(")")
            if not 1 <= digits <= MOST_DIGITS or scale > digits:
                self.fail(f"has the type decimal({digits}, {scale}), which there is not", token.at)
            return pa.decimal128(digits, scale)
        kind = TYPES.get(token.word)
        if kind is None:
            self.fail(f"has the type {token.text!r}; supported: {', '.join(TYPES).lower()}, decimal(p, s)", token.at)
        if token.word == "VARCHAR" and self.take("("):
            self.whole()
            self.expect(")")
        return kind

    def whole(self) -> int:
        text = self.token.text
        if self.token.kind != "number" or not text.isdigit():
            self.fail(f"has {text!r} where a whole number is expected")
        self.place += 1
        return int(text)

    def case(self) -> Node:
        at = self.token.at
        operand = None if self.token.word == "WHEN" else self.expression()
        branches: list[tuple[Node, Node]] = []
        while self.take("WHEN"):
            condition = self.expression()
            if operand is not None:
                condition = Call("=", (operand, condition), at)
            self.expect("THEN")
            branches.append((condition, self.expression()))
        if not branches:
            self.expect("WHEN")
        otherwise = self.expression() if self.take("ELSE") else Literal(pa.scalar(None))
        self.expect("END")
        return Case(tuple(branches), otherwise)

    def call(self) -> Node:
        token = self.token
        name = token.text.lower()
        self.place += 2
        arguments = self.list_until_closed()
        function = FUNCTIONS.get(name)
        if function is None:
            self.fail(f"calls {token.text!r}; supported: {', '.join(sorted(FUNCTIONS))}", token.at)
        if not function.least <= len(arguments) <= function.most:
            self.fail(f"calls {name} with {len(arguments)} arguments, which takes {function.counts}", token.at)
        if name == "if":
            return Case(((arguments[0], arguments[1]),), arguments[2])
        return Call(name, arguments, token.at)

    def column(self) -> Node:
        at, path = self.token.at, [self.token.text]
        self.place += 1
        while self.take("."):
            if self.token.kind not in ("name", "quoted"):
                self.fail("has a point where no name follows")
            path.append(self.token.text)
            self.place += 1
        return Column(tuple(path), at)
