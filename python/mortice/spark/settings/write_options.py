"""What a write or a table service on Spark is given: options, and how many tasks run at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mortice.errors import InvalidArgumentError
from mortice.spark.execution.data_frame import is_connect
from mortice.spark.settings.option_names import SPARK_PREFIX, STORAGE_PREFIX, is_of_storage
from mortice.spark.settings.session import hadoop_settings
from mortice.values.options import checked_storage_options, checked_uri
from mortice.writing.writes import checked_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER_BYTES = "mortice.write.driver.bytes"
"""The option: rows of so many bytes at most are written by the driver, 0 none."""
DEFAULT_DRIVER_BYTES = 32 << 20
"""The driver holds a few times as much."""


@dataclass(frozen=True)
class WriteTarget:
    """A table to write to or to run a service on, as arguments describe it."""

    uri: str
    """Its base path."""
    storage: Mapping[str, object]
    """Options of its storage that were given, by the names of the storage."""
    options: Mapping[str, str]
    """Options of the write."""
    driver_bytes: int = DEFAULT_DRIVER_BYTES
    """Bytes of rows up to which the driver writes them itself."""

    @staticmethod
    def from_options(uri: str | os.PathLike[str], options: Mapping[str, object] | None) -> WriteTarget:
        """Returns the target that arguments of `write` describe. Raises `InvalidArgumentError`."""
        if options is not None and not isinstance(options, Mapping):
            raise InvalidArgumentError(f"options must be a mapping of names to values, got {type(options).__name__}")
        storage: dict[str, object] = {}
        of_write: dict[str, object] = {}
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
        checked = checked_options(of_write)
        driver_bytes = _bytes(checked.pop(DRIVER_BYTES, str(DEFAULT_DRIVER_BYTES)))
        return WriteTarget(checked_uri(uri), storage, checked, driver_bytes)

    def storage_options(self, spark: SparkSession) -> dict[str, str]:
        """Returns the options of the storage: the session's settings, and those that were given."""
        return checked_storage_options({**hadoop_settings(spark, self.uri), **self.storage})


def _bytes(text: str) -> int:
    if not text.strip().isdecimal():
        raise InvalidArgumentError(f"the option {DRIVER_BYTES} must be a number of bytes, got {text!r}")
    return int(text)


def parallelism(spark: SparkSession) -> int:
    """Returns how many tasks run at once, as far as it is known."""
    if is_connect(spark):
        return max(1, int(str(spark.conf.get("spark.sql.shuffle.partitions", "200"))))
    return max(1, int(spark.sparkContext.defaultParallelism))
