"""Changes of rows of tables whose keys Hudi generates: rows are known by `_hoodie_record_key`.

Such rows are written by an upsert with the keys of the stored rows, or by a delete of them. New rows get keys in the
form of Hudi: the time, the task and the number of the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from mortice._mortice import Commit, MergePlan
from mortice.errors import UnsupportedError, WriteConflictError
from mortice.spark.row_actions import PARTITION_PATH, RECORD_KEY, RowAction, persisted
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.writing.write import committed, write_frame
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SERVICES = ("rollback", "clean", "savepoint", "indexing")


def _writes(table: Table) -> set[str]:
    """Returns the completed instants that may have changed rows. A write rolls back what failed ones have left."""
    return {one.requested_time for one in table.timeline.completed if one.action not in _SERVICES}


class GeneratedKeys:
    """The rows of a table with generated keys, in the state in which it was opened."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.known = _writes(table)

    def write(self, rows: DataFrame, target: WriteTarget, actions: Sequence[RowAction]) -> Commit:
        """Writes changed rows in one commit.

        Args:
            rows: The rows as they are to be, their marks, and the keys and partition paths of stored ones.
            target: The table.
            actions: What is done to rows.
        """
        kinds = {action.kind == "delete" for action in actions}
        if len(kinds) == 1:
            return self._written(rows, target, deletes=True in kinds)
        with persisted(rows) as kept:
            marks = {bool(row[0]) for row in kept.select(MergePlan.DELETES).distinct().collect()}
            if len(marks) > 1:
                raise UnsupportedError(
                    "the statement deletes some rows and writes others, in a table with generated keys; use one "
                    "statement for each",
                    path=self.table.uri,
                )
            return self._written(kept, target, deletes=True in marks)

    def _written(self, rows: DataFrame, target: WriteTarget, *, deletes: bool) -> Commit:
        from pyspark.sql import functions as f

        if deletes:
            return self._committed(rows.select(RECORD_KEY, PARTITION_PATH), target, "delete")
        made = f.concat(
            f.lit(datetime.now(timezone.utc).strftime("%Y%m%d%H%M%S%f")[:17]),
            *(f.lit("_"), f.spark_partition_id().cast("string")),
            *(f.lit("_"), f.monotonically_increasing_id().cast("string")),
        )
        new = rows.drop(MergePlan.DELETES, MergePlan.UPDATES)
        return self._committed(new.withColumn(RECORD_KEY, f.coalesce(RECORD_KEY, made)), target, "upsert")

    def _committed(self, rows: DataFrame, target: WriteTarget, operation: str) -> Commit:
        return committed(write_frame(rows, target, operation, "append", [self._unchanged]))

    def _unchanged(self, table: Table) -> None:
        """Refuses the commit if another writer has committed since the table was opened."""
        now = _writes(table)
        first = min(now, default="")
        # Older ones may have been archived; the write itself is a new one.
        gone = [time for time in self.known if time >= first and time not in now]
        if gone or len(now - self.known) > 1:
            raise WriteConflictError(
                "another writer has changed the table since its rows were read; run the statement again",
                path=self.table.uri,
            )
