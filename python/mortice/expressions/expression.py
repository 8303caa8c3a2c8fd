"""Expressions over the columns of rows: those of `Table.update_where` and `Table.merge`.

The native module parses and computes them (docs/writing.md has the grammar); here they take and return pyarrow's data.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError
from mortice.expressions.filters import Term

__all__ = ["Columns", "Expression", "constant_rows", "pushed_terms"]

PLAIN = (bool, int, float, bytes, decimal.Decimal, dt.date, dt.datetime)
Batches = Mapping[str, pa.RecordBatch]
"""The rows of each side, beside each other."""


class Columns:
    """The columns of one or two sides, such as the rows of a table and those that are merged into it.

    Args:
        sides: The schema of each side, by its name.
        aliases: Other names of the sides, in lower case.
    """

    def __init__(self, sides: Mapping[str, pa.Schema], aliases: Mapping[str, str] | None = None) -> None:
        self.sides = dict(sides)
        self.aliases = dict(aliases or {})


class Expression:
    """An expression over columns.

        expression = Expression("fare * 1.1", Columns({"row": table.schema}))
        expression.evaluate({"row": batch})

    Args:
        text: The expression.
        columns: The columns that it can name.

    Raises `InvalidArgumentError`, with the place in the text, for one that cannot be parsed, names no column, or does
    not fit the types of the columns.
    """

    def __init__(self, text: str, columns: Columns) -> None:
        if not isinstance(text, str):
            raise InvalidArgumentError(f"an expression must be a string, got {text!r}")
        sides = [(side, schema.empty_table()) for side, schema in columns.sides.items()]
        self._native = _mortice.Expression(text, sides, list(columns.aliases.items()))

    @classmethod
    def _wrapped(cls, native: _mortice.Expression) -> Expression:
        made = cls.__new__(cls)
        made._native = native  # noqa: SLF001
        return made

    @classmethod
    def constant(cls, value: object) -> Expression:
        """Returns the expression of a Python value. Raises `InvalidArgumentError` for one that is not plain."""
        return cls._wrapped(_mortice.Expression.constant(constant_rows(value), repr(value)))

    @classmethod
    def condition(cls, text: str, columns: Columns) -> Expression:
        """Returns an expression that is a condition. Raises `InvalidArgumentError` for another type than boolean."""
        made = cls(text, columns)
        made._native.check_condition()
        return made

    @property
    def type(self) -> pa.DataType:
        """The type of the values."""
        return pa.schema(self._native.data_type()).field(0).type

    def plain_column(self) -> tuple[str, str] | None:
        """Returns the side and the name of the column that the expression is; None if it is anything else."""
        return self._native.plain_column()

    def names(self, side: str) -> set[str]:
        """Returns the top-level columns of a side that the expression reads."""
        return set(self._native.names(side))

    def conjuncts(self) -> list[Expression]:
        """Returns the conditions that must all be true for the condition to be true."""
        return [self._wrapped(part) for part in self._native.conjuncts()]

    def equality(self, one: str, other: str) -> tuple[Expression, Expression] | None:
        """Returns the values of two sides whose equality the condition is; None if it is anything else."""
        found = self._native.equality(one, other)
        return None if found is None else (self._wrapped(found[0]), self._wrapped(found[1]))

    def evaluate(self, batches: Batches) -> pa.Array:
        """Returns the value for each row. Only columns that the expression reads are needed.

        Raises `InvalidArgumentError` for a value of which something is not defined: an overflow, a division by zero.
        """
        return _values(self._native.evaluate(self._read(batches)))

    def key_values(self, batches: Batches, other: Expression) -> pa.Array:
        """Returns the value for each row, in the type in which it is joined with the value of another expression."""
        return _values(self._native.key_values(self._read(batches), other._native))

    def assigned(self, batches: Batches, column: pa.Field) -> pa.Array:
        """Returns the value for each row, in the type of the column that it is assigned to.

        Raises `InvalidArgumentError`, naming column and value, for one that the column does not hold exactly.
        """
        return _values(self._native.assigned(self._read(batches), pa.schema([column]).empty_table()))

    def selected(self, batches: Batches) -> pa.BooleanArray:
        """Returns for each row whether the condition is true, and not null."""
        return _values(self._native.selected(self._read(batches)))

    def pushed_terms(self, side: str) -> list[Term]:
        """Returns filters that all rows of a side satisfy for which the condition is true."""
        terms: list[Term] = []
        for name, operator, batch in self._native.pushed_terms(side):
            values = None if batch is None else _values(batch).to_pylist()
            terms.append((name, operator, values if operator == "in" or values is None else values[0]))
        return terms

    def _read(self, batches: Batches) -> list[tuple[str, pa.RecordBatch]]:
        """Returns the columns that the native module needs; one of them at least, which has the number of rows."""
        sides = []
        for side, batch in batches.items():
            names = self.names(side)
            kept = [name for name in batch.schema.names if name in names] or batch.schema.names[:1]
            sides.append((side, batch.select(kept)))
        return sides


def constant_rows(value: object) -> pa.RecordBatch:
    """Returns a batch of a Python value alone. Raises `InvalidArgumentError` for one that is not plain."""
    if value is not None and not isinstance(value, PLAIN):
        raise InvalidArgumentError(f"a value must be an expression as a string, or a plain value, got {value!r}")
    try:
        return pa.record_batch([pa.array([value])], names=["value"])
    except (pa.ArrowException, OverflowError) as error:
        raise InvalidArgumentError(f"{value!r} is no value of a column: {error}") from error


def pushed_terms(expression: Expression, columns: Columns, side: str) -> list[Term]:
    """Returns filters that all rows satisfy for which a condition is true. They need not be all of the condition.

    Args:
        expression: The condition.
        columns: The columns that it was parsed with.
        side: The side whose rows the filters select.
    """
    return expression.pushed_terms(side) if side in columns.sides else []


def _values(batch: _mortice.ArrowBatch) -> pa.Array:
    return pa.record_batch(batch).column(0)
