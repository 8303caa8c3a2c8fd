"""Parameters of a statement: `:name`, and `?` for values without names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mortice.errors import InvalidArgumentError
from mortice.spark.statements.literals import literal
from mortice.spark.statements.tokens import Token

__all__ = ["Parameters", "bound", "parameters_of"]

Parameters = Mapping[str, Any] | Sequence[Any]
_ARGS = "args"


def parameters_of(given: Mapping[str, Any], tokens: Sequence[Token]) -> Parameters:
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


def _token(value: Any, text: str, start: int, end: int) -> Token:
    if isinstance(value, str):
        return Token("STRING", str.__str__(value), start, end)
    if isinstance(value, bool):
        return Token("VAR", text, start, end)
    if isinstance(value, int):
        return Token("NUMBER", str(int(value)), start, end)
    return Token("VALUE", text, start, end)
