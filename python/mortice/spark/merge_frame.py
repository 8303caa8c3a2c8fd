"""`mortice.spark.merge_into`: SQL's `MERGE INTO` of a DataFrame, by Spark's join and `mortice.spark.write`.

The rules are those of `Table.merge_into` (`mortice.merge_into`). Tasks make the record keys and partition paths of
rows, by which Spark joins them with the stored rows of the partitions that the DataFrame has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice import _mortice
from mortice.commit import Commit
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.filters import Filters
from mortice.merge_into import (
    COLUMNS_UPDATED,
    COMMITS_READ,
    DELETES_KEY,
    PARTITION_PATH,
    RECORD_KEY,
    UPDATES_KEY,
    MergeClauses,
    MergeTarget,
    from_batches,
    merge_target,
    row_keys,
    row_paths,
    unmatched_path,
)
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.execution.worker import WorkerOptions
from mortice.spark.merge_types import check_fit, table_names, with_table_types
from mortice.spark.reading.read import read_stored
from mortice.spark.schema import spark_schema
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.writing.write import write_frame
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

__all__ = ["merge_into"]

_GIVEN, _STORED, _FOUND = "mortice_given", "mortice_stored", "_mortice_found"
_KEY, _PATH = "_mortice_record_key", "_mortice_partition_path"
_MOST_PARTITIONS = 1_000
"""More partitions than these are all read."""


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
        df: The rows, one for each key.
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
    clauses = MergeClauses.from_arguments(on, when_matched_update, when_not_matched, None)
    given = WriteTarget.from_options(uri, options)
    table = Table(given.uri, storage_options=given.storage_options(df.sparkSession))
    names = table_names(df, table.schema.names)
    target = merge_target(table, names, clauses, given.options)
    _check_on(table, target)
    # The condition is on the columns as they were given.
    marked = df.withColumn(DELETES_KEY, _condition(when_matched_delete))
    used = names if clauses.inserts else [*target.on, *target.update]
    cast = with_table_types(marked, names, spark_schema(target.columns), used)
    with typed_errors(), _persisted(cast) as kept:
        rows = check_fit(kept)
        _check_nulls(rows, target)
        filters = _of_partitions(rows, target)

        def stored(columns: Sequence[str], query_type: str) -> DataFrame:
            names = [*columns, RECORD_KEY, PARTITION_PATH]
            return read_stored(df.sparkSession, given.uri, names, filters, query_type, _of_reader(options))

        keyed = rows.mapInArrow(_AddKeys(target), _with_strings(rows, [_KEY, _PATH]))
        with _persisted(_joined(keyed, stored(target.columns.names, "snapshot"), target)) as joined:
            _check(joined, target)
            _check_paths(joined, target)
            if target.shadows:
                _check_deleted(joined, stored(target.all_ordering, "read_optimized"), target)
            merged = _merged(joined, target, clauses)
            own = {COMMITS_READ: target.commits, COLUMNS_UPDATED: ",".join(target.update)}
            pinned = replace(given, options={**given.options, **own})
            commit = write_frame(merged, pinned, "upsert", "append")
    if commit is None:
        raise AssertionError("a write in mode append has no commit")
    return commit


def _of_reader(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the options of the storage."""
    return {name: value for name, value in (options or {}).items() if is_of_storage(str(name))}


@contextmanager
def _persisted(frame: DataFrame) -> Iterator[DataFrame]:
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


def _check_on(table: Table, target: MergeTarget) -> None:
    """Refuses some of several partition columns: which paths have their values is known row by row only."""
    if not target.by_path and set(target.partitions) & set(target.on):
        missing = [name for name in target.partitions if name not in target.on]
        raise UnsupportedError(
            f"merge_into of a DataFrame without the partition column {', '.join(missing)}; add it to the rows and to "
            "on, or match by the record key alone",
            path=table.uri,
        )


