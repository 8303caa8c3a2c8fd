"""`mortice.spark.merge_into`: SQL's `MERGE INTO` of a DataFrame, by Spark's join and `mortice.spark.write`.

The rules are those of `Table.merge_into`, and the same native code has them (`MergePlan`). Tasks make the record keys
and partition paths of rows, by which Spark joins them with the stored rows of the partitions that the DataFrame has,
and of the joined rows those to write.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Commit
from mortice.expressions.filters import Filters
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.execution.worker import WorkerOptions
from mortice.spark.merge_types import check_fit, ignores_case, with_table_types
from mortice.spark.reading.read import read_stored
from mortice.spark.schema import spark_schema
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.writing.write import write_frame
from mortice.values.other_names import hinted
from mortice.writing.merge_into import clauses_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

__all__ = ["MapRows", "check_shadowed", "merge_into", "persisted", "with_strings"]

KEY, PATH, DELETES = _mortice.MergePlan.KEY, _mortice.MergePlan.PATH, _mortice.MergePlan.DELETES
RECORD_KEY, PARTITION_PATH = "_hoodie_record_key", "_hoodie_partition_path"
_GIVEN, _STORED, _FOUND, _ROW = "mortice_given", "mortice_stored", "_mortice_found", "_mortice_row"
_MOST_PARTITIONS = 1_000
"""More partitions than these are all read."""


@hinted
def merge_into(  # noqa: PLR0917
    df: DataFrame,
    uri: str | os.PathLike[str],
    on: str | Sequence[str] | None = None,
    when_matched_update: Sequence[str] | None = None,
    when_not_matched: str = "insert",
    when_matched_delete: str | Column | None = None,
    options: Mapping[str, Any] | None = None,
) -> Commit:
    """Merges a DataFrame into a table as SQL's `MERGE INTO` does, in one commit.

        mortice.spark.merge_into(
            rides, "/lake/trips", when_matched_update=["fare", "ts"], when_matched_delete="state = 'cancelled'"
        )

    The stored rows of the partitions that the DataFrame has are joined with it by Spark, and written with the code of
    `mortice.spark.write`. Options of Hudi in the session's configuration do not apply to them.

    Columns have the types of the table: values are cast to them, and refused if they do not fit. If the session ignores
    case (`spark.sql.caseSensitive`), so do the names of columns.

    Args:
        df: The rows: one for each key, or several that all delete it.
        uri: The table's base path, a local path or a URI.
        on: As for `Table.merge_into`.
        when_matched_update: As for `Table.merge_into`.
        when_not_matched: As for `Table.merge_into`.
        when_matched_delete: A condition on columns of the DataFrame, as SQL or a Column. Matched rows for which it is
            true are deleted.
        options: As for `mortice.spark.write`.

    Returns:
        The commit.

    Raises as `Table.merge_into` and `mortice.spark.write`; `TableNotFoundError` if there is no table.
    """
    clauses = clauses_of(on, when_matched_update, when_not_matched)
    given = WriteTarget.from_options(uri, options)
    storage = given.storage_options(df.sparkSession)
    plan = _mortice.MergePlan(given.uri, storage, df.columns, clauses, given.options, ignores_case(df))
    # The condition is on the columns as they were given.
    marked = df.withColumn(DELETES, _condition(when_matched_delete))
    columns = pa.schema(plan.columns)
    cast = with_table_types(marked, plan.given, spark_schema(columns), plan.used)
    with typed_errors(), persisted(cast) as kept:
        rows = check_fit(kept)
        filters = _of_partitions(rows, plan)

        def stored(names: Sequence[str], query_type: str) -> DataFrame:
            names = [*names, RECORD_KEY, PARTITION_PATH]
            return read_stored(df.sparkSession, given.uri, names, filters, query_type, _of_reader(options))

        keyed = rows.mapInArrow(MapRows(plan, "with_keys"), with_strings(rows, [KEY, PATH]))
        found = stored(columns.names, "snapshot")
        with persisted(_joined(keyed, found, plan)) as joined:
            _check_distinct(joined, plan)
            if plan.shadow_ordering:
                _check_shadowed(joined, stored(plan.shadow_ordering, "read_optimized"), plan)
            merged = _merged(joined, rows, found, plan)
            commit = write_frame(merged, given, "upsert", "append", merge=plan)
    if commit is None:
        raise AssertionError("a write in mode append has no commit")
    return commit


def _of_reader(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the options of the storage."""
    return {name: value for name, value in (options or {}).items() if is_of_storage(str(name))}


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Persists rows that are computed several times."""
    kept = frame.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


def _condition(given: str | Column | None) -> Column:
    from pyspark.sql import functions as f

    if given is None:
        return f.lit(False)
    condition = f.expr(given) if isinstance(given, str) else given
    return f.coalesce(condition.cast("boolean"), f.lit(False))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def with_strings(df: DataFrame, names: Sequence[str]) -> StructType:
    """Returns the schema of a DataFrame with columns of strings behind its own."""
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType([*df.schema.fields, *(StructField(name, StringType()) for name in names)])


class MapRows:
    """A function for `mapInArrow` that makes each batch of rows another one, by a method of the plan.

    Args:
        plan: The merge.
        method: The method.
    """

    def __init__(self, plan: _mortice.MergePlan, method: Literal["with_keys", "with_paths", "merge"]) -> None:
        self.plan = plan.to_bytes()
        self.method = method

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        WorkerOptions().prepare()
        make = getattr(_mortice.MergePlan.from_bytes(self.plan), self.method)
        for batch in batches:
            yield pa.record_batch(make(batch))


class _CheckShadowed:
    """A function for `mapInArrow` that raises for inserted rows over which deleted ones win, and returns no rows.

    Args:
        plan: The merge.
    """

    def __init__(self, plan: _mortice.MergePlan) -> None:
        self.plan = plan.to_bytes()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        WorkerOptions().prepare()
        plan = _mortice.MergePlan.from_bytes(self.plan)
        for batch in batches:
            plan.check_shadowed(batch)
        yield from ()


def _of_partitions(rows: DataFrame, plan: _mortice.MergePlan) -> Filters:
    """Returns a filter on the partition paths that the rows have; None if they are not matched by them."""
    if not plan.by_path:
        return None
    values = rows.select([_quoted(name) for name in plan.partitions]).distinct()
    located = values.mapInArrow(MapRows(plan, "with_paths"), with_strings(values, [PATH])).select(PATH)
    paths = [row[0] for row in located.distinct().limit(_MOST_PARTITIONS + 1).collect()]
    return [(PARTITION_PATH, "in", paths)] if len(paths) <= _MOST_PARTITIONS else None


def _joined(rows: DataFrame, stored: DataFrame, plan: _mortice.MergePlan) -> DataFrame:
    """Returns the given rows, each with the stored one that it matches, if any."""
    from pyspark.sql import functions as f

    left = rows.withColumn(_ROW, f.monotonically_increasing_id()).alias(_GIVEN)
    right = stored.withColumn(_FOUND, f.lit(True)).alias(_STORED)
    return left.join(right, _equal_keys(by_path=plan.by_path), "left")


def _of(side: str, name: str) -> Column:
    from pyspark.sql import functions as f

    return f.col(f"{side}.{_quoted(name)}")


def _check_distinct(joined: DataFrame, plan: _mortice.MergePlan) -> None:
    """Refuses several given rows of one key, unless each of them deletes what it matches."""
    from pyspark.sql import functions as f

    # A key in several partitions is matched in each of them, unless paths are matched, too.
    names = [(_GIVEN, KEY), (_STORED, PARTITION_PATH), *([(_GIVEN, PATH)] if plan.by_path else [])]
    is_deleted = _of(_STORED, _FOUND).isNotNull() & _of(_GIVEN, DELETES)
    counts = joined.groupBy(*(_of(side, name) for side, name in names)).agg(
        f.count_distinct(_of(_GIVEN, _ROW)).alias("n"),
        f.min(is_deleted).alias("deleted"),
        *(f.first(_of(_GIVEN, name)).alias(name) for name in plan.on),
    )
    twice = counts.where("n > 1 and not deleted").limit(1).collect()
    keys = [dict(zip(plan.on, list(row)[len(names) + 2 :], strict=True)) for row in twice]
    plan.refuse_repeated(pa.Table.from_pylist(keys))


def _check_shadowed(joined: DataFrame, bases: DataFrame, plan: _mortice.MergePlan) -> None:
    """As `check_shadowed`, of given rows with the stored ones."""
    new = joined.where(_of(_STORED, _FOUND).isNull())
    names = dict.fromkeys([*plan.shadow_columns, *plan.shadow_ordering, KEY, PATH])
    check_shadowed(new.select(*(_of(_GIVEN, name).alias(name) for name in names)), bases, plan)


def check_shadowed(new: DataFrame, bases: DataFrame, plan: _mortice.MergePlan) -> None:
    """Refuses inserts of keys that a log has deleted, if the row in the base file has a greater ordering value.

    Args:
        new: The rows that are inserted, with their keys and partition paths.
        bases: The rows of base files, without logs.
        plan: The merge.
    """
    names = list(dict.fromkeys([*plan.shadow_columns, *plan.shadow_ordering]))
    left = new.select(*(_quoted(name) for name in [*names, KEY, PATH])).alias(_GIVEN)
    pairs = left.join(bases.alias(_STORED), _equal_keys(by_path=plan.shadows_by_path), "inner")
    pairs = _flat(pairs, names, plan.shadow_ordering, plan)
    pairs.mapInArrow(_CheckShadowed(plan), pairs.schema).collect()


def _equal_keys(*, by_path: bool) -> Column:
    condition = _of(_GIVEN, KEY) == _of(_STORED, RECORD_KEY)
    return condition & (_of(_GIVEN, PATH) == _of(_STORED, PARTITION_PATH)) if by_path else condition


def _flat(
    joined: DataFrame, given: Sequence[str], stored: Sequence[str], plan: _mortice.MergePlan, *, inner: bool = True
) -> DataFrame:
    """Returns joined rows with the names that the plan takes."""
    from pyspark.sql import functions as f

    is_matched = f.lit(True) if inner else _of(_STORED, _FOUND).isNotNull()
    return joined.select(
        *(_of(_GIVEN, name).alias(f"{plan.GIVEN}{name}") for name in given),
        *(_of(_STORED, name).alias(f"{plan.STORED}{name}") for name in stored),
        is_matched.alias(plan.MATCHED),
    )


def _merged(joined: DataFrame, rows: DataFrame, stored: DataFrame, plan: _mortice.MergePlan) -> DataFrame:
    """Returns the rows to write, with their marks.

    Args:
        joined: The given rows with the stored ones.
        rows: The given rows.
        stored: The stored ones.
        plan: The merge.
    """
    from pyspark.sql.types import BooleanType, StructField, StructType

    used = [name for name in rows.columns if name in plan.used or name == DELETES]
    names = pa.schema(plan.columns).names
    pairs = _flat(joined, used, [*names, PARTITION_PATH], plan, inner=False)
    columns = [StructField(name, stored.schema[name].dataType) for name in names]
    marks = [StructField(name, BooleanType()) for name in (plan.DELETES, plan.UPDATES)]
    return pairs.mapInArrow(MapRows(plan, "merge"), StructType([*columns, *marks]))
