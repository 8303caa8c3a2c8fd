"""The settings of a Spark session that apply to tables: Hadoop's, of their storage, and options of Hudi.

Hadoop's (`fs.s3a.*`, `fs.azure.*`, `fs.gs.*`, and those of a client of HDFS) are collected on the driver, so that
tables on an object store need no options. In classic Spark they are those of the configuration that Spark's own sources
get (core-site.xml, `spark.hadoop.*`, `hadoopConfiguration`, the session), on Spark Connect those of the session's
configuration. `storage/options/hadoop_options.rs` interprets them.

Hudi's options (`SET hoodie.datasource.query.type=...`) are read by its own source, too (measured on 1.2.0: the query
and merge type, merge modes, delete markers), as `hoodie.x` or as `spark.hoodie.x`; options of the query take
precedence. A Python data source is planned in a separate process without a session, so `format("mortice")` cannot read
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mortice import _mortice
from mortice.errors import InvalidArgumentError
from mortice.spark.execution.data_frame import is_connect
from mortice.spark.execution.private import configured, hadoop_configuration
from mortice.spark.settings.option_names import AS_OF, REFUSED, SPARK_PREFIX, STREAMING, TAKEN, Decision, decision
from mortice.spark.settings.options import by_one_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_S3A = "fs.s3a."
_HDFS = (
    *("dfs.client.", "dfs.data.transfer.protection", "dfs.ha.namenodes.", "dfs.namenode.rpc-address."),
    *("dfs.user.home.dir.prefix", "fs.defaultFS", "fs.viewfs.mounttable.", "hadoop.security.authentication"),
)
"""As `SETTINGS` in storage/options/hdfs_options.rs."""
_PREFIXES = {
    **dict.fromkeys(("s3", "s3a", "s3n"), (_S3A,)),
    **dict.fromkeys(("abfs", "abfss", "az", "azure", "adl", "wasb", "wasbs"), ("fs.azure.",)),
    **dict.fromkeys(("gs", "gcs"), ("fs.gs.", "google.cloud.auth.")),
    **dict.fromkeys(("hdfs", "viewfs"), _HDFS),
}
"""The prefixes of settings by the scheme of a URI."""
_SPARK_HADOOP = "spark.hadoop."
_KEYSTORE = "hadoop.security.credential.provider.path"
_S3A_KEYSTORE = "security.credential.provider.path"
_S3A_KEYS = ("access.key", "secret.key", "session.token")


def hadoop_settings(spark: SparkSession, uri: str) -> dict[str, str]:
    """Returns the session's settings that apply to the table at `uri`; none for a local path.

    Raises `InvalidArgumentError` for what is no session.
    """
    if not hasattr(spark, "conf"):
        raise InvalidArgumentError(
            f"spark must be a SparkSession, got {spark!r}; SparkSession.getActiveSession() is the current one"
        )
    scheme, separator, rest = uri.partition("://")
    prefixes = _PREFIXES.get(scheme.lower(), ()) if separator else ()
    return _collected(spark, prefixes, rest.partition("/")[0]) if prefixes else {}


def all_hadoop_settings(spark: SparkSession) -> dict[str, str]:
    """Returns the session's settings of all object stores, for a source whose tables are not known yet."""
    return _collected(spark, sorted({prefix for prefixes in _PREFIXES.values() for prefix in prefixes}), None)


def settings_of_store(settings: Mapping[str, str], uri: str | None) -> dict[str, str]:
    """Returns those of `settings` that apply to the store of `uri`."""
    scheme, separator, _ = (uri or "").partition("://")
    prefixes = _PREFIXES.get(scheme.lower(), ()) if separator else ()
    return {name: value for name, value in settings.items() if prefixes and name.startswith((*prefixes, _KEYSTORE))}


def _collected(spark: SparkSession, prefixes: Iterable[str], bucket: str | None) -> dict[str, str]:
    if is_connect(spark):
        return _shown(spark, prefixes)
    configuration = hadoop_configuration(spark)
    if configuration is None:
        return _shown(spark, prefixes)
    return _of_configuration(spark, configuration, prefixes, bucket)


