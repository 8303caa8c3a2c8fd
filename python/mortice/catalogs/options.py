"""The options of Hudi's sync tools that are followed (`HoodieSyncConfig`, `HiveSyncConfig`)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.values.argument_types import Options
from mortice.values.caller import caller_level

_PREFIX = "hoodie.datasource.hive_sync."
_ENABLED = ("hoodie.datasource.hive_sync.enable", "hoodie.datasource.meta.sync.enable")
_TOOLS = "hoodie.meta.sync.client.tool.class"
_HIVE_TOOL = "org.apache.hudi.hive.HiveSyncTool"
_GLUE_TOOL = "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool"
_SNAPSHOT = "hoodie.meta.sync.sync_snapshot_with_table_name"
_DECODE = "hoodie.meta.sync.decode_partition"
_FOLLOWED = {
    *_ENABLED,
    *(_PREFIX + name for name in ("auto_create_database", "create_managed_table", "database", "ignore_exceptions")),
    *(_PREFIX + name for name in ("metastore.uris", "mode", "omit_metadata_fields", "partition_extractor_class")),
    *(_PREFIX + name for name in ("partition_fields", "schema_string_length_thresh", "serde_properties")),
    *(_PREFIX + name for name in ("skip_ro_suffix", "support_timestamp", "sync_as_datasource")),
    *(_PREFIX + name for name in ("table", "table.strategy", "table_properties")),
    *(_TOOLS, _SNAPSHOT, _DECODE),
}
_WITHOUT_EFFECT = {
    *(_PREFIX + name for name in ("batch_num", "bucket_sync_spec", "jdbcurl", "password", "use_jdbc", "username")),
    *(_PREFIX + name for name in ("filter_pushdown_enabled", "filter_pushdown_max_size", "recreate_table_on_error")),
    "hoodie.datasource.meta_sync.condition.sync",
    "hoodie.meta.sync.incremental",
    "hoodie.meta.sync.metadata_file_listing",
    "hoodie.meta.sync.no_partition_metadata",
    "hoodie.meta_sync.spark.version",
}
"""How Hudi's tool reaches a server or finds partitions; the entries are the same."""
_OF_A_HIVE_SERVER = tuple(_PREFIX + name for name in ("jdbcurl", "username", "password", "use_jdbc"))
_DEFAULT_ONLY = {
    _PREFIX + "base_file_format": "PARQUET",
    _PREFIX + "bucket_sync": "false",
    _PREFIX + "sync_comment": "false",
    _PREFIX + "use_spark_catalog": "false",
    "hoodie.meta.sync.touch.partitions.enabled": "false",
}
"""What only the default of is supported."""
_LONGEST_SCHEMA = 4000

Extractor = str
"""The simple name of one of Hudi's classes that make partition values of a partition path."""
EXTRACTORS = (
    "MultiPartKeysValueExtractor",
    "SinglePartPartitionValueExtractor",
    "HiveStylePartitionValueExtractor",
    "NonPartitionedExtractor",
    "SlashEncodedDayPartitionValueExtractor",
    "SlashEncodedHourPartitionValueExtractor",
)


@dataclass(frozen=True)
class SyncOptions:
    """What a sync does, resolved."""

    catalog: str = "hms"
    """`hms` or `glue`."""
    metastore_uris: tuple[str, ...] = ()
    """Addresses of the metastore, `thrift://host:port`; the first that answers is used."""
    database: str = "default"
    table: str | None = None
    """The table's name in the catalog; None: the name in its properties."""
    creates_database: bool = True
    read_optimized_has_suffix: bool = True
    """False registers the read-optimized table by the plain name, in place of the snapshot."""
    snapshot_by_plain_name: bool = True
    """False registers the merged table with the suffix `_rt` only."""
    tables: str = "ALL"
    """Of a merge-on-read table: `ALL`, `RO` or `RT`."""
    partition_fields: tuple[str, ...] | None = None
    extractor: Extractor | None = None
    decodes_partitions: bool | None = None
    timestamps: bool = False
    """True registers timestamps as `timestamp`; False, Hudi's default, as `bigint`."""
    meta_columns: bool = True
    spark_properties: bool = True
    """Whether Spark finds the schema in the table's properties."""
    longest_schema: int = _LONGEST_SCHEMA
    ignores_errors: bool = False
    managed: bool = False
    table_properties: Mapping[str, str] = field(default_factory=dict)
    serde_properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> SyncOptions:
        """Returns the options of a sync by Hudi's names. Raises `InvalidArgumentError`, `UnsupportedError`."""
        given = {name: value.strip() for name, value in options.items()}
        _check_names(given)
        _warn_of_unused(given)

        def text(name: str) -> str | None:
            return given.get(_PREFIX + name) or None

        def flag(name: str, default: bool) -> bool:
            return _flag(_PREFIX + name, given.get(_PREFIX + name), default)

        catalog = _catalog(given)
        uris = tuple(uri.strip() for uri in (text("metastore.uris") or "").split(",") if uri.strip())
        if catalog == "hms" and not uris:
            raise InvalidArgumentError(
                f"a sync needs the address of the metastore: set {_PREFIX}metastore.uris=thrift://HOST:9083"
            )
        fields = text("partition_fields")
        decode = given.get(_DECODE)
        return cls(
            catalog=catalog,
            metastore_uris=uris,
            database=text("database") or "default",
            table=text("table"),
            creates_database=flag("auto_create_database", True),
            read_optimized_has_suffix=not flag("skip_ro_suffix", False),
            snapshot_by_plain_name=_flag(_SNAPSHOT, given.get(_SNAPSHOT), True),
            tables=_which_tables(text("table.strategy")),
            partition_fields=None if fields is None else tuple(name.strip() for name in fields.split(",")),
            extractor=_extractor(text("partition_extractor_class")),
            decodes_partitions=None if decode is None else _flag(_DECODE, decode, False),
            timestamps=flag("support_timestamp", False),
            meta_columns=not flag("omit_metadata_fields", False),
            spark_properties=flag("sync_as_datasource", True),
            longest_schema=_count(_PREFIX + "schema_string_length_thresh", text("schema_string_length_thresh")),
            ignores_errors=flag("ignore_exceptions", False),
            managed=flag("create_managed_table", False),
            table_properties=_pairs(_PREFIX + "table_properties", text("table_properties")),
            serde_properties=_pairs(_PREFIX + "serde_properties", text("serde_properties")),
        )


