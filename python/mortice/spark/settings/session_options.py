"""Reads Hudi's options from the configuration of a Spark session: `SET hoodie.datasource.query.type=...`.

Hudi's own source reads them (measured on 1.2.0: the query and merge type, merge modes, delete markers), as `hoodie.x`
or as `spark.hoodie.x`; options of the query take precedence. A Python data source is planned in a separate process
without a session, so `format("mortice")` cannot read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mortice.spark.execution.private import configured
from mortice.spark.settings.option_names import AS_OF, REFUSED, SPARK_PREFIX, STREAMING, TAKEN, Decision, decision
from mortice.spark.settings.options import by_one_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["session_index", "session_options"]

_OF_HUDI = "hoodie."
_OF_INDEX = (
    *("hoodie.index.type", "hoodie.index.class", "hoodie.index.bucket.engine"),
    *("hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field"),
    *(f"hoodie.{kind}.index.update.partition.path" for kind in ("bloom", "record", "simple")),
)
"""The options of writes that say how keys are found."""


def session_options(spark: SparkSession) -> dict[str, Any]:
    """Returns the options that are accepted or rejected, by lower-case name. Others, mostly of writers, are ignored."""
    found = {
        name: value
        for name, value in _configured(spark, (TAKEN | REFUSED) - {AS_OF}).items()
        if name.removeprefix(SPARK_PREFIX).startswith(_OF_HUDI)
    }
    read = (Decision.TAKEN, Decision.REFUSED)
    return {
        name: value for name, value in by_one_name(found).items() if decision(name) in read and name not in STREAMING
    }


def session_index(spark: SparkSession) -> dict[str, Any]:
    """Returns the options that say by which index statements find keys, by lower-case name."""
    found = _configured(spark, _OF_INDEX).items()
    return by_one_name({name: value for name, value in found if name.removeprefix(SPARK_PREFIX) in _OF_INDEX})


def _configured(spark: SparkSession, names: Iterable[str]) -> dict[str, str]:
    # `conf.getAll` of classic Spark 4 calls the JVM once for each name.
    found = configured(spark)
    if found is not None:
        return found
    if hasattr(spark.conf, "getAll"):
        return {str(name): str(value) for name, value in dict(spark.conf.getAll).items()}
    # Spark 3.5 has no `conf.getAll`.
    both = [f"{prefix}{name}" for name in names for prefix in ("", SPARK_PREFIX)]
    asked = {name: spark.conf.get(name, None) for name in both if _OF_HUDI in name}
    return {name: str(value) for name, value in asked.items() if value is not None}