def _of_configuration(spark: Any, configuration: Any, prefixes: Iterable[str], bucket: str | None) -> dict[str, str]:
    """Returns the settings that differ from Hadoop's defaults, which the user has not chosen."""
    defaults = spark.sparkContext._jvm.org.apache.hadoop.conf.Configuration(False)  # noqa: SLF001
    for resource in ("core-default.xml", "hdfs-default.xml"):
        defaults.addResource(resource)
    found: dict[str, str] = {}
    for prefix in prefixes:
        settings = configuration.getPropsWithPrefix(prefix)
        settings.entrySet().removeAll(defaults.getPropsWithPrefix(prefix).entrySet())
        found |= {f"{prefix}{name}": str(value) for name, value in dict(settings).items()}
    keystore = configuration.get(_KEYSTORE)
    if keystore:
        found[_KEYSTORE] = str(keystore)
    if bucket is not None and _S3A in prefixes:
        found |= _keys_of_keystore(configuration, found, bucket)
    return {name: value for name, value in found.items() if value.strip()}


def _keys_of_keystore(configuration: Any, found: dict[str, str], bucket: str) -> dict[str, str]:
    """Returns the S3 keys of a keystore, which only Hadoop can open. Its path is then no longer needed."""
    paths = [name for name in (f"{_S3A}bucket.{bucket}.{_S3A_KEYSTORE}", f"{_S3A}{_S3A_KEYSTORE}") if name in found]
    paths += [_KEYSTORE] if _KEYSTORE in found else []
    if not paths:
        return {}
    # The bucket's keystores come first, as in S3AUtils.patchSecurityCredentialProviders.
    configuration.set(_KEYSTORE, ",".join(found[name] for name in paths))
    keys: dict[str, str] = dict.fromkeys(paths, "")
    for key in _S3A_KEYS:
        for name in (f"{_S3A}{key}", f"{_S3A}bucket.{bucket}.{key}"):
            letters = configuration.getPassword(name)
            if letters is not None:
                keys[name] = "".join(map(str, letters))
    return keys


def _shown(spark: SparkSession, prefixes: Iterable[str]) -> dict[str, str]:
    """Returns settings of the session's configuration: `fs.s3a.x` takes precedence over `spark.hadoop.fs.s3a.x`."""
    if not hasattr(spark.conf, "getAll"):
        return {}
    wanted = (*prefixes, _KEYSTORE)
    shown = {str(name): str(value) for name, value in dict(spark.conf.getAll).items()}
    found = {
        name.removeprefix(_SPARK_HADOOP): value
        for name, value in shown.items()
        if name.startswith(_SPARK_HADOOP) and name.removeprefix(_SPARK_HADOOP).startswith(wanted)
    }
    found |= {name: value for name, value in shown.items() if name.startswith(wanted)}
    return {name: value for name, value in found.items() if value.strip()}


_OF_HUDI = "hoodie."
_OF_INDEX = (
    *("hoodie.index.type", "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field"),
    *(f"hoodie.{kind}.index.update.partition.path" for kind in ("bloom", "record", "simple")),
)
"""Options of writes that are asked for where a session cannot list its settings (Spark Connect 3.5)."""


def session_options(spark: SparkSession) -> dict[str, str]:
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


def session_writes(spark: SparkSession) -> dict[str, str]:
    """Returns the options that the session sets for all writes of its statements, by lower-case name.

    They are those that writes follow, as with Hudi (`ProvidesHoodieConfig`); others have no effect.
    """
    settings = _configured(spark, _OF_INDEX).items()
    found = by_one_name(
        {name: value for name, value in settings if name.removeprefix(SPARK_PREFIX).startswith(_OF_HUDI)}
    )
    of_inserts = {*_mortice.INSERT_OPTIONS, *_mortice.INSERT_SETTINGS}
    others = {name: value for name, value in found.items() if name not in of_inserts}
    return {name: value for name, value in others.items() if _mortice.is_followed_option(name)}


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