def asked_for(options: Mapping[str, object] | None) -> SyncOptions | None:
    """Returns the options of the sync that those of a write ask for, checked; None if they ask for none.

    Raises `InvalidArgumentError`, `UnsupportedError`.
    """
    own = {name: str(value) for name, value in (options or {}).items() if _is_of_sync(name)}
    if not any(_flag(name, own.get(name), False) for name in _ENABLED):
        return None
    return SyncOptions.from_options(own)


def without_sync(options: Options | None) -> Options | None:
    """Returns the options of a write without those of the sync that they ask for: the core does not know catalogs."""
    if not isinstance(options, Mapping) or asked_for(options) is None:
        return options
    return {name: value for name, value in options.items() if not _is_of_sync(name)}


def _is_of_sync(name: object) -> bool:
    """Returns whether an option belongs to a sync, misspelt ones included."""
    return _is_known(name) or (isinstance(name, str) and name.startswith((_PREFIX, "hoodie.meta.sync.")))


def _is_known(name: object) -> bool:
    return name in _FOLLOWED or name in _WITHOUT_EFFECT or name in _DEFAULT_ONLY


def _check_names(given: Mapping[str, str]) -> None:
    for name, value in given.items():
        if not _is_known(name):
            near = get_close_matches(name, sorted(_FOLLOWED), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidArgumentError(f"unknown option {name!r} of a sync{hint}")
        default = _DEFAULT_ONLY.get(name)
        if default is not None and value.upper() != default.upper():
            raise UnsupportedError(f"{name}={value} is not supported by the sync of mortice, only {default}")


def _warn_of_unused(given: Mapping[str, str]) -> None:
    """Warns of options of a connection that the sync does not make; `mode=hms` and `glue` make none in Hudi, either."""
    unused = [name for name in _OF_A_HIVE_SERVER if given.get(name, "").lower() not in ("", "false")]
    if unused and not given.get(_PREFIX + "mode"):
        warnings.warn(
            f"{', '.join(unused)} has no effect: the sync speaks to the metastore itself, at {_PREFIX}metastore.uris",
            UserWarning,
            stacklevel=caller_level(),
        )


def _catalog(given: Mapping[str, str]) -> str:
    tools = [name.strip() for name in given.get(_TOOLS, _HIVE_TOOL).split(",") if name.strip()]
    mode = given.get(_PREFIX + "mode", "").lower()
    if tools == [_GLUE_TOOL] or mode == "glue":
        return "glue"
    if tools != [_HIVE_TOOL]:
        raise UnsupportedError(f"{_TOOLS}={','.join(tools)} is not supported; use {_HIVE_TOOL} or {_GLUE_TOOL}")
    if mode not in ("", "hms"):
        raise UnsupportedError(
            f"{_PREFIX}mode={mode} needs a Hive server; set {_PREFIX}mode=hms, which speaks to the metastore itself"
        )
    return "hms"


def _which_tables(given: str | None) -> str:
    name = (given or "ALL").upper()
    if name not in ("ALL", "RO", "RT"):
        raise InvalidArgumentError(f"{_PREFIX}table.strategy must be ALL, RO or RT, got {given!r}")
    return name


def _extractor(given: str | None) -> Extractor | None:
    if given is None:
        return None
    name = given.rsplit(".", 1)[-1]
    if name not in EXTRACTORS:
        raise UnsupportedError(
            f"{_PREFIX}partition_extractor_class={given} is not supported; use one of {', '.join(EXTRACTORS)}"
        )
    return name


def _flag(name: str, value: str | None, default: bool) -> bool:
    if value is None or not value.strip():
        return default
    lower = value.strip().lower()
    if lower not in ("true", "false"):
        raise InvalidArgumentError(f"{name} must be true or false, got {value!r}")
    return lower == "true"


def _count(name: str, value: str | None) -> int:
    if value is None:
        return _LONGEST_SCHEMA
    if not value.isdigit() or int(value) == 0:
        raise InvalidArgumentError(f"{name} must be a positive number, got {value!r}")
    return int(value)


def _pairs(name: str, value: str | None) -> dict[str, str]:
    """Returns the properties of a text with a line `KEY=VALUE` for each."""
    pairs = {}
    for line in (value or "").splitlines():
        if line.strip():
            key, equals, rest = line.partition("=")
            if not equals:
                raise InvalidArgumentError(f"{name} must have lines KEY=VALUE, got {line!r}")
            pairs[key.strip()] = rest.strip()
    return pairs