def _check_nulls(rows: DataFrame, target: MergeTarget) -> None:
    from pyspark.sql import functions as f

    for name in target.on:
        if rows.where(f.col(_quoted(name)).isNull()).limit(1).collect():
            raise InvalidArgumentError(f"column {name!r}: a row to merge has null, which matches no row")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _with_strings(df: DataFrame, names: Sequence[str]) -> StructType:
    """Returns the schema of a DataFrame with columns of strings behind its own."""
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType([*df.schema.fields, *(StructField(name, StringType()) for name in names)])


def _in_table_types(rows: pa.RecordBatch, names: Sequence[str], target: MergeTarget) -> pa.Table:
    columns = pa.schema([target.columns.field(name) for name in names]).empty_table()
    return from_batches(_mortice.columns_of_table(rows.select(list(names)), columns, target.options))


def _with_columns(batch: pa.RecordBatch, columns: Mapping[str, pa.ChunkedArray]) -> Iterator[pa.RecordBatch]:
    table = pa.Table.from_batches([batch])
    for name, column in columns.items():
        table = table.append_column(name, column)
    yield from table.to_batches()


class _AddKeys:
    """A function for `mapInArrow` that adds the record key and the partition path of each row.

    Args:
        target: How rows are merged.
    """

    def __init__(self, target: MergeTarget) -> None:
        self.target = target
        self.names = list(dict.fromkeys([*target.on, *target.shadows]))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        WorkerOptions().prepare()
        for batch in batches:
            rows = _in_table_types(batch, self.names, self.target)
            keys = row_keys(rows, self.target, self.names)
            yield from _with_columns(batch, {_KEY: keys[RECORD_KEY], _PATH: keys[PARTITION_PATH]})


class _AddPaths:
    """A function for `mapInArrow` that adds the partition paths of rows with partition columns.

    Args:
        target: How rows are merged.
    """

    def __init__(self, target: MergeTarget) -> None:
        self.target = target

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        WorkerOptions().prepare()
        for batch in batches:
            rows = _in_table_types(batch, self.target.partitions, self.target)
            yield from _with_columns(batch, {_PATH: row_paths(rows, self.target)})


def _of_partitions(rows: DataFrame, target: MergeTarget) -> Filters:
    """Returns a filter on the partition paths that the rows have; None if they are not matched by them."""
    if not target.by_path:
        return None
    values = rows.select([_quoted(name) for name in target.partitions]).distinct()
    located = values.mapInArrow(_AddPaths(target), _with_strings(values, [_PATH])).select(_PATH)
    paths = [row[0] for row in located.distinct().limit(_MOST_PARTITIONS + 1).collect()]
    return [(PARTITION_PATH, "in", paths)] if len(paths) <= _MOST_PARTITIONS else None


def _joined(rows: DataFrame, stored: DataFrame, target: MergeTarget) -> DataFrame:
    """Returns the given rows, each with the stored one that it matches, if any."""
    from pyspark.sql import functions as f

    left = rows.alias(_GIVEN)
    right = stored.withColumn(_FOUND, f.lit(True)).alias(_STORED)
    return left.join(right, _equal_keys(by_path=target.by_path), "left")


def _of(side: str, name: str) -> Column:
    from pyspark.sql import functions as f

    quoted = name.replace("`", "``")
    return f.col(f"{side}.`{quoted}`")


def _check(joined: DataFrame, target: MergeTarget) -> None:
    """Refuses several rows of one key, and updates that would be lost to ordering values."""
    from pyspark.sql import functions as f

    # A key in several partitions is matched in each of them, unless paths are matched, too.
    names = [(_GIVEN, _KEY), (_STORED, PARTITION_PATH), *([(_GIVEN, _PATH)] if target.by_path else [])]
    counts = joined.groupBy(*(_of(side, name) for side, name in names)).agg(
        f.count("*").alias("n"), *(f.first(_of(_GIVEN, name)).alias(name) for name in target.on)
    )
    twice = counts.where("n > 1").limit(1).collect()
    if twice:
        raise InvalidArgumentError(
            f"several rows have the key {list(twice[0])[len(names) + 1 :]}: it is not known which of them is to be "
            "merged; leave one of each"
        )
    if target.ordering:
        new, old = (f.struct(*(_of(side, name) for name in target.ordering)) for side in (_GIVEN, _STORED))
        late = joined.where(_of(_STORED, _FOUND) & ~_of(_GIVEN, DELETES_KEY) & (new < old))
        _refuse_late(late, target.on, target.ordering)


