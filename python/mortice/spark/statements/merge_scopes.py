"""The columns that each clause of a MERGE can name.

As in Spark's MERGE, clauses of matched rows see the columns of the table and of the source, those of rows that are in
the source alone see the source, and those of rows that are in the table alone see the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mortice.spark.statements.target_table import VALUE
from mortice.spark.statements.tokens import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["ACTION", "FOUND", "MATCHED", "ROW", "STORED", "MergeScopes", "RowAction"]

ACTION, MATCHED, FOUND = "_mortice_action", "_mortice_matched", "_mortice_found"
ROW = "_mortice_row"
"""The column with the number of a stored row, which several source rows may match."""
STORED = "_mortice_stored_"
"""The beginning of the names of stored columns, whose numbers follow."""
_GIVEN = "_mortice_given_"


@dataclass(frozen=True)
class RowAction:
    """What happens to the rows for which a condition is true, unless an earlier action has taken them."""

    kind: str
    """`update`, `delete` or `insert`."""
    side: str
    """Which rows these are: `matched`, `target` (without a source row) or `source` (without a target row)."""
    condition: str | None
    """SQL; None is true for all."""
    values: Mapping[str, str]
    """Expressions by column, in SQL."""


class MergeScopes:
    """The rows of a table, joined with those of a source, as each clause sees them.

    Args:
        stored: The rows of the table.
        alias: What the expressions call them.
        source: The other rows.
        name: What the expressions call them.
    """

    def __init__(self, stored: DataFrame, alias: str, source: DataFrame, name: str) -> None:
        from pyspark.sql import functions as f

        self.alias, self.name = alias, name
        self._stored, self._given = list(stored.columns), list(source.columns)
        kept = [f.col(quoted(one)).alias(f"{STORED}{at}") for at, one in enumerate(self._stored)]
        marks = [f.lit(True).alias(FOUND), f.monotonically_increasing_id().alias(ROW)]
        self.left = stored.select("*", *kept, *marks).alias(alias)
        numbered = source.toDF(*(f"{_GIVEN}{at}" for at in range(len(self._given))))
        again = [f.col(f"{_GIVEN}{at}").alias(one) for at, one in enumerate(self._given)]
        self.right = numbered.select(*again, "*", f.lit(True).alias(MATCHED)).alias(name)

    def joined(self, on: str, how: str) -> DataFrame:
        """Returns the joined rows.

        Args:
            on: The condition, in SQL.
            how: The kind of join.
        """
        from pyspark.sql import functions as f

        return self.left.join(self.right, f.expr(str(on)), how)

    def expressions(self, on: str, actions: Sequence[RowAction]) -> Iterator[tuple[DataFrame, str]]:
        """Yields the expressions of a statement, each with rows that have the columns that it can name."""
        joined = self.left.crossJoin(self.right)
        yield joined, on
        seen = {"matched": joined, "target": self.left, "source": self.right}
        for action in actions:
            if action.condition is not None:
                yield seen[action.side], action.condition
            yield from ((seen[action.side], text) for text in action.values.values())

    def paired(self, joined: DataFrame, actions: Sequence[RowAction]) -> DataFrame:
        """Returns the joined rows with the actions of matched ones.

        Args:
            joined: The joined rows.
            actions: The clauses, in order.
        """
        from pyspark.sql import functions as f

        matched = {at: action for at, action in enumerate(actions) if action.side == "matched"}
        rows = joined.withColumn(ACTION, f.lit(None).cast("int"))
        return rows.withColumn(ACTION, _chosen("matched", matched))

    def acted(self, joined: DataFrame, actions: Sequence[RowAction], columns: Sequence[str]) -> DataFrame:
        """Returns the rows that actions take: their stored columns, the action, and its values.

        Args:
            joined: The joined rows.
            actions: The clauses, in order.
            columns: The columns of the table, whose numbers the names of values have.
        """
        from pyspark.sql import functions as f

        kept = [f"{STORED}{at}" for at in range(len(self._stored))]
        given = [f"{_GIVEN}{at}" for at in range(len(self._given))]
        rows = joined.withColumn(ACTION, f.lit(None).cast("int"))
        passed = [*kept, *given, FOUND, MATCHED]
        for side in ("matched", "target", "source"):
            of_side = {at: action for at, action in enumerate(actions) if action.side == side}
            if not of_side and side != "matched":
                continue
            if side == "target":
                again = [f.col(f"{STORED}{at}").alias(one) for at, one in enumerate(self._stored)]
                rows = rows.select("*", *again).alias(self.alias)
            if side == "source":
                again = [f.col(f"{_GIVEN}{at}").alias(one) for at, one in enumerate(self._given)]
                rows = rows.select("*", *again).alias(self.name)
            rows = rows.withColumn(ACTION, _chosen(side, of_side))
            values = [
                f.when(f.col(ACTION) == at, f.expr(str(text))).alias(f"{VALUE}{at}_{columns.index(name)}")
                for at, action in of_side.items()
                for name, text in action.values.items()
            ]
            rows = rows.select(*passed, ACTION, *values)
            passed += [f"{VALUE}{at}_{columns.index(name)}" for at, one in of_side.items() for name in one.values]
        return rows.drop(*given, MATCHED).where(f.col(ACTION).isNotNull())


def _chosen(side: str, actions: Mapping[int, RowAction]) -> Column:
    from pyspark.sql import functions as f

    is_stored, is_given = {"matched": (True, True), "target": (True, False), "source": (False, True)}[side]
    chosen = f.col(ACTION)
    for at, action in reversed(list(actions.items())):
        is_taken = f.col(FOUND).isNotNull() if is_stored else f.col(FOUND).isNull()
        is_taken &= f.col(MATCHED).isNotNull() if is_given else f.col(MATCHED).isNull()
        if action.condition is not None:
            is_taken &= f.expr(str(action.condition))
        chosen = f.when(is_taken, f.lit(at)).otherwise(chosen)
    return chosen
