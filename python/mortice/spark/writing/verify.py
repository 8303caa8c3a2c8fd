"""`mortice.spark.verify`: Spark's tasks read the record keys of a table and compare them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mortice._mortice import VerifyResult
from mortice.errors import InvalidArgumentError
from mortice.spark.settings.write_options import WriteTarget, parallelism
from mortice.spark.writing.write_stages import SparkTasks
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["verify"]


def verify(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    options: Mapping[str, Any] | None = None,
    *,
    contents: bool = False,
    keys: bool = True,
    global_keys: bool = False,
    spill_dir: str | os.PathLike[str] | None = None,
) -> VerifyResult:
    """Returns what is wrong with a table, as `Table.verify`; tasks of Spark read its record keys and compare them.

    It works on Spark 3.5 and later, also on Connect.

        for finding in mortice.spark.verify(spark, "/lake/trips").findings:
            print(finding.kind, finding.path, finding.message)

    A task reads the keys of file slices, or of file groups of the record index, and sends them to the task that
    compares them, by the hash of the key. No process holds all keys: a task that compares sorts 64 MiB of keys in
    memory and the others in files of `spill_dir`. The driver lists files and timeline. Nothing is changed. Run it while
    nobody writes.

    Args:
        spark: The session.
        uri: The table's base path, a local path or a URI.
        options: Options of the storage, as for `mortice.spark.write`.
        contents: True decodes all files, as `Table.verify`, in the driver.
        keys: True reads the record keys of all rows: finds keys of several rows of a partition, and compares the rows
            with the record index, if the table has one.
        global_keys: True does the same, and finds keys of several rows of the table.
        spill_dir: The directory of files in which tasks sort keys; None is the system's own for temporary files.

    Raises as `Table.verify`, `InvalidArgumentError` for other options.
    """
    target = WriteTarget.from_options(uri, options)
    if target.options:
        raise InvalidArgumentError(
            f"verify has options of the storage alone, got {', '.join(sorted(target.options))}; leave them out"
        )
    table = Table(target.uri, storage_options=target.storage_options(spark), spill_dir=spill_dir)
    by_tasks = table.by_tasks(SparkTasks(spark, parallelism(spark)))
    return by_tasks.verify(contents=contents, keys=keys, global_keys=global_keys)
