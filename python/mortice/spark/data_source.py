"""`spark.read.format("mortice")`: Spark 4's Python data source, over the splits and generator of `mortice.spark.read`.

There is no `pushFilters`. Spark (4.1 to 4.3) caches a pushed-down plan on the DataFrame it was loaded as and hands it
to other queries over that DataFrame, which then miss rows. Columns and filters are options instead: they belong to one
DataFrame for its life.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from mortice.errors import InvalidArgumentError
from mortice.spark.arrow_udf import task_batches
from mortice.spark.options import Query, read_query
from mortice.spark.schema import checked_projection, spark_arrow_schema, spark_schema, with_nullability
from mortice.spark.tasks import tasks_of
from mortice.table import Table


class MorticeDataSource(DataSource):
    """A Hudi table as a DataFrame.

        spark.read.format("mortice").load("/lake/trips")
        spark.read.format("mortice").option("columns", "rider,fare").load("/lake/trips")
        spark.read.format("mortice").option("filters", '[["fare", ">", 3]]').load("/lake/trips")
        spark.read.format("mortice").schema("rider string, fare double").load("/lake/trips")

    The options stand in `mortice.spark.options`. A schema given by the user is a projection: its columns must be the
    table's by name and type. A large file slice is several
    partitions, many small ones are one.
    """

    @classmethod
    def name(cls) -> str:
        """The word for `format()`."""
        return "mortice"

    def schema(self) -> StructType:
        """The table's schema, or the columns asked for. Spark does not ask where the user gave a schema."""
        return spark_schema(self._query.scan(self._table, self._query.columns).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of one query; `schema` is the user's, or what `schema` said."""
        # The table's columns as the query sees them: an earlier instant may have had others.
        columns = checked_projection(schema, self._query.scan(self._table, None).schema)
        asked = self._query.columns
        if asked is not None and list(asked) != columns:
            raise InvalidArgumentError(
                f"the option columns asks for {list(asked)}, the schema given for {columns}; give one of them"
            )
        # Made here and not on an executor: the partitions of one DataFrame come from one look at the table.
        scan = self._query.scan(self._table, columns)
        target = with_nullability(spark_arrow_schema(scan.schema), schema)
        split_bytes = self._query.split_bytes
        tasks = tasks_of(scan.splits(max_split_bytes=split_bytes), split_bytes)
        return SplitReader(target, [tuple(split.to_bytes() for split in task) for task in tasks])

    @cached_property
    def _query(self) -> Query:
        return read_query(dict(self.options))

    @cached_property
    def _table(self) -> Table:
        return self._query.table()

    def __getstate__(self) -> dict[str, object]:
        """Spark pickles sources: only the options travel, no open table."""
        return {"options": self.options}


class SplitPartition(InputPartition):
    """The splits of one task."""

    def __init__(self, descriptors: tuple[bytes, ...]) -> None:
        super().__init__(descriptors)


class SplitReader(DataSourceReader):
    """Reads splits. It travels to every task; the tasks do not travel with it: they are the partitions' own."""

    def __init__(self, target: pa.Schema, tasks: list[tuple[bytes, ...]]) -> None:
        self._target = target
        self._tasks = tasks

    def partitions(self) -> list[InputPartition]:
        """One for each task, the largest first."""
        return [SplitPartition(descriptors) for descriptors in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task. Spark makes an empty partition of its own where there are none."""
        if partition.value is not None:
            yield from task_batches(partition.value, self._target)

    def __getstate__(self) -> dict[str, object]:
        return {"_target": self._target, "_tasks": []}
