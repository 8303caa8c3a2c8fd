"""Rows merged as Hudi merges them, in a function for Spark: what a pipeline needs to apply change batches of its own.

| Spark | how it is used |
|---|---|
| 4.0 and later | `older.groupBy(k).cogroup(newer.groupBy(k)).applyInArrow(fn, fn.schema)` |
| 4.0 and later | `rows.groupBy(k).applyInArrow(fn, fn.schema)` |
| 3.5 and later | `rows.repartition(n, key).mapInArrow(fn, fn.schema)` |

Where there is one frame of rows, older and newer, a column of it says which are the newer (`is_newer`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.options import checked_optional_name, checked_truth
from mortice.row_merge import META_KEY, OPERATION, Names, RowMerge
from mortice.spark.arrow_udf import portions
from mortice.spark.schema import spark_schema
from mortice.spark.worker import WorkerOptions
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["MergeFunction", "merge_udf"]

_META = ["_hoodie_commit_time", "_hoodie_commit_seqno", META_KEY, "_hoodie_partition_path", "_hoodie_file_name"]


class MergeFunction(Protocol):
    """What `merge_udf` returns: a function that also tells the schema of its rows."""

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
    avro_schema: str | Mapping[str, Any] | None = None,
    semantics: str | None = None,
    emit_deletes: bool = False,
    zip_cache: bool = True,
) -> MergeFunction:
    """A function that merges older and newer rows on the executors.

        fn = mortice.spark.merge_udf(trips, record_key="trip_id", ordering="updated_at")
        bucket = F.pmod(F.hash("trip_id"), F.lit(64))
        merged = trips.groupBy(bucket).cogroup(changes.groupBy(bucket)).applyInArrow(fn, fn.schema)

    `rows` tells the columns that come out: those of the older rows, as a DataFrame, a StructType or an Arrow schema. A
    `mortice.Table` tells them, too, without Hudi's meta columns, and how rows are merged; beside other `rows`, the
    argument `table` says the latter alone. All other arguments are those of `mortice.merge`.

    All rows of a key have to be in one group or one partition: group by the key or, many times faster, by a bucket of
    it, since Python is called once for each group. The rows of a group are in memory together. With one frame of rows,
    `is_newer` names its column of truth values that are true for the newer rows; it does not come out.

    Spark's shuffles keep no order of rows. So `commit_order` is asked for wherever the order of the newer rows counts
    beside their ordering values: in commit-time ordering, and where rows are filled from others. Elsewhere it decides
    between newer rows of one key and one ordering value, of which without it either may win.

    `zip_cache=False` has Python workers read the directories of their zip archives before each task, as Python 3.10 to
    3.12 do by default (see `mortice.spark.zip_directories`).
    """
    if isinstance(rows, Table):
        if table is not None:
            raise InvalidArgumentError("two tables; give one of them as rows, or as table")
        table, rows = rows, _without_meta(rows)
    by = RowMerge.of(
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
            "commit_order is missing: these rows are merged in the order of their commits, and Spark's shuffles keep no"
            " order; name the column of the newer rows that tells it (a commit time, a sequence number, an offset)"
        )
    columns = _schema_of(rows)
    merging = _Merging.of(by, columns, checked_optional_name("is_newer", is_newer))
    return _function(merging, _output(columns, by), zip_cache=checked_truth("zip_cache", zip_cache))


def _function(merging: _Merging, schema: StructType, *, zip_cache: bool) -> MergeFunction:
    # Spark calls the function for each group of a task: the collection is left as it is.
    worker = WorkerOptions(zip_cache=zip_cache, gc_freeze=False)

    # Spark counts the arguments, and takes annotations for its own: there are none.
    def merge(first, second=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        """(older, newer) of a cogroup, (key, rows) of a group, or the batches of a partition."""
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
    """What travels to the executors."""

    by: RowMerge
    names: list[str]
    """The columns of older rows."""
    is_newer: str | None
    target: pa.Schema
    """What Spark expects of the rows that come out."""
    large_target: pa.Schema
    """The same where it is told to use the types of large texts (`spark.sql.execution.arrow.useLargeVarTypes`)."""

    @classmethod
    def of(cls, by: RowMerge, columns: StructType, is_newer: str | None) -> _Merging:
        if is_newer is not None and is_newer in columns.names:
            raise InvalidArgumentError(
                f"{is_newer!r} tells which rows are newer, and is among the columns that come out; leave it out of them"
            )
        output = _output(columns, by)
        merging = cls(by, list(columns.names), is_newer, _arrow(output, False), _arrow(output, True))
        merging.check(_arrow(columns, False))
        return merging

    def check(self, columns: pa.Schema) -> None:
        """What can be told of the arguments without rows."""
        known = set(columns.names)
        names = [*self.by.commit_order, *([self.by.delete_field] if self.by.delete_field else [])]
        added = [pa.field(name, pa.string()) for name in dict.fromkeys(names) if name not in known]
        self.by(columns.empty_table(), pa.schema([*columns, *added]).empty_table())

    def __call__(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """Merges rows of a group."""
        merged = self.by(older.select(self.names), newer)
        kinds = older.schema.types
        is_large = any(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) for kind in kinds)
        # Before 4.3, Spark hands over large types and takes none back.
        is_large = is_large and _spark_version() >= (4, 3)
        return merged.cast(self.large_target if is_large else self.target)

    def of_rows(self, rows: pa.Table) -> pa.Table:
        """Merges rows of which a column says which are the newer."""
        # Half of what it takes to import mortice: every worker and every process that plans would wait for it.
        import pyarrow.compute as pc

        if self.is_newer is None:
            raise InvalidArgumentError(
                "is_newer is missing: name the column that is true for the newer rows, or group older and newer rows"
                " apart (cogroup)"
            )
        if self.is_newer not in rows.schema.names:
            names = ", ".join(rows.schema.names)
            raise InvalidArgumentError(f"no column {self.is_newer!r} to tell which rows are newer; there are {names}")
        newer = rows[self.is_newer]
        if newer.null_count or not pa.types.is_boolean(newer.type):
            raise InvalidArgumentError(f"the column {self.is_newer!r} is to be true or false for all rows")
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
    return pa.schema([column for column in table.schema if column.name not in _META])


def _schema_of(rows: Any) -> StructType:
    from pyspark.sql.types import StructType

    if isinstance(rows, pa.Schema):
        return spark_schema(rows)
    schema = rows if isinstance(rows, StructType) else getattr(rows, "schema", None)
    if not isinstance(schema, StructType):
        raise InvalidArgumentError(
            f"rows is a DataFrame, a StructType, an Arrow schema or a mortice.Table, not {type(rows).__name__}"
        )
    return StructType([_nullable(column) for column in schema])


def _nullable(column: Any) -> Any:
    from pyspark.sql.types import StructField

    return StructField(column.name, column.dataType, True, column.metadata)


def _output(columns: StructType, by: RowMerge) -> StructType:
    from pyspark.sql.types import StringType, StructField, StructType

    added = by.emit_deletes and OPERATION not in columns.names
    return StructType([*columns, *([StructField(OPERATION, StringType(), True)] if added else [])])


def _arrow(schema: StructType, large: bool) -> pa.Schema:
    """The Arrow schema that Spark expects for a schema of its own, by Spark itself; times of it are UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    wished: dict[str, Any] = {"timezone": "UTC", "prefers_large_types": large}
    known = signature(cast("Callable[..., Any]", to_arrow_schema)).parameters
    return to_arrow_schema(schema, **{name: value for name, value in wished.items() if name in known})
