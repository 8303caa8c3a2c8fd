"""Rows of a DataFrame that change those of a table: Spark joins them, chooses what is done to each and computes the
values; the native `MergePlan` makes of them the rows to write, and checks these against the stored ones.

A row has the number of its action, the stored row behind `MergePlan.STORED`, and the values of actions behind
`MergePlan.GIVEN`. They are written by `mortice.spark.write`: an update is never lost to ordering values, and a commit
of another writer since the rows were read is a conflict (`WriteConflictError`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from mortice._mortice import MergePlan
from mortice.spark.execution.worker import WorkerOptions
from mortice.spark.statements.parameters import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row
    from pyspark.sql.types import StructType

__all__ = ["MapRows", "RowAction", "chosen", "column", "merged_rows", "persisted", "repeated", "with_columns"]

RECORD_KEY, PARTITION_PATH = "_hoodie_record_key", "_hoodie_partition_path"


@dataclass(frozen=True)
class RowAction:
    """What happens to the rows for which a condition is true, unless an earlier action has taken them."""

    kind: str
    """`update`, `delete` or `insert`."""
    side: str
    """Which rows these are: `matched`, `target` (without a source row) or `source` (without a target row)."""
    condition: str | None = None
    """SQL; None is true for all."""
    values: Mapping[str, str] | None = None
    """Expressions by column, in SQL."""


def chosen(actions: Mapping[int, RowAction], *, otherwise: Column, stored: Column, given: Column) -> Column:
    """Returns the number of the first action that a row gets.

    Args:
        actions: The actions of one side or several, by their numbers.
        otherwise: What a row has for which no condition is true.
        stored: Whether the row has a stored row.
        given: Whether it has a given one.
    """
    from pyspark.sql import functions as f

    sides = {"matched": stored & given, "target": stored & ~given, "source": given & ~stored}
    number = otherwise
    for at, action in reversed(list(actions.items())):
        is_taken = sides[action.side]
        if action.condition is not None:
            is_taken &= f.expr(str(action.condition))
        number = f.when(is_taken, f.lit(at)).otherwise(number)
    return number


def repeated(
    pairs: DataFrame, by: Sequence[Column], count: Column, deletes: Column, shown: Sequence[Column]
) -> Row | None:
    """Returns a group of pairs of given and stored rows of which it is not known which is to be merged, if any.

    Args:
        pairs: The pairs.
        by: What those of a group have in common.
        count: The number of pairs of a group.
        deletes: Whether a pair deletes its row.
        shown: The columns to return.
    """
    from pyspark.sql import functions as f

    kept = f.sum(f.when(deletes, 0).otherwise(1)).alias("kept")
    firsts = [f.first(one).alias(f"shown{at}") for at, one in enumerate(shown)]
    groups = pairs.groupBy(*by).agg(count.alias("pairs"), kept, *firsts)
    found = groups.where(MergePlan.REPEATED).select([f"shown{at}" for at in range(len(shown))]).limit(1).collect()
    return found[0] if found else None


def merged_rows(rows: DataFrame, plan: MergePlan, columns: StructType) -> DataFrame:
    """Returns the rows to write, with their marks; of generated keys with their keys and partition paths.

    Args:
        rows: Rows with their actions, stored rows and values.
        plan: The changes.
        columns: The columns of the table.
    """
    marks = dict.fromkeys((plan.DELETES, plan.UPDATES), "boolean")
    keys = {} if plan.has_keys else dict.fromkeys((RECORD_KEY, PARTITION_PATH), "string")
    return rows.mapInArrow(MapRows(plan, "merge"), with_columns(columns, marks | keys))


def column(side: str, name: str) -> Column:
    """Returns a column of one side of a join."""
    from pyspark.sql import functions as f

    return f.col(f"{quoted(side)}.{quoted(name)}")


def with_columns(schema: StructType, names: Mapping[str, str]) -> StructType:
    """Returns a schema with further columns behind its own, by name and type; any of them may be null."""
    from pyspark.sql.types import StructField, StructType

    schema = StructType([StructField(field.name, field.dataType) for field in schema])
    for name, kind in names.items():
        schema = schema.add(name, kind)
    return schema


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Persists rows that are computed several times."""
    kept = frame.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


class MapRows:
    """A function for `mapInArrow` that makes each batch of rows another one, by a method of the plan.

    Args:
        plan: The merge.
        method: The method.
    """

    def __init__(self, plan: MergePlan, method: Literal["with_keys", "with_paths", "merge"]) -> None:
        self.plan = plan.to_bytes()
        self.method = method

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        WorkerOptions().prepare()
        make = getattr(MergePlan.from_bytes(self.plan), self.method)
        for batch in batches:
            yield pa.record_batch(make(batch))
