"""`format("mortice")`: Spark 4's Python data source, over the splits and generator of `mortice.spark.read`.

There is no `pushFilters`. Spark (4.1 to 4.3) caches a pushed-down plan on the DataFrame that was loaded, and uses it
for other queries over that DataFrame, which then miss rows. Columns and filters are options instead: they belong to one
DataFrame and do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from mortice.errors import InvalidArgumentError, MorticeError
from mortice.queries import QueryPlan
from mortice.reading.split import deserialize_splits
from mortice.spark.execution.arrow_udf import task_batches
from mortice.spark.execution.partitions import partitions_of
from mortice.spark.execution.tasks import TaskOptions, tasks_of
from mortice.spark.reading.stream_reader import SplitStreamReader
from mortice.spark.schema import arrow_schema, checked_projection, spark_arrow_schema, spark_schema, with_nullability
from mortice.spark.settings.catalog_table import with_options
from mortice.spark.settings.options import Query, read_query
from mortice.spark.settings.stream_options import StreamQuery, is_of_stream, read_stream
from mortice.spark.writing.data_source_writer import task_insert_writer
from mortice.table import Table
from mortice.values import type_names

META_COLUMNS = frozenset({*type_names.META_COLUMNS, "_hoodie_operation"})
"""Hudi's meta columns: a table without commits has no others."""


