"""Expressions of `pyarrow.compute` as predicates.

pyarrow shows the structure of an expression only in its serialised form, an Arrow IPC file: literals and options of
functions are columns, and the calls are the metadata of the schema, in order. It is read from the flatbuffer of the
file, because pyarrow's dictionaries of metadata have each key once. What is not recognised there is `Unknown`.

Comparisons of floats are pyarrow's: NaN is equal to nothing, not even to itself, and neither less nor greater.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from mortice.expressions.predicate import AllOf, AnyOf, Column, Comparison, Constant, Negation, Predicate, Unknown

__all__ = ["arrow_predicate", "like_pattern", "referenced_columns"]

_COMPARISONS = {
    "equal": "=",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NAN = float("nan")
_MAGIC = b"ARROW1"
_UNRECOGNISED = (IndexError, KeyError, ValueError, struct.error, pa.ArrowException)


def arrow_predicate(expression: pc.Expression, schema: pa.Schema) -> Predicate:
    """Returns the predicate that an expression is; `Unknown` in place of what the native module cannot evaluate.

    Args:
        expression: An expression of columns, as `pyarrow.compute.field("fare") > 80`.
        schema: The columns of the table.
    """
    try:
        tree = _tree(expression)
    except _UNRECOGNISED:
        return Unknown(_refusal(str(expression)))
    return _Translator(schema).predicate(tree)


def referenced_columns(expression: pc.Expression) -> set[str] | None:
    """Returns the columns that an expression refers to; None if its structure is not recognised."""
    try:
        return _columns(_tree(expression))
    except _UNRECOGNISED:
        return None


def like_pattern(text: str) -> str:
    """Returns a text so that a pattern matches it only."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


class _Field(tuple[str, ...]):
    """The names of a column and of fields within it."""

    __slots__ = ()


@dataclass(frozen=True)
class _Literal:
    value: object


@dataclass(frozen=True)
class _Call:
    name: str
    arguments: list[Node]
    options: Mapping[str, Any]


Node: TypeAlias = _Literal | _Field | _Call


class _Translator:
    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def predicate(self, node: Node) -> Predicate:
        if isinstance(node, _Literal):
            if node.value is None or isinstance(node.value, bool):
                return Constant(node.value)
            return Unknown(_refusal("a literal that is not a boolean"))
        if isinstance(node, _Field):
            return Comparison(_column(node), "=", True)
        name, arguments = node.name, node.arguments
        if name == "invert":
            return Negation(self.predicate(arguments[0]))
        if name == "and_kleene":
            return AllOf(tuple(self.predicate(one) for one in arguments))
        if name == "or_kleene":
            return AnyOf(tuple(self.predicate(one) for one in arguments))
        if name == "if_else":
            return self._null_where_null(*arguments)
        if name in _COMPARISONS:
            return self._comparison(_COMPARISONS[name], *arguments)
        if not isinstance(arguments[0], _Field) or len(arguments) != 1:
            return Unknown(_refusal(name))
        return self._of_column(node, arguments[0])

    def _of_column(self, node: _Call, field: _Field) -> Predicate:
        column, options = _column(field), node.options
        if node.name == "is_valid":
            return Comparison(column, "is not null")
        if node.name == "is_null":
            is_null = Comparison(column, "is null")
            if options["nan_is_null"] and self._is_float(field):
                return AnyOf((is_null, _never_null(Comparison(column, "=", _NAN))))
            return is_null
        if node.name == "is_nan":
            # Null where the value is.
            return Comparison(column, "=", _NAN)
        if node.name == "is_in":
            return self._membership(column, options, field)
        if options.get("ignore_case", True):
            return Unknown(_refusal(node.name))
        text = options["pattern"]
        if node.name == "match_like":
            return Comparison(column, "like", text)
        wildcards = {"starts_with": ("", "%"), "ends_with": ("%", ""), "match_substring": ("%", "%")}
        before, after = wildcards.get(node.name, (None, None))
        if before is None:
            return Unknown(_refusal(node.name))
        return Comparison(column, "like", f"{before}{like_pattern(text)}{after}")

    def _null_where_null(self, condition: Node, found: Node, otherwise: Node) -> Predicate:
        """DuckDB's `in`: `if_else(is_valid(a), is_in(a, …), null)`."""
        if not (isinstance(found, _Call) and isinstance(condition, _Call) and otherwise == _Literal(None)):
            return Unknown(_refusal("if_else"))
        if (condition.name, found.name) != ("is_valid", "is_in") or condition.arguments != found.arguments:
            return Unknown(_refusal("if_else"))
        field = found.arguments[0]
        if not isinstance(field, _Field) or self._is_float(field):
            return Unknown(_refusal("if_else"))
        return Comparison(_column(field), "in", [value for value in found.options["value_set"] if value is not None])

    def _membership(self, column: Column, options: Mapping[str, Any], field: _Field) -> Predicate:
        """`is_in` is never null: null is in a list that has null."""
        if options["null_matching_behavior"] > 1:
            return Unknown(_refusal("is_in with INCONCLUSIVE or EMIT_NULL"))
        values = options["value_set"]
        if self._is_float(field) and any(not value for value in values if value is not None and value == value):  # noqa: PLR0124
            return Unknown(_refusal("is_in with zero, of which pyarrow has two"))
        if self._is_float(field) and any(value != value for value in values):  # noqa: PLR0124 (NaN)
            return Unknown(_refusal("is_in with NaN"))
        found = _never_null(Comparison(column, "in", [value for value in values if value is not None]))
        with_null = None in values and options["null_matching_behavior"] == 0
        return AnyOf((found, Comparison(column, "is null"))) if with_null else found

    def _comparison(self, operator: str, left: Node, right: Node) -> Predicate:
        if isinstance(left, _Literal) and isinstance(right, _Field):
            left, right, operator = right, left, _FLIPPED.get(operator, operator)
        if not (isinstance(left, _Field) and isinstance(right, _Literal)):
            return Unknown(_refusal("a comparison other than that of a column with a literal"))
        if right.value is None:
            return Constant(None)
        compared = Comparison(_column(left), operator, right.value)
        if not self._is_float(left):
            return compared
        if isinstance(right.value, float) and right.value != right.value:
            # Nothing compares with NaN; everything is unlike it.
            return Comparison(compared.column, "not in" if operator == "!=" else "in", [])
        if operator not in (">", ">="):
            return compared
        # The native module orders NaN above all numbers.
        return AllOf((compared, Comparison(compared.column, "!=", _NAN)))

    def _is_float(self, field: _Field) -> bool:
        kind = _type_of(field, self._schema)
        return kind is None or pa.types.is_floating(kind)


