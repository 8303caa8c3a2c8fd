"""Rows that need no merge by Spark's own Parquet reader, all others by `mapInArrow`, in one DataFrame.

Which files are read by Spark is decided by the core (`Scan.plain_files`): its reader must return their rows as mortice
does. Spark decodes them in the JVM, so that no row goes through a Python worker, and prunes columns and row groups by
what the query does with the DataFrame. Settings of the session that would change these rows are overridden here.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice.spark.execution.data_frame import data_frame, is_connect
from mortice.spark.execution.private import hadoop_file_exists
from mortice.spark.schema import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from mortice import _mortice
    from mortice.reading.scan import Scan
    from mortice.spark.execution.data_frame import Metrics
    from mortice.spark.execution.tasks import TaskOptions

logger = logging.getLogger("mortice.spark")

_OPTIONS = {
    # Columns of the names of folders are in the files.
    "recursiveFileLookup": "true",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    # Files without a calendar in their footer are proleptic; Spark 3.5 refuses their old dates otherwise.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    # Checksums of pages are compared, as by mortice.
    "parquet.page.verify-checksum.enabled": "true",
}
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_OF_HADOOP = frozenset({"s3", "s3a", "s3n", "abfs", "abfss", "wasb", "wasbs", "gs", "hdfs", "viewfs"})
"""Schemes of file systems of Hadoop that are read at any place of a file."""
_ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
"""Variables of the environment that Hadoop does not read: it would look for the bucket elsewhere."""


def combined_frame(
    spark: SparkSession, scan: Scan, options: TaskOptions, metrics: Metrics | None, *, by_hadoop: bool
) -> DataFrame:
    """Returns the rows of a scan as a DataFrame, those that need no merge by Spark's Parquet reader.

    Args:
        spark: The session.
        scan: The planned query.
        options: The options of the tasks that read all other rows.
        metrics: Accumulates what these tasks read. With it, they read all rows.
        by_hadoop: Whether the session's settings of Hadoop have all that the storage needs.
    """
    if metrics is not None or not options.spark_parquet or not by_hadoop or not _has_jvm(spark):
        return data_frame(spark, scan, options, metrics)
    files, rest = scan.plain_files()
    paths = _paths(spark, files.paths)
    if not paths:
        return data_frame(spark, scan, options)
    try:
        rows = _plain_rows(spark, paths, files, scan.schema)
    except Exception as error:  # noqa: BLE001 (Spark's and py4j's: the reader of mortice needs neither)
        logger.info("read %r: Spark cannot read its files: %s", scan, error)
        return data_frame(spark, scan, options)
    logger.info("read %r: %s", scan, files.explain())
    return rows.unionAll(data_frame(spark, rest, options)) if files.rest.split_count else rows


def _has_jvm(spark: SparkSession) -> bool:
    """Returns false for a server of Spark Connect that is not Spark, such as Sail: its Parquet reader is another."""
    return not is_connect(spark) or spark.conf.get("spark.master", None) is not None


def _paths(spark: SparkSession, paths: Sequence[str]) -> list[str]:
    """Returns the paths as Hadoop has them; none if Spark cannot open the files."""
    scheme = _SCHEME.match(paths[0]) if paths else None
    if scheme is None:
        return [f"file://{os.path.abspath(path)}" for path in paths]  # noqa: PTH100 (links are kept)
    is_known = scheme[1].lower() in _OF_HADOOP and not is_connect(spark)
    if not is_known or (scheme[1].lower().startswith("s3") and any(map(os.environ.get, _ENDPOINTS))):
        return []
    return list(paths) if hadoop_file_exists(spark, paths[0]) else []


def _plain_rows(spark: SparkSession, paths: Sequence[str], files: _mortice.PlainFiles, schema: pa.Schema) -> DataFrame:
    columns = pa.schema(files.columns())
    rows = spark.read.schema(spark_schema(columns)).options(**_OPTIONS).parquet(*paths)
    # Spark Connect looks for the files when it is asked for the schema.
    _ = rows.schema
    if files.unbounded:
        rows = rows.select([_unpruned(field, files.unbounded) for field in columns])
    if files.condition is not None:
        rows = rows.where(files.condition)
    return rows if columns.names == schema.names else rows.select([_quoted(name) for name in schema.names])


def _unpruned(field: pa.Field, unbounded: Sequence[str]) -> Column:
    """Returns a column. Spark does not compare with the bounds of row groups what is the result of a function."""
    from pyspark.sql import functions as F  # noqa: N812

    column = F.col(_quoted(field.name))
    if field.name not in unbounded:
        return column
    kind = "float" if field.type == pa.float32() else "double"
    return F.nanvl(column, F.lit(float("nan")).cast(kind)).alias(field.name)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