class MorticeDataSource(DataSource):
    """A Hudi table as a DataFrame.

        spark.read.format("mortice").load("/lake/trips")
        spark.read.format("mortice").option("columns", "rider,fare").load("/lake/trips")
        spark.read.format("mortice").option("filters", '[["fare", ">", 3]]').load("/lake/trips")
        spark.read.format("mortice").schema("rider string, fare double").load("/lake/trips")
        spark.readStream.format("mortice").option("start", "latest").load("/lake/trips")
        frame.write.format("mortice").options(**options).mode("append").save("/lake/trips")

    docs/options.md lists the options, and `mortice.spark.reading.stream_reader` describes streams. A schema given by
    the user is a projection: its columns must be the table's by name and type. A large file slice is several
    partitions, many small ones are one.
    """

    @classmethod
    def name(cls) -> str:
        """Returns the name for `format()`."""
        return "mortice"

    def schema(self) -> StructType:
        """Returns the schema of the table or of the projection. Spark does not call it if the user gives a schema.

        No file is listed: Spark runs this in a separate process, from which it takes only the schema.
        """
        query = self._stream.empty if is_of_stream(self.options) else self._query
        # Spark reuses the planning processes for later queries.
        query.tasks.worker.prepare()
        return spark_schema(query.prepare(query.table(), query.columns).schema)

    def catalog_schema(self, options: Mapping[str, str]) -> StructType:
        """Returns the columns that the catalog stores of a new table: without meta columns, which inserts do not have.

        Args:
            options: Path, options and properties of the table, as the catalog has them.
        """
        query = self._query
        query.tasks.worker.prepare()
        table = query.table()
        names = query.prepare(table, None).schema.names
        own = query.columns or [name for name in names if name not in META_COLUMNS]
        if not own:
            raise InvalidArgumentError(
                "nothing was written to the table yet, so that it has no columns; write to it, or give columns to "
                "mortice.create_table"
            )
        return with_options(spark_schema(query.prepare(table, own).schema), options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns the reader of a query; `schema` is the user's, or the result of `schema()`."""
        schema = _struct(schema)
        query, table = self._query, self._query.table()
        query.tasks.worker.prepare()
        plan = query.prepare(table, _columns(query, table, schema))
        target = with_nullability(spark_arrow_schema(plan.schema), schema)
        return SplitReader(plan, target, query.tasks)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Returns the reader of a stream; `schema` is the user's, or the result of `schema()`. It is the same for all
        batches."""
        query = self._stream.empty
        table = query.table()
        if set(query.prepare(table, None).schema.names) <= META_COLUMNS:
            columns, found = _expected(schema), arrow_schema(schema)
        else:
            columns = _columns(query, table, schema)
            found = query.prepare(table, columns).schema
        target = with_nullability(spark_arrow_schema(found), schema)
        return SplitStreamReader(self._stream, columns, target)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Returns the writer of a job (`mortice.spark.writing.data_source_writer`); `overwrite` is Spark's mode."""
        return task_insert_writer(dict(self.options), _struct(schema), overwrite=overwrite)

    @cached_property
    def _query(self) -> Query:
        return read_query(dict(self.options))

    @cached_property
    def _stream(self) -> StreamQuery:
        return read_stream(dict(self.options))

    def __getstate__(self) -> dict[str, object]:
        """Pickles only the options: Spark pickles sources, and an open table cannot be pickled."""
        return {"options": self.options}


class SplitReader(DataSourceReader):
    """Plans a query and reads its splits. It is sent to every task; the partitions are not sent with it.

    Spark pickles the reader and then requests its partitions, both in one process. The query is planned once, by
    whichever comes first. The data that all splits share is pickled with the reader; a partition contains only the rest
    of its own splits.
    """

    def __init__(self, plan: QueryPlan, target: pa.Schema, options: TaskOptions) -> None:
        self._plan: QueryPlan | None = plan
        self._target = target
        self._options = options
        self._planned: tuple[list[bytes], list[InputPartition]] | MorticeError | None = None

    def partitions(self) -> list[InputPartition]:
        """Returns one partition for each task, the largest first. Raises the errors of planning."""
        planned = self._outcome()
        if isinstance(planned, MorticeError):
            raise planned
        return planned[1]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yields the rows of one task. Without partitions, Spark passes an empty partition, and before 4.2 None."""
        self._options.worker.prepare()
        if partition is not None and partition.value is not None:
            _, rests = partition.value
            yield from task_batches(deserialize_splits(self._queries(), rests), self._target)

    def _outcome(self) -> tuple[list[bytes], list[InputPartition]] | MorticeError:
        if self._planned is None:
            if self._plan is None:
                raise AssertionError("a reader was asked for partitions in a task")
            try:
                self._planned = partitions_of(tasks_of(self._plan.scan(), self._options.split_bytes))
            except MorticeError as error:
                # Pickling would hide the class of the exception: `partitions` raises it.
                self._planned = error
        return self._planned

    def _queries(self) -> list[bytes]:
        planned = self._outcome()
        return [] if isinstance(planned, MorticeError) else planned[0]

    def __getstate__(self) -> dict[str, object]:
        return {"_plan": None, "_target": self._target, "_options": self._options, "_planned": (self._queries(), [])}


def _expected(schema: StructType) -> list[str]:
    """Returns the columns of a stream of a table without commits: those of the user's schema."""
    if set(schema.names) <= META_COLUMNS:
        raise InvalidArgumentError(
            "nothing was written to the table yet, so that it has no columns, and those of a stream are fixed when it "
            "starts; give them by schema(), or start when there is a commit"
        )
    return [str(name) for name in schema.names]


def _struct(schema: StructType | pa.Schema) -> StructType:
    """Returns Spark's schema: Sail hands over that of Arrow."""
    return from_arrow_schema(schema) if isinstance(schema, pa.Schema) else schema


def _columns(query: Query, table: Table, schema: StructType) -> list[str]:
    """Returns the columns of `schema`; they must be those of the table as of the query, which may be an earlier
    state."""
    if not schema.names:
        # Spark 4.0 would return no rows: it loses the number of rows without columns.
        raise InvalidArgumentError(
            "the schema given to schema() has no columns; give it one, or count rows by mortice.spark.count"
        )
    columns = checked_projection(schema, query.prepare(table, None).schema)
    asked = query.columns
    # `emit_deletes` adds a column to the projection that marks deleted rows.
    if asked is not None and list(asked) != columns and query.prepare(table, asked).schema.names != columns:
        raise InvalidArgumentError(
            f"the option columns asks for {list(asked)}, the schema given for {columns}; give one of them"
        )
    return columns
