"""Options of Hudi that stand in the configuration of a Spark session: `SET hoodie.datasource.query.type=…`.

Hudi's own source takes them (measured on 1.2.0: the query and merge type, merge modes, delete markers), as
`hoodie.x` or as `spark.hoodie.x`; options of the read win. A Python data source is planned in a process of its own that
has no session, so `format("mortice")` cannot see them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mortice.spark.option_names import AS_OF, REFUSED, SPARK_PREFIX, STREAMING, TAKEN, Decision, decision
from mortice.spark.options import by_one_name
from mortice.spark.private import configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["session_options"]

_OF_HUDI = "hoodie."


def session_options(spark: SparkSession) -> dict[str, Any]:
    """Those that are taken or refused, by lower-case name. Others, of writers for the most part, are not spoken of."""
    found = {
        name: value
        for name, value in _configured(spark).items()
        if name.removeprefix(SPARK_PREFIX).startswith(_OF_HUDI)
    }
    read = (Decision.TAKEN, Decision.REFUSED)
    return {
        name: value for name, value in by_one_name(found).items() if decision(name) in read and name not in STREAMING
    }


def _configured(spark: SparkSession) -> dict[str, str]:
    # `conf.getAll` of classic Spark 4 calls the JVM for each name.
    found = configured(spark)
    if found is not None:
        return found
    if hasattr(spark.conf, "getAll"):
        return {str(name): str(value) for name, value in dict(spark.conf.getAll).items()}
    # Each by its name.
    names = [f"{prefix}{name}" for name in (TAKEN | REFUSED) - {AS_OF} for prefix in ("", SPARK_PREFIX)]
    asked = {name: spark.conf.get(name, None) for name in names if _OF_HUDI in name}
    return {name: str(value) for name, value in asked.items() if value is not None}
