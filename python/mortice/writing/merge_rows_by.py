"""Which rows match which stored ones: a join of batches of the table with the rows of a merge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mortice.errors import InvalidArgumentError
from mortice.expressions.expression import Columns, Expression
from mortice.values.row_numbers import row_numbers

__all__ = ["SOURCE", "TARGET", "JoinKey", "MergeCondition", "condition_of"]

TARGET, SOURCE = "target", "source"
PAIRS = 1 << 18
"""Pairs of rows whose condition is evaluated at a time."""


@dataclass(frozen=True)
class JoinKey:
    """An equality of a value of the stored row and one of the given row."""

    target: Expression
    source: Expression


class MergeCondition:
    """The condition by which rows match: equalities, and what is left to be evaluated for each pair.

    Args:
        expression: The condition, over both sides.
    """

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        self.keys: list[JoinKey] = []
        self.rest: list[Expression] = []
        for condition in expression.conjuncts():
            values = condition.equality(TARGET, SOURCE)
            if values is None:
                self.rest.append(condition)
            else:
                self.keys.append(JoinKey(*values))

    def key_columns(self) -> dict[str, Expression]:
        """Returns the columns of the table that equal a value of the given row, and that value."""
        named = ((key.target.plain_column(), key.source) for key in self.keys)
        return {column[1]: source for column, source in named if column is not None}


def condition_of(on: str | list[str], columns: Columns) -> MergeCondition:
    """Returns the condition of a merge: an expression, or the names of columns that are equal."""
    names = [on] if isinstance(on, str) and all(on in schema.names for schema in columns.sides.values()) else on
    if isinstance(names, str):
        return MergeCondition(Expression.condition(names, columns))
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"on must be a condition or a list of columns, got {on!r}")
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    return MergeCondition(Expression(" AND ".join(f"target.{q} = source.{q}" for q in quoted), columns))


class SourceRows:
    """The given rows of a merge, with the values that stored rows are joined with.

    Args:
        rows: The rows, as one batch.
        condition: The condition of the merge.
    """

    def __init__(self, rows: pa.RecordBatch, condition: MergeCondition) -> None:
        self.rows = rows
        self.condition = condition
        keys = [key.source.key_values({SOURCE: rows}, key.target) for key in condition.keys]
        self._keys = [f"k{number}" for number in range(len(keys))]
        numbers = row_numbers(rows.num_rows)
        self._table = pa.table([*keys, numbers], names=[*self._keys, "s"])

    def pairs(self, stored: pa.RecordBatch) -> pa.Table:
        """Returns the numbers `t` of stored rows and `s` of given ones that match, ordered by `t`."""
        parts = [self._with_rest(part, stored) for part in self._joined(stored)]
        schema = pa.schema([("t", pa.int64()), ("s", pa.int64())])
        return pa.concat_tables(parts).sort_by("t") if parts else schema.empty_table()

    def _joined(self, stored: pa.RecordBatch) -> Iterator[pa.Table]:
        numbers = row_numbers(stored.num_rows)
        if self._keys:
            keys = [key.target.key_values({TARGET: stored}, key.source) for key in self.condition.keys]
            left = pa.table([*keys, numbers], names=[*self._keys, "t"])
            found = left.join(self._table, self._keys, join_type="inner").select(["t", "s"])
            for start in range(0, found.num_rows, PAIRS):
                yield found.slice(start, PAIRS)
            return
        # Without an equality each stored row is compared with each given one.
        given, count = self._table.column("s").combine_chunks(), self.rows.num_rows
        step = max(1, PAIRS // max(1, count))
        for start in range(0, stored.num_rows if count else 0, step):
            some = numbers.slice(start, step)
            tiled = pa.concat_arrays([given] * len(some))
            places = pc.list_parent_indices(pa.FixedSizeListArray.from_arrays(tiled, count))
            yield pa.table({"t": some.take(places), "s": tiled})

    def _with_rest(self, pairs: pa.Table, stored: pa.RecordBatch) -> pa.Table:
        """Returns the pairs for which the rest of the condition is true."""
        expression = self.condition.expression
        if not self.condition.rest or not pairs.num_rows:
            return pairs
        sides = taken(pairs, stored, self.rows, (expression.names(TARGET), expression.names(SOURCE)))
        for condition in self.condition.rest:
            is_true = condition.selected(sides)
            pairs = pairs.filter(is_true)
            sides = {side: batch.filter(is_true) for side, batch in sides.items()}
        return pairs


def taken(
    pairs: pa.Table, stored: pa.RecordBatch, given: pa.RecordBatch, names: tuple[set[str], set[str]]
) -> dict[str, pa.RecordBatch]:
    """Returns the rows of pairs beside each other.

    Args:
        pairs: Their numbers.
        stored: The stored rows.
        given: The given rows.
        names: The columns that are needed of each.
    """
    sides = {}
    for side, number, rows, wanted in ((TARGET, "t", stored, names[0]), (SOURCE, "s", given, names[1])):
        kept = [name for name in rows.schema.names if name in wanted]
        # A batch without columns has no rows.
        sides[side] = rows.select(kept or rows.schema.names[:1]).take(pairs.column(number).combine_chunks())
    return sides