def _never_null(found: Comparison) -> Predicate:
    """Returns a comparison that is false for null: its negation is true for null."""
    return AllOf((found, Comparison(found.column, "is not null")))


def _column(field: _Field) -> Column:
    return field[0] if len(field) == 1 else tuple(field)


def _type_of(field: _Field, schema: pa.Schema) -> pa.DataType | None:
    if schema.get_field_index(field[0]) < 0:
        return None
    kind = schema.field(field[0]).type
    for name in field[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            return None
        kind = kind.field(name).type
    return kind


def _refusal(what: str) -> str:
    return (
        f"a filter of a query cannot have {what}; it can compare columns with literals (=, <, isin, is_null, "
        "match_like, and, or, not). Table.dataset() accepts any expression of pyarrow, mortice.scan_polars() any of "
        "polars"
    )


def _columns(node: Node) -> set[str]:
    if isinstance(node, _Field):
        return {node[0]}
    return set[str]().union(*map(_columns, node.arguments)) if isinstance(node, _Call) else set()


def _tree(expression: pc.Expression) -> Node:
    """Returns the structure of an expression."""
    _, (serialised,) = expression.__reduce__()
    data = bytes(serialised)
    batch = pa.ipc.open_file(data).get_batch(0)
    # The next item is the last one.
    items = _metadata(data)[::-1]
    tree = _node(items, batch)
    if items:
        raise ValueError("the expression has a rest")
    return tree


def _node(items: list[tuple[str, str]], batch: pa.RecordBatch) -> Node:
    key, value = items.pop()
    if key == "literal":
        scalar = batch.column(int(value))[0]
        return _Literal(_plain(scalar))
    if key == "field_ref":
        return _Field((value,))
    if key == "nested_field_ref":
        fields = [items.pop() for _ in range(int(value))]
        if any(one != "field_ref" for one, _ in fields):
            raise ValueError("a field without a name")
        return _Field(name for _, name in fields)
    if key != "call":
        raise ValueError(f"{key} in an expression")
    arguments: list[Node] = []
    options: Mapping[str, object] = {}
    while items[-1][0] != "end":
        if items[-1][0] == "options":
            options = _options(batch.column(int(items.pop()[1])))
        else:
            arguments.append(_node(items, batch))
    items.pop()
    return _Call(value, arguments, options)


def _options(column: pa.Array) -> Mapping[str, object]:
    """Returns the options of a function; the values of a list as Python values."""
    options: dict[str, object] = {}
    for field in column.type:
        values = pc.struct_field(column, field.name)
        is_list = pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
        if is_list:
            options[field.name] = [_plain(one) for one in values.values]
        else:
            options[field.name] = values[0].as_py()
    return options


def _plain(scalar: pa.Scalar) -> object:
    """Returns the Python value of a scalar. Raises `ValueError` for one that a plain Python value does not hold."""
    if pa.types.is_timestamp(scalar.type) and scalar.is_valid:
        return scalar.cast(pa.timestamp("us", scalar.type.tz)).as_py()
    return scalar.as_py()


def _metadata(file: bytes) -> list[tuple[str, str]]:
    """Returns the metadata of the schema in the footer of an Arrow file, in order and with repeated keys."""
    if not file.endswith(_MAGIC):
        raise ValueError("not an Arrow file")
    (length,) = struct.unpack_from("<i", file, len(file) - len(_MAGIC) - 4)
    footer = file[len(file) - len(_MAGIC) - 4 - length : len(file) - len(_MAGIC) - 4]
    schema = _field_at(footer, _offset(footer, 0), 1)
    pairs = None if schema is None else _field_at(footer, schema, 2)
    if pairs is None:
        raise ValueError("the schema has no metadata")
    (count,) = struct.unpack_from("<I", footer, pairs)
    tables = [_offset(footer, pairs + 4 + 4 * at) for at in range(count)]
    return [(_string_at(footer, table, 0), _string_at(footer, table, 1)) for table in tables]


def _offset(buffer: bytes, at: int) -> int:
    return at + int(struct.unpack_from("<I", buffer, at)[0])


def _field_at(buffer: bytes, table: int, number: int) -> int | None:
    """Returns where a field of a table of a flatbuffer is; None if it has none."""
    vtable = table - struct.unpack_from("<i", buffer, table)[0]
    (size,) = struct.unpack_from("<H", buffer, vtable)
    if 4 + 2 * number >= size:
        return None
    (at,) = struct.unpack_from("<H", buffer, vtable + 4 + 2 * number)
    return None if at == 0 else _offset(buffer, table + at)


def _string_at(buffer: bytes, table: int, number: int) -> str:
    at = _field_at(buffer, table, number)
    if at is None:
        return ""
    (length,) = struct.unpack_from("<I", buffer, at)
    return buffer[at + 4 : at + 4 + length].decode()
