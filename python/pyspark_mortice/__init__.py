"""Registers `spark.read.format("mortice")` with Spark 4 wherever mortice is installed.

Spark imports every installed module whose name begins with `pyspark_` when it first looks up a Python data source. This
module therefore imports nothing until a mortice table is read. Spark 3.5 has no Python data sources; there the module
is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

try:
    from pyspark.sql.datasource import DataSource
except ImportError:  # Spark 3.5, or no Spark at all
    __all__: list[str] = []
else:
    if TYPE_CHECKING:
        from collections.abc import Mapping

        from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, DataSourceWriter
        from pyspark.sql.types import StructType

        from mortice.spark.data_source import MorticeDataSource

    __all__ = ["DefaultSource"]

    class DefaultSource(DataSource):
        """`format("mortice")`; see `mortice.spark.data_source.MorticeDataSource` for its options."""

        session_settings: ClassVar[Mapping[str, str]] = {}
        """Settings of object stores, from the session that registered the source."""

        @classmethod
        def name(cls) -> str:
            """Returns the name for `format()`."""
            return "mortice"

        def schema(self) -> StructType:
            """Returns the table's schema, or that of the requested columns."""
            from mortice.spark.settings.catalog_table import is_of_catalog

            source = self._source(None)
            return source.catalog_schema(self.options) if is_of_catalog(self.options) else source.schema()

        def reader(self, schema: StructType) -> DataSourceReader:
            """Returns the reader of one query."""
            return self._source(schema).reader(schema)

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            """Returns the reader of a stream."""
            return self._source(schema).streamReader(schema)

        def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
            """Returns the writer of one job."""
            from mortice.spark.settings.catalog_table import write_options

            return self._with(write_options(self.options, schema)).writer(schema, overwrite)

        def _source(self, schema: StructType | None) -> MorticeDataSource:
            from mortice.spark.settings.catalog_table import read_options

            return self._with(read_options(self.options, schema))

        def _with(self, options: Mapping[str, str]) -> MorticeDataSource:
            from mortice.spark.data_source import MorticeDataSource

            if not self.session_settings:
                return MorticeDataSource(dict(options))
            from mortice.spark.settings.session import settings_of_store

            settings = settings_of_store(self.session_settings, options.get("path"))
            return MorticeDataSource({**settings, **options})
