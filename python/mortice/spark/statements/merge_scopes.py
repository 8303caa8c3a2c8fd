"""The columns that each clause of a MERGE can name.

As in Spark's MERGE, clauses of matched rows see the columns of the table and of the source, those of rows that are in
the source alone see the source, and those of rows that are in the table alone see the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mortice._mortice import MergePlan
from mortice.spark.row_actions import RowAction, chosen
from mortice.spark.statements.parameters import quoted
from mortice.spark.statements.target_table import VALUE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["MATCHED", "ROW", "MergeScopes", "value_columns"]

ACTION, STORED = MergePlan.ACTION, MergePlan.STORED
MATCHED, ROW = "_mortice_matched", "_mortice_row"
"""The columns that are not null in rows with a source row, and the number of a stored row, which several may match."""
_GIVEN = "_mortice_given_"


def value_columns(actions: Mapping[int, RowAction], columns: Sequence[str]) -> dict[str, Column]:
    """Returns the values of actions, each null in the rows of other actions, by the names that they get.

    Args:
        actions: The actions by their numbers.
        columns: The columns of the table, whose numbers the names of values have.
    """
    from pyspark.sql import functions as f

    return {
        f"{VALUE}{at}_{columns.index(name)}": f.when(f.col(ACTION) == at, f.expr(str(text)))
        for at, action in actions.items()
        for name, text in (action.values or {}).items()
    }


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
        kept = [f.col(quoted(one)).alias(f"{STORED}{one}") for one in self._stored]
        self.left = stored.select("*", *kept, f.monotonically_increasing_id().alias(ROW)).alias(alias)
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
            yield from ((seen[action.side], text) for text in (action.values or {}).values())

    def paired(self, joined: DataFrame, actions: Sequence[RowAction]) -> DataFrame:
        """Returns the joined rows with the actions of matched ones.

        Args:
            joined: The joined rows.
            actions: The clauses, in order.
        """
        from pyspark.sql import functions as f

        return self._with_action(joined.withColumn(ACTION, f.lit(None).cast("int")), _of_side("matched", actions))

    def acted(self, joined: DataFrame, actions: Sequence[RowAction], columns: Sequence[str]) -> DataFrame:
        """Returns the rows that actions take: their stored columns, the action, and its values.

        Args:
            joined: The joined rows.
            actions: The clauses, in order.
            columns: The columns of the table, whose numbers the names of values have.
        """
        from pyspark.sql import functions as f

        given = [f"{_GIVEN}{at}" for at in range(len(self._given))]
        passed = [quoted(name) for name in [*(f"{STORED}{one}" for one in self._stored), *given, ROW, MATCHED]]
        rows = joined.withColumn(ACTION, f.lit(None).cast("int"))
        for side in ("matched", "target", "source"):
            of_side = _of_side(side, actions)
            if not of_side and side != "matched":
                continue
            if side == "target":
                again = [f.col(quoted(f"{STORED}{one}")).alias(one) for one in self._stored]
                rows = rows.select("*", *again).alias(self.alias)
            if side == "source":
                again = [f.col(f"{_GIVEN}{at}").alias(one) for at, one in enumerate(self._given)]
                rows = rows.select("*", *again).alias(self.name)
            values = value_columns(of_side, columns)
            computed = [value.alias(name) for name, value in values.items()]
            rows = self._with_action(rows, of_side).select(*passed, ACTION, *computed)
            passed += values
        return rows.drop(*given, ROW, MATCHED).where(f.col(ACTION).isNotNull())

    @staticmethod
    def _with_action(rows: DataFrame, actions: Mapping[int, RowAction]) -> DataFrame:
        from pyspark.sql import functions as f

        stored, given = f.col(ROW).isNotNull(), f.col(MATCHED).isNotNull()
        return rows.withColumn(ACTION, chosen(actions, otherwise=f.col(ACTION), stored=stored, given=given))


def _of_side(side: str, actions: Sequence[RowAction]) -> dict[int, RowAction]:
    return {at: action for at, action in enumerate(actions) if action.side == side}
