"""Updated, deleted and inserted rows of a statement, written in one commit (`mortice.spark.row_actions`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from mortice._mortice import Commit, MergePlan
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.merge_types import MISFIT, try_cast
from mortice.spark.reading.read import read_stored
from mortice.spark.row_actions import PARTITION_PATH, RECORD_KEY, RowAction, column, merged_rows, repeated
from mortice.spark.statements.merge_scopes import MATCHED, ROW, MergeScopes, value_columns
from mortice.spark.statements.parameters import quoted
from mortice.spark.statements.spark_errors import located_errors
from mortice.spark.statements.target_table import VALUE, TargetTable
from mortice.spark.writing.write import committed, write_frame

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["RowAction", "RowChanges"]

_JOINS = {(False, False): "inner", (True, False): "left", (False, True): "right", (True, True): "full"}
"""The kind of join, by whether there are actions for stored rows alone, and for rows of the source alone."""


class RowChanges(TargetTable):
    """A statement that changes rows of a table."""

    def of_rows(self, where: str | None, action: RowAction) -> Commit:
        """Updates or deletes the rows for which a condition is true."""
        from pyspark.sql import functions as f

        plan, stored = self._planned([action])
        rows = stored.alias(self.alias)
        used = [*([where] if where is not None else []), *(action.values or {}).values()]
        with located_errors((rows, text) for text in used):
            found = rows.where(f.expr(str(where))) if where is not None else rows
            acted = found.withColumn(plan.ACTION, f.lit(0))
            kept = [column(self.alias, name).alias(f"{plan.STORED}{name}") for name in stored.columns]
            values = value_columns({0: action}, self.schema.names)
            computed = [value.alias(name) for name, value in values.items()]
            return self._write(acted.select(plan.ACTION, *kept, *computed), plan)

    def of_merge(self, source: DataFrame, name: str, on: str, actions: Sequence[RowAction]) -> Commit:
        """Merges rows.

        Args:
            source: The rows.
            name: What the expressions call them.
            on: The condition by which they match, in SQL.
            actions: The clauses, in order.
        """
        plan, stored = self._planned(actions)
        sides = {action.side for action in actions}
        scopes = MergeScopes(stored, self.alias, source, name)
        with typed_errors(), located_errors(scopes.expressions(on, actions)):
            joined = scopes.joined(on, _JOINS["target" in sides, "source" in sides])
            self._check_cardinality(scopes.paired(joined, actions), actions)
            return self._write(scopes.acted(joined, actions, self.schema.names), plan)

    def _planned(self, actions: Sequence[RowAction]) -> tuple[MergePlan, DataFrame]:
        """Returns the plan of a statement, and the stored rows: in the state of the plan, or a later one, which is a
        conflict then."""
        names = self.schema.names
        changed = [
            (action.kind, {name: f"{VALUE}{at}_{names.index(name)}" for name in action.values or {}})
            for at, action in enumerate(actions)
        ]
        plan = MergePlan.of_actions(self.target.uri, self.storage, changed, self.target.options)
        columns = [*names, RECORD_KEY, PARTITION_PATH]
        return plan, read_stored(self.spark, self.target.uri, columns, None, "snapshot", self.of_storage)

    def _check_cardinality(self, paired: DataFrame, actions: Sequence[RowAction]) -> None:
        """Refuses several source rows that match one row, as Spark does, unless each of them deletes it."""
        from pyspark.sql import functions as f

        matched = [action for action in actions if action.side == "matched"]
        if not matched or (len(matched) == 1 and matched[0].kind == "delete" and matched[0].condition is None):
            return
        numbers = [at for at, action in enumerate(actions) if action.kind == "delete"]
        deletes = f.coalesce(f.col(MergePlan.ACTION).isin(numbers), f.lit(False)) if numbers else f.lit(False)
        pairs = paired.where(f"{ROW} is not null and {MATCHED} is not null")
        twice = repeated(pairs, [f.col(ROW)], f.count("*"), deletes, [column(self.alias, RECORD_KEY)])
        if twice is not None:
            MergePlan.refuse_matched_twice(str(twice[0]))

    def _write(self, rows: DataFrame, plan: MergePlan) -> Commit:
        from pyspark.sql import functions as f

        misfit = self.misfit(rows, casts_strings=True)
        names = [name for name in rows.columns if name.startswith(VALUE)]
        values = [
            try_cast(one, self.schema[int(one.rpartition("_")[2])].dataType).alias(f"{plan.GIVEN}{one}")
            for one in names
        ]
        others = [f.col(quoted(name)) for name in rows.columns if name not in names]
        misfits = [] if misfit is None else [misfit.alias(MISFIT)]
        merged = merged_rows(rows.select(*others, *values, *misfits), plan, self.schema)
        if not plan.has_keys:
            merged = merged.withColumn(RECORD_KEY, f.coalesce(RECORD_KEY, _new_key()))
        with typed_errors():
            return self.registered(committed(write_frame(merged, self.target, "upsert", "append", merge=plan)))


def _new_key() -> Column:
    """Returns the key of a new row of a table whose keys are generated, in the form of Hudi: the time, the task and the
    number of the row."""
    from pyspark.sql import functions as f

    time = datetime.now(timezone.utc).strftime("%Y%m%d%H%M%S%f")[:17]
    parts = (f.lit(time), f.spark_partition_id().cast("string"), f.monotonically_increasing_id().cast("string"))
    return f.concat_ws("_", *parts)
