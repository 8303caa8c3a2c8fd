"""A function for Spark that merges rows by Hudi's rules: for pipelines that apply batches of changes to DataFrames.

| Spark | usage |
|---|---|
| 4.0 and later | `older.groupBy(k).cogroup(newer.groupBy(k)).applyInArrow(fn, fn.schema)` |
| 4.0 and later | `rows.groupBy(k).applyInArrow(fn, fn.schema)` |
| 3.5 and later | `rows.repartition(n, key).mapInArrow(fn, fn.schema)` |

If older and newer rows are in one DataFrame, a boolean column marks the newer ones (`is_newer`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa

from mortice.engines.row_merge import OPERATION, Names, RowMerge
from mortice.errors import InvalidArgumentError
from mortice.spark.execution.arrow_udf import portions
from mortice.spark.execution.worker import WorkerOptions
from mortice.spark.schema import arrow_schema, spark_schema
from mortice.table import Table
from mortice.values.options import checked_bool, checked_optional_name
from mortice.values.type_names import META_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType


class MergeFunction(Protocol):
    """What `merge_udf` returns: a function with the schema of the rows that it returns."""

    schema: StructType

    def __call__(self, first: Any, second: Any = None) -> Any:
        """For `applyInArrow` and `mapInArrow`."""


def merge_udf(
    rows: DataFrame | StructType | pa.Schema | Table,
    *,
    is_newer: str | None = None,
    table: Table | None = None,
    record_key: Names | None = None,
    ordering: Names | None = None,
    mode: str | None = None,
    payload: str | None = None,
    partial_update: str | None = None,
    unavailable: str | None = None,
    delete_field: str | None = None,
    delete_marker: str | None = None,
    commit_order: Names | None = None,
    partial: bool = False,
    avro_schema: str | Mapping[str, object] | None = None,
    semantics: str | None = None,
    emit_deletes: bool = False,
    zip_cache: bool = True,
) -> MergeFunction:
    """Returns a function that merges older and newer rows on the executors.

        fn = mortice.spark.merge_udf(trips, record_key="trip_id", ordering="updated_at")
        bucket = F.pmod(F.hash("trip_id"), F.lit(64))
        merged = trips.groupBy(bucket).cogroup(changes.groupBy(bucket)).applyInArrow(fn, fn.schema)

    All rows of a key must be in one group or one partition. Group by the key or, many times faster, by a bucket of the
    key: Python is called once for each group. All rows of a group are in memory at the same time.

    Spark's shuffles do not preserve the order of rows. `commit_order` is therefore required if the result depends on
    the order of the newer rows: in commit-time ordering, and if rows are filled from other rows. Otherwise it decides
    between newer rows that have the same key and the same ordering value; without it, either may win.

    Args:
        rows: The columns that are returned, those of the older rows: a DataFrame, a StructType, an Arrow schema, or a
            `mortice.Table`, whose columns without Hudi's meta columns and whose merge rules are used.
        is_newer: The boolean column that is true for the newer rows, if older and newer rows are in one DataFrame. The
            column is not returned.
        table: The table whose merge rules are used, if `rows` is not a table itself.
        record_key: As for `mortice.merge`.
        ordering: As for `mortice.merge`.
        mode: As for `mortice.merge`.
        payload: As for `mortice.merge`.
        partial_update: As for `mortice.merge`.
        unavailable: As for `mortice.merge`.
        delete_field: As for `mortice.merge`.
        delete_marker: As for `mortice.merge`.
        commit_order: As for `mortice.merge`.
        partial: As for `mortice.merge`.
        avro_schema: As for `mortice.merge`.
        semantics: As for `mortice.merge`.
        emit_deletes: As for `mortice.merge`.
        zip_cache: False disables caching of zip directories in Python workers (see
            `mortice.spark.execution.worker`).

    Returns:
        A function for `applyInArrow` and `mapInArrow`. Its attribute `schema` is the schema of the returned rows.

    Raises:
        InvalidArgumentError: An argument is invalid, or a column is missing.
        UnsupportedError: The rules or types are not supported.
    """
    if isinstance(rows, Table):
        if table is not None:
            raise InvalidArgumentError("rows and table must not both be tables; leave out the argument table")
        table, rows = rows, _without_meta(rows)
    by = RowMerge.from_arguments(
        table=table,
        record_key=record_key,
        ordering=ordering,
        mode=mode,
        payload=payload,
        partial_update=partial_update,
        unavailable=unavailable,
        delete_field=delete_field,
        delete_marker=delete_marker,
        commit_order=commit_order,
        partial=partial,
        avro_schema=avro_schema,
        semantics=semantics,
        emit_deletes=emit_deletes,
    )
    if by.needs_commit_order and not by.commit_order:
        raise InvalidArgumentError(
            "commit_order is missing: these rows are merged in commit order, which Spark's shuffles do not preserve;"
            " name the column of the newer rows that has this order (a commit time, a sequence number, an offset)"
        )
    columns = _schema_of(rows)
    merging = _Merging.from_columns(by, columns, checked_optional_name("is_newer", is_newer))
    return _function(merging, _output(columns, by), zip_cache=checked_bool("zip_cache", zip_cache))


def _function(merging: _Merging, schema: StructType, *, zip_cache: bool) -> MergeFunction:
    # Spark calls the function for each group of a task: garbage collection is left as it is.
    worker = WorkerOptions(zip_cache=zip_cache, gc_freeze=False)

    # Spark counts the arguments and interprets annotations: there must be none.
    def merge(first, second=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        """Takes (older, newer) of a cogroup, (key, rows) of a group, or the batches of a partition."""
        worker.prepare()
        if second is None:
            return merging.of_partition(first)
        if isinstance(first, tuple):
            return merging.of_rows(second)
        return merging(first, second)

    merge.schema = schema  # type: ignore[attr-defined]
    return cast("MergeFunction", merge)


@dataclass(frozen=True)
class _Merging:
    """What is sent to the executors."""

    by: RowMerge
    names: list[str]
    """The columns of older rows."""
    is_newer: str | None
    target: pa.Schema
    """The schema that Spark expects of the merged rows."""
    large_target: pa.Schema
    """The same with large string and binary types (`spark.sql.execution.arrow.useLargeVarTypes`)."""

    @classmethod
    def from_columns(cls, by: RowMerge, columns: StructType, is_newer: str | None) -> _Merging:
        if is_newer is not None and is_newer in columns.names:
            raise InvalidArgumentError(
                f"the column {is_newer!r} (is_newer) must not be one of the columns that are returned; "
                "drop it from rows"
            )
        output = _output(columns, by)
        merging = cls(by, list(columns.names), is_newer, arrow_schema(output, False), arrow_schema(output, True))
        merging.check(arrow_schema(columns, False))
        return merging

    def check(self, columns: pa.Schema) -> None:
        """Checks the arguments by merging empty tables."""
        known = set(columns.names)
        names = [*self.by.commit_order, *([self.by.delete_field] if self.by.delete_field else [])]
        added = [pa.field(name, pa.string()) for name in dict.fromkeys(names) if name not in known]
        self.by(columns.empty_table(), pa.schema([*columns, *added]).empty_table())

    def __call__(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """Merges rows of a group."""
        merged = self.by(older.select(self.names), newer)
        kinds = older.schema.types
        is_large = any(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) for kind in kinds)
        # Before 4.3, Spark passes large types to the function and accepts none from it.
        is_large = is_large and _spark_version() >= (4, 3)
        return merged.cast(self.large_target if is_large else self.target)

    def of_rows(self, rows: pa.Table) -> pa.Table:
        """Merges the rows of one DataFrame in which the column `is_newer` marks the newer rows."""
        # Imported here: it takes half the time of importing mortice, in every worker and every planning process.
        import pyarrow.compute as pc

        if self.is_newer is None:
            raise InvalidArgumentError(
                "is_newer is missing: name the boolean column that is true for the newer rows, or pass older and newer"
                " rows as two DataFrames (cogroup)"
            )
        if self.is_newer not in rows.schema.names:
            names = ", ".join(rows.schema.names)
            raise InvalidArgumentError(
                f"is_newer names the column {self.is_newer!r}, which is missing; the rows have {names}"
            )
        newer = rows[self.is_newer]
        if newer.null_count or not pa.types.is_boolean(newer.type):
            raise InvalidArgumentError(
                f"the column {self.is_newer!r} (is_newer) must be a boolean without nulls, got {newer.type}"
            )
        rows = rows.drop_columns([self.is_newer])
        return self(rows.filter(pc.invert(newer)), rows.filter(newer))

    def of_partition(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Merges the rows of a partition."""
        rows = list(batches)
        if rows:
            table = pa.Table.from_batches(rows)
            del rows
            for batch in self.of_rows(table).to_batches():
                yield from portions(batch)


def _spark_version() -> tuple[int, int]:
    import pyspark

    major, minor = pyspark.__version__.split(".")[:2]
    return int(major), int(minor)


def _without_meta(table: Table) -> pa.Schema:
    return pa.schema([column for column in table.schema if column.name not in META_COLUMNS])


def _schema_of(rows: object) -> StructType:
    from pyspark.sql.types import StructType

    if isinstance(rows, pa.Schema):
        return spark_schema(rows)
    schema = rows if isinstance(rows, StructType) else getattr(rows, "schema", None)
    if not isinstance(schema, StructType):
        raise InvalidArgumentError(
            "rows must be a DataFrame, a StructType, an Arrow schema or a mortice.Table, "
            f"got an object of type {type(rows).__name__}"
        )
    return StructType([_nullable(column) for column in schema])


def _nullable(column: StructField) -> StructField:
    from pyspark.sql.types import StructField

    return StructField(column.name, column.dataType, True, column.metadata)


def _output(columns: StructType, by: RowMerge) -> StructType:
    from pyspark.sql.types import StringType, StructField, StructType

    added = by.emit_deletes and OPERATION not in columns.names
    return StructType([*columns, *([StructField(OPERATION, StringType(), True)] if added else [])])
