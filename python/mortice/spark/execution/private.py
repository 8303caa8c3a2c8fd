"""Shortcuts through private PySpark APIs. Each returns `None` if the installed Spark lacks it; callers use the public
one. `session_key` uses it itself.
"""

# ruff: noqa: SLF001

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_MOST_SECONDS = 10.0
_silent: set[tuple[str, str]] = set()
"""Sessions and stores whose file systems have not answered in time."""
_BETWEEN = "\x1e"
"""The record separator of ASCII, which no setting contains."""


def rows_of(spark: Any, rows: Any, schema: StructType) -> DataFrame | None:
    """Returns an RDD of tuples as a DataFrame whose rows the JVM unpickles.

    `createDataFrame` passes the rows through Python workers first: a quarter of the CPU time of a small query.
    """
    from pyspark.sql import DataFrame

    try:
        serde = spark.sparkContext._jvm.SerDeUtil
        unpickled = serde.toJavaArray(serde.pythonToJava(rows._jrdd, True))
        return DataFrame(spark._jsparkSession.applySchemaToPythonRDD(unpickled.rdd(), schema.json()), spark)
    except Exception:  # noqa: BLE001 — py4j raises many types; callers use the public API
        return None


def configured(spark: Any) -> dict[str, str] | None:
    """Returns all settings of a session in one call of the JVM.

    The public API needs a call for each setting, a fraction of a millisecond each. `None` on Spark Connect.
    """
    try:
        settings = str(spark._jsparkSession.conf().getAll().mkString(_BETWEEN))
    except Exception:  # noqa: BLE001
        return None
    # The string form of a Scala map.
    pairs = (pair.partition(" -> ") for pair in settings.split(_BETWEEN))
    return {name: value for name, _, value in pairs}


def hadoop_configuration(spark: Any) -> Any | None:
    """Returns a copy of the Hadoop configuration that Spark's own sources get in this session.

    It contains core-site.xml, `spark.hadoop.*`, settings of `hadoopConfiguration`, and the session's configuration.
    """
    try:
        return spark._jsparkSession.sessionState().newHadoopConf()
    except Exception:  # noqa: BLE001
        return None


def session_key(spark: Any) -> str:
    """Returns the id of the session in the JVM, which several Python sessions may share."""
    try:
        return str(spark._jsparkSession.sessionUUID())
    except Exception:  # noqa: BLE001
        # Spark Connect has it in public.
        return str(getattr(spark, "session_id", id(spark)))


def hadoop_file_exists(spark: Any, uri: str) -> bool:
    """Returns true if the session's Hadoop file systems have a file. False on Spark Connect, and if they do not answer
    in time: without a network or credentials, some retry for minutes. Their store is not asked again."""
    store = session_key(spark), uri[: uri.find("/", uri.find("://") + 3)]
    found: list[bool] = []

    def look() -> None:
        with contextlib.suppress(Exception):
            path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(uri)
            found.append(bool(path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()).exists(path)))

    if store in _silent:
        return False
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(_MOST_SECONDS)
    if looking.is_alive():
        _silent.add(store)
    return found == [True]
