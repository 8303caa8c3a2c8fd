"""What a write or a table service on Spark is given: options, and how many tasks run at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mortice.errors import InvalidArgumentError
from mortice.options import checked_storage_options
from mortice.spark.data_frame import is_connect
from mortice.spark.hadoop_conf import hadoop_settings
from mortice.spark.option_names import SPARK_PREFIX, STORAGE_PREFIX, is_of_storage
from mortice.writes import checked_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["parallelism", "split_options"]


def split_options(
    spark: SparkSession, uri: str, options: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Returns options of the storage, and those of the write."""
    if options is not None and not isinstance(options, Mapping):
        raise InvalidArgumentError(f"options must be a mapping of names to values, got {type(options).__name__}")
    storage: dict[str, Any] = dict(hadoop_settings(spark, uri))
    of_write: dict[str, Any] = {}
    for given, value in (options or {}).items():
        name = str(given)
        if name.startswith(f"{SPARK_PREFIX}hoodie."):
            name = name.removeprefix(SPARK_PREFIX)
        if is_of_storage(name):
            storage[name.removeprefix(STORAGE_PREFIX)] = value
        elif of_write.setdefault(name, value) != value:
            raise InvalidArgumentError(
                f"the option {name} is given twice, with different values; leave out one of them"
            )
    return checked_storage_options(storage), checked_options(of_write)


def parallelism(spark: SparkSession) -> int:
    """Returns how many tasks run at once, as far as it is known."""
    if is_connect(spark):
        return max(1, int(str(spark.conf.get("spark.sql.shuffle.partitions", "200"))))
    return max(1, int(spark.sparkContext.defaultParallelism))
