"""`mortice.spark.merge_into`: SQL's `MERGE INTO` of a DataFrame, by Spark's join and `mortice.spark.write`.

The rules are those of `Table.merge_into` (`mortice.merge_into`). The stored rows are those of the partitions that the
DataFrame has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mortice.commit import Commit
from mortice.errors import InvalidArgumentError
from mortice.filters import Filters
from mortice.merge_into import (
    COLUMNS_UPDATED,
    COMMITS_READ,
    DELETES_KEY,
    UPDATES_KEY,
    MergeClauses,
    MergeTarget,
    merge_target,
)
from mortice.spark.option_names import is_of_storage
from mortice.spark.read import read
from mortice.spark.write import write_frame
from mortice.spark.write_options import WriteTarget
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["merge_into"]

_GIVEN, _STORED, _FOUND = "mortice_given", "mortice_stored", "_mortice_found"
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
    `mortice.spark.write`.

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
    target = merge_target(table, df.columns, clauses, given.options)
    marked = df.withColumn(DELETES_KEY, _condition(when_matched_delete))
    with _persisted(marked) as rows:
        filters = _of_partitions(rows, table, target)

        def stored(columns: Sequence[str], query_type: str) -> DataFrame:
            return read(df.sparkSession, given.uri, columns, filters, query_type, options=_of_reader(options))

        with _persisted(_joined(rows, stored(target.columns.names, "snapshot"), target)) as joined:
            _check(joined, target)
            if target.shadows:
                bases = stored([*target.shadows, *target.all_ordering], "read_optimized")
                _check_deleted(joined, bases, target)
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


def _of_partitions(rows: DataFrame, table: Table, target: MergeTarget) -> Filters:
    """Returns filters on those partition columns by which rows are matched."""
    filters = []
    for name in (name for name in table.partition_fields if name in target.on):
        values = [row[0] for row in rows.select(name).distinct().limit(_MOST_PARTITIONS + 1).collect()]
        if len(values) <= _MOST_PARTITIONS and None not in values:
            filters.append((name, "in", values))
    return filters or None


def _joined(rows: DataFrame, stored: DataFrame, target: MergeTarget) -> DataFrame:
    """Returns the given rows, each with the stored one that it matches, if any."""
    from pyspark.sql import functions as f

    left = rows.alias(_GIVEN)
    right = stored.withColumn(_FOUND, f.lit(True)).alias(_STORED)
    return left.join(right, _equal(target.on), "left")


def _of(side: str, name: str) -> Column:
    from pyspark.sql import functions as f

    quoted = name.replace("`", "``")
    return f.col(f"{side}.`{quoted}`")


def _check(joined: DataFrame, target: MergeTarget) -> None:
    """Refuses rows without a key, several rows of one key, and updates that would be lost to ordering values."""
    from pyspark.sql import functions as f

    keys = [_of(_GIVEN, name) for name in target.on]
    for key, name in zip(keys, target.on, strict=True):
        if joined.where(key.isNull()).limit(1).collect():
            raise InvalidArgumentError(f"column {name!r}: a row to merge has null, which matches no row")
    # A key in several partitions is matched in each of them, unless partition columns are matched, too.
    places = [_of(_STORED, name) for name in target.places]
    counts = joined.groupBy(*keys, *places).agg(f.count("*").alias("n"))
    twice = counts.where("n > 1").limit(1).collect()
    if twice:
        raise InvalidArgumentError(
            f"several rows have the key {list(twice[0])[: len(keys)]}: it is not known which of them is to be merged; "
            "leave one of each"
        )
    if target.ordering:
        new, old = (f.struct(*(_of(side, name) for name in target.ordering)) for side in (_GIVEN, _STORED))
        late = joined.where(_of(_STORED, _FOUND) & ~_of(_GIVEN, DELETES_KEY) & (new < old))
        _refuse_late(late, target.on, target.ordering)


def _check_deleted(joined: DataFrame, bases: DataFrame, target: MergeTarget) -> None:
    """Refuses inserts of keys that a log has deleted, if the row in the base file has a greater ordering value.

    Args:
        joined: The given rows with the stored ones.
        bases: The rows of base files, without logs.
        target: How rows are merged.
    """
    from pyspark.sql import functions as f

    names = [*target.shadows, *target.all_ordering]
    new = joined.where(_of(_STORED, _FOUND).isNull()).select(*(_of(_GIVEN, name).alias(name) for name in names))
    left, right = new.alias(_GIVEN), bases.alias(_STORED)
    given, stored = (f.struct(*(_of(side, name) for name in target.all_ordering)) for side in (_GIVEN, _STORED))
    late = left.join(right, _equal(target.shadows) & (given < stored), "inner")
    _refuse_late(late, target.shadows, target.all_ordering)


def _refuse_late(late: DataFrame, keys: Sequence[str], ordering: Sequence[str]) -> None:
    found = late.select(*(_of(_GIVEN, name) for name in keys)).limit(1).collect()
    if found:
        raise InvalidArgumentError(
            f"rows, such as that of the key {list(found[0])}, have an ordering value ({', '.join(ordering)}) that is "
            "less than the stored one, so that the stored row would win (if it was deleted, until the table is "
            "compacted); leave the column out of when_matched_update to keep the stored value, or leave these rows out"
        )


def _equal(names: Sequence[str]) -> Column:
    condition = _of(_GIVEN, names[0]) == _of(_STORED, names[0])
    for name in names[1:]:
        condition &= _of(_GIVEN, name) == _of(_STORED, name)
    return condition


def _merged(joined: DataFrame, target: MergeTarget, clauses: MergeClauses) -> DataFrame:
    """Returns the rows to write, with the mark of deletes."""
    from pyspark.sql import functions as f

    is_matched = _of(_STORED, _FOUND).isNotNull()
    is_deleted = is_matched & _of(_GIVEN, DELETES_KEY)
    columns = []
    for name in target.columns.names:
        stored = _of(_STORED, name)
        inserted = _of(_GIVEN, name) if name in target.given else f.lit(None)
        updated = _of(_GIVEN, name) if name in target.update else stored
        columns.append(f.when(is_matched, updated).otherwise(inserted).alias(name))
    is_written = is_deleted if not target.update else is_matched
    if clauses.inserts:
        is_written |= ~is_matched
    marks = [is_deleted.alias(DELETES_KEY), (is_matched & ~is_deleted).alias(UPDATES_KEY)]
    return joined.where(is_written).select(*columns, *marks)
