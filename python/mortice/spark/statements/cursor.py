"""A position in a statement, and clauses that several statements have: options, types, columns and partitions.

Errors show the place in the text that was given.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mortice.errors import InvalidArgumentError
from mortice.spark.statements.parameters import literal
from mortice.spark.statements.tokens import Expression, Token, error_at, expression_end, quoted, tokens_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


Parameters = Mapping[str, object] | Sequence[object]
_ARGS = "args"


def parameters_of(given: Mapping[str, object], tokens: Sequence[Token]) -> Parameters:
    """Returns the values of the parameters, of the keyword arguments of `mortice.spark.sql`.

    As with `spark.sql`, the argument `args` alone has all of them, by name or in order, unless it is itself one.
    """
    if set(given) != {_ARGS} or any(name == _ARGS for _, _, name in _markers(tokens) if name is not None):
        return given
    values = given[_ARGS]
    if values is None:
        return {}
    if isinstance(values, Mapping) or (isinstance(values, Sequence) and not isinstance(values, (str, bytes))):
        return values
    return given


def _markers(tokens: Sequence[Token]) -> list[tuple[int, int, str | None]]:
    """Returns the parameters: their first token, the one behind them, and the name."""
    found: list[tuple[int, int, str | None]] = []
    for at, token in enumerate(tokens):
        if token.kind != "OPERATOR":
            continue
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if token.text == "?":
            found.append((at, at + 1, None))
        elif token.text == ":" and following is not None and _is_named(following, token) and not _is_field(tokens, at):
            found.append((at, at + 2, following.text))
    return found


def _is_named(name: Token, colon: Token) -> bool:
    return name.is_name and name.start == colon.end


def _is_field(tokens: Sequence[Token], at: int) -> bool:
    """Returns whether a colon is that of a field of a type: `struct<a:int>`."""
    depth = 0
    for token in reversed(tokens[:at]):
        if token.kind == "OPERATOR" and token.text in ("<", ">"):
            depth += -1 if token.text == "<" else 1
        elif depth < 0:
            return token.word == "STRUCT"
    return False


def bound(tokens: Sequence[Token], given: Parameters) -> tuple[list[Token], list[tuple[int, int, str]]]:
    """Returns tokens with values in the place of parameters, and the literals that replace parts of the text."""
    made: list[Token] = []
    replaced: list[tuple[int, int, str]] = []
    done = number = 0
    for begin, end, name in _markers(tokens):
        if isinstance(given, Mapping):
            if name is None or name not in given:
                continue
            value, title = given[name], name
        else:
            if name is not None:
                continue
            number += 1
            if number > len(given):
                raise InvalidArgumentError(f"the statement has more than {len(given)} parameters, and no other values")
            value, title = given[number - 1], f"the value {number}"
        start, stop, text = tokens[begin].start, tokens[end - 1].end, literal(title, value)
        made += [*tokens[done:begin], _token(value, text, start, stop)]
        replaced.append((start, stop, text))
        done = end
    return [*made, *tokens[done:]], replaced


def _token(value: object, text: str, start: int, end: int) -> Token:
    if isinstance(value, str):
        return Token("STRING", str.__str__(value), start, end)
    if isinstance(value, bool):
        return Token("VAR", text, start, end)
    if isinstance(value, int):
        return Token("NUMBER", str(int(value)), start, end)
    return Token("VALUE", text, start, end)


class Cursor:
    """A position in the tokens of a statement."""

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
        """Returns the token behind a part that Spark gets in another form, which may be longer than it seems."""
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
        """Returns a cursor for a part of the same statement, which ends with it."""
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


_BEHIND_TYPES = ("NOT", "COMMENT", "DEFAULT", "GENERATED", "FIRST", "AFTER", "COLLATE", ",")


@dataclass(frozen=True)
class ColumnClause:
    """A column as a statement describes it."""

    path: tuple[str, ...]
    """Its name; several parts for a field of a struct."""
    kind: str
    """Its type, in SQL."""
    place: int
    """The token at which the type begins."""
    is_nullable: bool = True
    comment: str | None = None
    after: str | None = None
    """The column that it is put behind."""
    is_first: bool = False


def options_clause(cursor: Cursor) -> dict[str, str]:
    """Consumes `(name = value, name value, 'name' = 'value')`."""
    options: dict[str, str] = {}
    cursor.expect("(")
    while not cursor.take(")"):
        token = cursor.token
        name = cursor.string() if token is not None and token.kind == "STRING" else ".".join(cursor.name())
        if not cursor.take("="):
            cursor.take("==")
        value = cursor.token
        if value is None or (value.kind not in ("STRING", "NUMBER") and value.word not in ("TRUE", "FALSE")):
            raise cursor.error("a value is expected here")
        cursor.at += 1
        options[name] = value.text
        if not cursor.take(",") and not cursor.words(")"):
            raise cursor.error(", or ) is expected here")
    return options


def type_text(cursor: Cursor) -> str:
    """Consumes a type: `decimal(10, 2)`, `struct<a: int, b: map<string, int>>`."""
    begin, depth = cursor.at, 0
    while (token := cursor.token) is not None:
        if depth == 0 and (token.word in _BEHIND_TYPES or token.text == ")"):
            break
        if token.kind not in ("STRING", "IDENTIFIER"):
            depth += sum(token.text.count(one) for one in "(<") - sum(token.text.count(one) for one in ")>")
        cursor.at += 1
    if cursor.at == begin:
        raise cursor.error("a type is expected here")
    return cursor.text[cursor.tokens[begin].start : cursor.tokens[cursor.at - 1].end]


def column_clause(cursor: Cursor) -> ColumnClause:
    """Consumes `name type [NOT NULL] [COMMENT 'text'] [FIRST | AFTER name]`."""
    path = tuple(cursor.name())
    cursor.take(":")
    place, kind = cursor.at, type_text(cursor)
    is_nullable, is_first = True, False
    comment = after = None
    while True:
        if cursor.take("NOT", "NULL"):
            is_nullable = False
        elif cursor.take("COMMENT"):
            comment = cursor.string()
        elif cursor.take("FIRST"):
            is_first = True
        elif cursor.take("AFTER"):
            after = cursor.name()[-1]
        elif cursor.words("DEFAULT") or cursor.words("GENERATED"):
            raise cursor.error("columns with default and generated values are not supported")
        else:
            return ColumnClause(path, kind, place, is_nullable, comment, after, is_first)


def types_of(spark: SparkSession, cursor: Cursor, columns: Sequence[ColumnClause]) -> StructType:
    """Returns the columns with the types of Spark. Raises `InvalidArgumentError` at a type that is none."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructField, StructType

    def parsed(some: Sequence[ColumnClause]) -> StructType | None:
        casts = (f"CAST(NULL AS {one.kind}) AS {quoted('.'.join(one.path))}" for one in some)
        try:
            return spark.sql(f"SELECT {', '.join(casts)}").schema
        except PySparkException:
            return None

    found = parsed(columns)
    if found is None:
        wrong = next((one for one in columns if parsed([one]) is None), columns[0])
        cursor.at = wrong.place
        raise cursor.error(f"{wrong.kind} is not a type of Spark")
    fields = zip(found, columns, strict=True)
    return StructType([StructField(field.name, field.dataType, one.is_nullable) for field, one in fields])


def partition_clause(cursor: Cursor) -> dict[str, str | None]:
    """Consumes `PARTITION (dt = '2021-12-09', hh)`. Returns expressions by column; None where there is none."""
    cursor.expect("PARTITION")
    cursor.expect("(")
    values: dict[str, str | None] = {}
    while True:
        place, name = cursor.error("the column is named twice"), cursor.name()[-1]
        if name.lower() in (other.lower() for other in values):
            raise place
        has_value = cursor.take("=") or cursor.take("==")
        values[name] = cursor.until(",") if has_value else None
        if not cursor.take(","):
            cursor.expect(")")
            return values


def valued_partition(cursor: Cursor) -> dict[str, str | None]:
    """Consumes `PARTITION (dt = '2021-12-09')`, each column with a value."""
    place, values = cursor.error("each column needs a value here: PARTITION (name = value)"), partition_clause(cursor)
    if None in values.values():
        raise place
    return values
