"""Table services and copies of CALL, by the names and arguments of Hudi. Those that read rows run as tasks of Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mortice import _mortice
from mortice.catalog_sync import sync
from mortice.create_table import bootstrap
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.spark.reading.read import read
from mortice.spark.settings.option_names import AS_OF, BEGIN, END, QUERY_TYPE, Decision, decision, is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.target_table import own_schema
from mortice.spark.writing.services import build_metadata, cluster, compact, log_compact, verify
from mortice.spark.writing.write import write
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[bool | int | float | str | None, ...]


@dataclass(frozen=True)
class Called:
    """What a procedure is called for."""

    spark: SparkSession
    procedure: _mortice.Procedure
    target: WriteTarget
    options: Mapping[str, object]
    """Options of the service and of the storage, as they were given."""
    given: Mapping[str, Any]
    """The other arguments, all of which the procedure has."""

    def table(self) -> Table:
        """Returns the table, for a service that runs in the driver."""
        return Table(self.target.uri, storage_options=self.target.storage_options(self.spark))

    def value(self, name: str) -> Any:
        """Returns an argument, or its default; None if it is empty or there is none."""
        default = next(default for one, _, _, default in self.procedure.parameters if one == name)
        value = self.given.get(name, default)
        return None if value == "" else value

    def flag(self, name: str) -> bool:
        """Returns an argument that is true or false."""
        return str(self.value(name)).lower() == "true"

    def of_arguments(self) -> dict[str, Any]:
        """Returns the options that the given arguments stand for."""
        options = self.procedure.options
        return {options[name]: value for name, value in self.given.items() if name in options and value != ""}

    def rows(self, instants: Sequence[str], *, shows_partitions: bool = False) -> list[Row]:
        """Returns the rows of the instants that the service has run for."""
        storage = self.target.storage_options(self.spark)
        return _mortice.service_rows(self.procedure.name, self.target.uri, storage, instants, shows_partitions)


Run = Callable[[Called], object]
_OPS = {
    "execute": (False, True),
    "run": (True, True),
    "schedule": (True, False),
    "scheduleandexecute": (True, True),
}


def _run(called: Called, service: Callable[..., Any], options: Mapping[str, object]) -> Any:
    """Runs a service of plans, as `op` says: schedule, execute, or both."""
    op = str(called.value("op") or "scheduleAndExecute")
    if op.lower() not in _OPS:
        raise InvalidArgumentError(f"op must be run, execute, schedule or scheduleAndExecute, got {op!r}")
    schedule, runs = _OPS[op.lower()]
    return service(called.spark, called.target.uri, options, schedule=schedule, run=runs)


def _run_of_instants(
    called: Called, service: Callable[..., Any], actions: Collection[str], options: Mapping[str, object]
) -> Any:
    """Runs a service whose arguments may name pending instants: all of them, as the service executes what is pending.

    Raises `InvalidArgumentError` for other instants, `UnsupportedError` if some are left out.

    Args:
        called: The call.
        service: The service.
        actions: The actions of its pending instants.
        options: Its options.
    """
    asked = str(called.value("instants") or called.given.get("timestamp") or "")
    names, limit = [name for name in asked.split(",") if name], called.given.get("limit")
    if not names and limit is None:
        return _run(called, service, options)
    pending = [
        one.requested_time for one in called.table().timeline.active if one.action in actions and not one.is_completed
    ]
    if unknown := sorted(set(names) - set(pending)):
        raise InvalidArgumentError(f"{', '.join(unknown)} is not pending; pending are {', '.join(pending) or 'none'}")
    if (names and set(names) != set(pending)) or (limit is not None and int(limit) < len(pending)):
        raise UnsupportedError(f"all that is pending is executed: {', '.join(pending)}; leave out instants and limit")
    if not names:
        return _run(called, service, options)
    return service(called.spark, called.target.uri, options, schedule=False, run=True)


def _instants(done: Any) -> list[str]:
    planned = [] if done.scheduled is None else [done.scheduled]
    return list(dict.fromkeys([*planned, *(one.instant for one in done.commits)]))


def _compact(called: Called) -> list[Row]:
    return called.rows(_instants(_run_of_instants(called, compact, ("compaction",), called.options)))


def _cluster(called: Called) -> list[Row]:
    options, selected = {**called.options, **called.of_arguments()}, called.value("selected_partitions")
    if (predicate := called.value("predicate")) is not None:
        partitions = _partitions_of(called.table(), predicate)
        if not partitions:
            return []
        selected = ",".join(partitions)
    if selected is not None:
        options[_SELECTED] = selected
        options.pop(_PATTERN, None)
    done = _run_of_instants(called, cluster, ("clustering", "replacecommit"), options)
    return called.rows(_instants(done), shows_partitions=called.flag("show_involved_partition"))


def _partitions_of(table: Table, predicate: str) -> list[str]:
    """Returns the partitions whose rows a predicate selects, which names partition columns alone."""
    selected = table.count(filters=predicate)
    partitions = table.partitions(filters=predicate)
    if partitions and table.count(filters=[("_hoodie_partition_path", "in", partitions)]) != selected:
        raise InvalidArgumentError(f"the predicate {predicate!r} must select whole partitions", path=table.uri)
    return partitions


def _log_compact(called: Called) -> object:
    return _run(called, log_compact, called.options)


def _clean(called: Called) -> list[Row]:
    if not called.flag("schedule_in_line"):
        raise UnsupportedError(
            "a clean is planned and executed at once; leave out schedule_in_line", path=called.target.uri
        )
    done = called.table().clean({**called.target.options, **called.of_arguments()})
    return called.rows([one.instant for one in done.cleans if one.instant is not None])


def _archive(called: Called) -> list[Row]:
    given = {name: str(value).lower() for name, value in called.of_arguments().items()}
    called.table().archive({**called.target.options, **given})
    return [(0,)]


def _metadata_path(called: Called) -> str:
    return f"{called.target.uri.rstrip('/')}/.hoodie/metadata"


def _create_metadata(called: Called) -> list[Row]:
    if called.table().metadata_table() is not None:
        raise InvalidArgumentError("the table has a metadata table; init_metadata_table brings it up to date")
    seconds = _seconds(lambda: build_metadata(called.spark, called.target.uri, called.options))
    return [(f"Created Metadata Table in {_metadata_path(called)} (duration={seconds}secs)",)]


def _init_metadata(called: Called) -> list[Row]:
    if called.table().metadata_table() is None:
        raise InvalidArgumentError("the table has no metadata table; create_metadata_table builds it")
    if called.flag("read_only"):
        return [(f"Opened Metadata Table in {_metadata_path(called)} (duration=0.0sec)",)]
    seconds = _seconds(lambda: build_metadata(called.spark, called.target.uri, called.options))
    return [(f"Initialized Metadata Table in {_metadata_path(called)} (duration={seconds}sec)",)]


def _seconds(work: Callable[[], object]) -> float:
    begin = time.monotonic()
    work()
    return round(time.monotonic() - begin, 3)


def _rollback(called: Called) -> object:
    return called.table().rollback(str(called.value("instant_time")), options=called.target.options)


def _drop_partition(called: Called) -> list[Row]:
    called.table().delete_partitions(str(called.value("partition")).split(","), called.target.options)
    return [("Success",)]


def _truncate(called: Called) -> list[Row]:
    table, begin, partitions = called.table(), time.monotonic(), called.value("partitions")
    if partitions is not None:
        table.delete_partitions(str(partitions).split(","), called.target.options)
        return []
    rows = called.spark.createDataFrame([], own_schema(table))
    options = {name: str(value) for name, value in called.options.items()}
    write(rows, called.target.uri, "insert_overwrite_table", options=options)
    return [("SUCCESS", round((time.monotonic() - begin) * 1000))]


def _hive_sync(called: Called) -> list[Row]:
    given = {name: str(value) for name, value in called.of_arguments().items()}
    sync(called.table(), {**_of_sync(called), **given})
    return [("hive sync success.",)]


def _of_sync(called: Called) -> dict[str, str]:
    # Options of writes that the table or the session has say nothing of a sync.
    return {name: value for name, value in called.target.options.items() if _mortice.is_sync_option(name)}


def _queried(called: Called) -> DataFrame:
    """Returns the rows of the query that a copy is of."""
    kind = str(called.value("query_type"))

    # Options of writes, also those that the session sets, say nothing of a query.
    def is_of_query(name: str) -> bool:
        return decision(name) is not Decision.UNKNOWN or not _mortice.is_followed_option(name)

    options = {name: value for name, value in called.options.items() if is_of_query(name)} | {QUERY_TYPE: kind}
    if kind == "incremental":
        begin, end = called.value("begin_instance_time"), called.value("end_instance_time")
        if begin is None or end is None:
            raise InvalidArgumentError("an incremental query needs begin_instance_time and end_instance_time")
        options |= {BEGIN: begin, END: end}
    elif (as_of := called.value("as_of_instant")) is not None:
        options[AS_OF] = as_of
    return read(called.spark, called.target.uri, options=options)


def _copy_to_view(called: Called) -> list[Row]:
    word = "GlobalTempView" if called.flag("global") else "TempView"
    method = f"createOrReplace{word}" if called.flag("replace") else f"create{word}"
    getattr(_queried(called), method)(str(called.value("view_name")))
    return [(0,)]


def _copy_to_table(called: Called) -> list[Row]:
    mode, name = str(called.value("save_mode")).lower(), str(called.value("new_table"))
    if mode not in ("append", "overwrite"):
        raise InvalidArgumentError(f"save_mode must be append or overwrite, got {mode!r}")
    rows, columns = _queried(called), called.value("columns")
    if called.spark.catalog.tableExists(name):
        rows = rows.select(called.spark.table(name).columns)
    elif columns is not None:
        rows = rows.selectExpr(*str(columns).split(","))
    rows.write.mode(mode).saveAsTable(name)
    return [(0,)]


def _bootstrap(called: Called) -> list[Row]:
    ignored = [name for name in ("schema_provider_class", "props_file_path") if called.value(name) is not None]
    if ignored or called.flag("bootstrap_overwrite"):
        raise UnsupportedError(f"unsupported argument {(ignored or ['bootstrap_overwrite'])[0]}: leave it out")
    # The default of the key generator is for one partition column; the core chooses by the columns.
    values = {name: called.value(name) for name in called.procedure.options}
    values["key_generator_class"] = called.given.get("key_generator_class")
    given = {called.procedure.options[name]: str(value) for name, value in values.items() if value is not None}
    storage, source = called.target.storage_options(called.spark), str(called.value("bootstrap_path"))
    table = bootstrap(called.target.uri, source, {**called.target.options, **given}, storage_options=storage)
    if called.flag("enable_hive_sync"):
        sync(table, _of_sync(called))
    return [(0,)]


def _expire(called: Called) -> list[Row]:
    done = called.table().expire_partitions({**called.of_arguments(), **called.target.options})
    return [(one.partition,) for one in done.partitions]


def _verify(called: Called) -> object:
    levels = {name: value for name, value in called.given.items() if name in ("contents", "keys", "global_keys")}
    asked = {"contents": True, "keys": False, **levels}
    storage = {name: value for name, value in called.options.items() if is_of_storage(name)}
    return verify(called.spark, called.target.uri, storage, **asked)


def _repair(called: Called) -> object:
    return called.table().repair(called.target.options)


_SELECTED = "hoodie.clustering.plan.strategy.partition.selected"
_PATTERN = "hoodie.clustering.plan.strategy.partition.regex.pattern"

SERVICES: dict[str, Run] = {
    "archive_commits": _archive,
    "copy_to_table": _copy_to_table,
    "copy_to_temp_view": _copy_to_view,
    "create_metadata_table": _create_metadata,
    "drop_partition": _drop_partition,
    "hive_sync": _hive_sync,
    "init_metadata_table": _init_metadata,
    "run_bootstrap": _bootstrap,
    "run_clean": _clean,
    "run_clustering": _cluster,
    "run_compaction": _compact,
    "run_log_compaction": _log_compact,
    "run_repair": _repair,
    "run_rollback": _rollback,
    "run_ttl": _expire,
    "run_verify": _verify,
    "truncate_table": _truncate,
}
"""What the procedures of the kind `service` run. They return rows, or a result whose fields are the columns."""