def _check_paths(joined: DataFrame, target: MergeTarget) -> None:
    """Refuses matched rows that would be written to another partition, as queries take partition columns from paths."""
    from pyspark.sql import functions as f

    if target.by_path or set(target.partitions) <= set(target.update):
        return
    matched = joined.where(_of(_STORED, _FOUND))
    names = [*target.partitions, PARTITION_PATH]
    stored = matched.select(*(_of(_STORED, name).alias(name) for name in names)).distinct()
    located = stored.mapInArrow(_AddPaths(target), _with_strings(stored, [_PATH]))
    moved = located.where(f.col(_PATH) != f.col(PARTITION_PATH)).limit(1).collect()
    if moved:
        raise unmatched_path(moved[0][PARTITION_PATH], target)


def _check_deleted(joined: DataFrame, bases: DataFrame, target: MergeTarget) -> None:
    """Refuses inserts of keys that a log has deleted, if the row in the base file has a greater ordering value.

    Args:
        joined: The given rows with the stored ones.
        bases: The rows of base files, without logs.
        target: How rows are merged.
    """
    from pyspark.sql import functions as f

    names = [*target.shadows, *target.all_ordering, _KEY, _PATH]
    new = joined.where(_of(_STORED, _FOUND).isNull()).select(
        *(_of(_GIVEN, name).alias(name) for name in dict.fromkeys(names))
    )
    left, right = new.alias(_GIVEN), bases.alias(_STORED)
    given, stored = (f.struct(*(_of(side, name) for name in target.all_ordering)) for side in (_GIVEN, _STORED))
    by_path = bool(target.partitions) and not target.is_global
    late = left.join(right, _equal_keys(by_path=by_path) & (given < stored), "inner")
    _refuse_late(late, target.shadows, target.all_ordering)


def _refuse_late(late: DataFrame, keys: Sequence[str], ordering: Sequence[str]) -> None:
    found = late.select(*(_of(_GIVEN, name) for name in keys)).limit(1).collect()
    if found:
        raise InvalidArgumentError(
            f"rows, such as that of the key {list(found[0])}, have an ordering value ({', '.join(ordering)}) that is "
            "less than the stored one, so that the stored row would win (if it was deleted, until the table is "
            "compacted); leave the column out of when_matched_update to keep the stored value, or leave these rows out"
        )


def _equal_keys(*, by_path: bool) -> Column:
    condition = _of(_GIVEN, _KEY) == _of(_STORED, RECORD_KEY)
    return condition & (_of(_GIVEN, _PATH) == _of(_STORED, PARTITION_PATH)) if by_path else condition


def _merged(joined: DataFrame, target: MergeTarget, clauses: MergeClauses) -> DataFrame:
    """Returns the rows to write, with the mark of deletes."""
    from pyspark.sql import functions as f

    is_matched = _of(_STORED, _FOUND).isNotNull()
    is_deleted = is_matched & _of(_GIVEN, DELETES_KEY)
    # The values of partition columns that queries return may differ from those that the files have.
    from_given = {*target.update, *(name for name in target.partitions if name in target.on)}
    columns = []
    for name in target.columns.names:
        stored = _of(_STORED, name)
        inserted = _of(_GIVEN, name) if name in target.given else f.lit(None)
        updated = _of(_GIVEN, name) if name in from_given else stored
        columns.append(f.when(is_matched, updated).otherwise(inserted).alias(name))
    is_written = is_deleted if not target.update else is_matched
    if clauses.inserts:
        is_written |= ~is_matched
    marks = [is_deleted.alias(DELETES_KEY), (is_matched & ~is_deleted).alias(UPDATES_KEY)]
    return joined.where(is_written).select(*columns, *marks)
