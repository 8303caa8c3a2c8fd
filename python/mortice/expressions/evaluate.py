"""Expressions, parsed against columns and evaluated over record batches."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mortice.errors import InvalidArgumentError
from mortice.expressions.columns import Columns, Found
from mortice.expressions.functions import FUNCTIONS, OPERATORS
from mortice.expressions.kernels import Value, assigned, cast, compared, row_numbers, unified
from mortice.expressions.parse import parse
from mortice.expressions.tokens import Text
from mortice.expressions.tree import Call, Case, Cast, Column, InList, Literal, Node, traverse

__all__ = ["Expression"]

PLAIN = (bool, int, float, bytes, decimal.Decimal, dt.date, dt.datetime)
RISKY = ("+", "-", "*", "/", "%", "negate", "abs", "ceil", "ceiling", "floor")
VOLATILE = ("current_timestamp", "current_date")


class Expression:
    """An expression over columns.

        expression = Expression("fare * 1.1", Columns({"row": table.schema}))
        expression.evaluate({"row": batch})

    Args:
        text: The expression (`mortice.expressions`).
        columns: The columns that it can name.

    Raises `InvalidArgumentError`, with the place in the text, for one that cannot be parsed, names no column, or does
    not fit the types of the columns.
    """

    def __init__(self, text: str, columns: Columns) -> None:
        try:
            self._parse(text, columns)
        except RecursionError as error:
            raise InvalidArgumentError("an expression is too long; put its parts in parentheses") from error

    def _parse(self, text: str, columns: Columns) -> None:
        self.text = text
        self.tree: Node = parse(text)
        self._found: dict[Column, Found] = {
            node: columns.find(node.path, Text(text), node.at)
            for node in traverse(self.tree)
            if isinstance(node, Column)
        }
        # The same time in all rows.
        self._now = {
            node: FUNCTIONS[node.name].compute()
            for node in traverse(self.tree)
            if isinstance(node, Call) and node.name in VOLATILE
        }
        batches = {side: pa.RecordBatch.from_pylist([], schema) for side, schema in columns.sides.items()}
        self.type = self.evaluate(batches).type
        """The type of the values."""

    @classmethod
    def constant(cls, value: object) -> Expression:
        """Returns the expression of a Python value. Raises `InvalidArgumentError` for one that is not plain."""
        if value is not None and not isinstance(value, PLAIN):
            raise InvalidArgumentError(f"a value must be an expression as a string, or a plain value, got {value!r}")
        made = cls("NULL", Columns({"row": pa.schema([])}))
        try:
            made.tree, made.text = Literal(pa.scalar(value)), repr(value)
        except pa.ArrowException as error:
            raise InvalidArgumentError(f"{value!r} is no value of a column: {error}") from error
        made.type = made.tree.value.type
        return made

    @classmethod
    def condition(cls, text: str, columns: Columns) -> Expression:
        """Returns an expression that is a condition. Raises `InvalidArgumentError` for another type than boolean."""
        made = cls(text, columns)
        if not (pa.types.is_boolean(made.type) or pa.types.is_null(made.type)):
            raise InvalidArgumentError(f"the condition {text!r} is {made.type}, and must be boolean")
        return made

    def found(self, node: Column) -> Found:
        """Returns the column that a node stands for."""
        return self._found[node]

    def plain_column(self) -> tuple[str, str] | None:
        """Returns the side and the name of the column that the expression is; None if it is anything else."""
        if not isinstance(self.tree, Column):
            return None
        side, path = self._found[self.tree]
        return (side, path[0]) if len(path) == 1 else None

    def names(self, side: str) -> set[str]:
        """Returns the top-level columns of a side that the expression reads."""
        return {path[0] for of, path in self._found.values() if of == side}

    def evaluate(self, batches: Mapping[str, pa.RecordBatch]) -> pa.Array[Any]:
        """Returns the value for each row.

        Args:
            batches: The rows of each side, beside each other. Only columns that the expression reads are needed.

        Raises `InvalidArgumentError` for a value of which something is not defined: an overflow, a division by zero.
        """
        return self._evaluated(self.tree, batches)

    def assigned(self, batches: Mapping[str, pa.RecordBatch], column: pa.Field) -> pa.Array[Any]:
        """Returns the value for each row, in the type of the column that it is assigned to.

        Raises `InvalidArgumentError`, naming column and value, for one that the column does not hold exactly.
        """
        if isinstance(self.tree, Literal):
            return pa.repeat(assigned(self.tree.value, column), next(iter(batches.values())).num_rows)
        return assigned(self.evaluate(batches), column)

    def selected(self, batches: Mapping[str, pa.RecordBatch]) -> pa.BooleanArray:
        """Returns for each row whether the condition is true, and not null."""
        return pc.fill_null(cast(self.evaluate(batches), pa.bool_()), False)

    def evaluate_part(self, node: Node, batches: Mapping[str, pa.RecordBatch]) -> pa.Array[Any]:
        """Returns the value of a part of the expression for each row, as `evaluate` does."""
        return self._evaluated(node, batches)

    def _evaluated(self, node: Node, batches: Mapping[str, pa.RecordBatch]) -> pa.Array[Any]:
        try:
            value = self._value(node, batches)
        except pa.ArrowException as error:
            raise InvalidArgumentError(f"the expression {self.text!r} failed: {error}") from error
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"the expression {self.text!r}: {error.message}") from error
        if isinstance(value, pa.Scalar):
            return pa.repeat(value, next(iter(batches.values())).num_rows)
        return value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value

    def _value(self, node: Node, batches: Mapping[str, pa.RecordBatch]) -> Value:
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, Column):
            side, path = self._found[node]
            column = batches[side].column(path[0])
            if pa.types.is_dictionary(column.type):
                column = pc.cast(column, column.type.value_type)
            return pc.struct_field(column, list(path[1:])) if len(path) > 1 else column
        if isinstance(node, Cast):
            return cast(self._value(node.value, batches), node.type)
        if isinstance(node, InList):
            return self._in_list(node, batches)
        if isinstance(node, Case):
            return self._case(node, batches)
        if node.name in ("and", "or") and _may_fail(node.arguments[1]):
            return self._decided(node, batches)
        if node in self._now:
            return self._now[node]
        compute = OPERATORS.get(node.name) or FUNCTIONS[node.name].compute
        return compute(*(self._value(argument, batches) for argument in node.arguments))

    def _in_list(self, node: InList, batches: Mapping[str, pa.RecordBatch]) -> Value:
        value = self._value(node.value, batches)
        items = [self._value(item, batches) for item in node.items]
        constants = [item for item in items if isinstance(item, pa.Scalar) and item.is_valid]
        if (
            isinstance(value, pa.Array)
            and len(constants) == len(items)
            and all(item.type.equals(value.type) for item in constants)
        ):
            found = pc.is_in(value, pa.array([item.as_py() for item in constants], value.type))
            return pc.if_else(pc.is_valid(value), found, pa.scalar(None, pa.bool_()))
        found = pa.scalar(False)
        for item in items:
            found = pc.or_kleene(cast(found, pa.bool_()), cast(compared("=", value, item), pa.bool_()))
        return found

    def _case(self, node: Case, batches: Mapping[str, pa.RecordBatch]) -> Value:
        """Each value is computed for the rows that get it only: it may not be defined for others."""
        rows = next(iter(batches.values())).num_rows
        is_left, values, places = pa.repeat(True, rows), [], pa.repeat(pa.scalar(0, pa.int64()), rows)
        start = 0
        for condition, value in (*node.branches, (Literal(pa.scalar(True)), node.otherwise)):
            is_chosen = pc.and_(is_left, self._is_true(condition, batches, is_left))
            chosen = self._for_rows(value, batches, is_chosen)
            numbers = row_numbers(len(chosen), start)
            places = pc.replace_with_mask(places, is_chosen, numbers)
            is_left, start = pc.and_not(is_left, is_chosen), start + len(chosen)
            values.append(chosen)
        return pa.concat_arrays(unified(values)).take(places)

    def _is_true(self, node: Node, batches: Mapping[str, pa.RecordBatch], among: pa.Array[Any]) -> pa.Array[Any]:
        """Returns where a condition is true, computed for some of the rows only."""
        if not _may_fail(node):
            value = pc.fill_null(cast(self._value(node, batches), pa.bool_()), False)
            return pa.repeat(value, len(among)) if isinstance(value, pa.Scalar) else value
        value = pc.fill_null(cast(self._for_rows(node, batches, among), pa.bool_()), False)
        return pc.replace_with_mask(pa.repeat(False, len(among)), among, value)

    def _for_rows(self, node: Node, batches: Mapping[str, pa.RecordBatch], rows: pa.Array[Any]) -> pa.Array[Any]:
        """Returns the value of a node for the rows of a mask."""
        some = {side: batch.filter(rows) for side, batch in batches.items()}
        value = self._value(node, some)
        if isinstance(value, pa.Scalar):
            return pa.repeat(value, next(iter(some.values())).num_rows)
        return value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value

    def _decided(self, node: Call, batches: Mapping[str, pa.RecordBatch]) -> Value:
        """Computes `and` and `or`: the second condition for the rows that the first one does not decide."""
        decides = node.name == "or"
        first = cast(self._value(node.arguments[0], batches), pa.bool_())
        if isinstance(first, pa.Scalar):
            first = pa.repeat(first, next(iter(batches.values())).num_rows)
        is_open = pc.fill_null(pc.not_equal(first, decides), True)
        second = cast(self._for_rows(node.arguments[1], batches, is_open), pa.bool_())
        second = pc.replace_with_mask(pa.repeat(decides, len(first)), is_open, second)
        return OPERATORS[node.name](first, second)


def _may_fail(node: Node) -> bool:
    """Returns whether a value is not defined for some rows: of arithmetic and casts."""
    return any(isinstance(part, Cast) or (isinstance(part, Call) and part.name in RISKY) for part in traverse(node))
