"""CALL: table services, by the names and arguments of Hudi's procedures. Those that read rows run as tasks of Spark."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mortice import _mortice
from mortice.errors import InvalidArgumentError
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.spark_errors import parsed_query
from mortice.spark.statements.statement_text import StatementText
from mortice.spark.statements.targets import named_table
from mortice.spark.writing.services import build_metadata, cluster, compact, log_compact, verify
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_Arguments = dict[str, object]
_KINDS = {bool: "boolean", int: "bigint"}
"""The types of results whose columns are those of Hudi; others are strings."""


@dataclasses.dataclass(frozen=True)
class _Called:
    """What a procedure is called for."""

    spark: SparkSession
    target: WriteTarget
    options: Mapping[str, object]
    """Options of the service and of the storage, as they were given."""
    given: _Arguments
    """The other arguments, all of which the procedure has."""

    def table(self) -> Table:
        """Returns the table, for a service that runs in the driver."""
        return Table(self.target.uri, storage_options=self.target.storage_options(self.spark))

    def named(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Returns the arguments of these names, by their new names."""
        return {names[name]: value for name, value in self.given.items() if name in names}

    def first(self, names: Collection[str]) -> Any:
        """Returns the first argument of these names that is set; None if none is."""
        return next((self.given[name] for name in names if self.given.get(name)), None)


_Run = Callable[[_Called], object]


@dataclasses.dataclass(frozen=True)
class _Procedure:
    """A procedure, and the arguments that it has besides the table and options."""

    run: _Run
    arguments: Collection[str] = ()
    order: Sequence[str] = ("table", "path", "options")
    """The arguments as they are without names, in Hudi's order. Not all of Hudi's are in `arguments`."""


def _scheduled(service: Callable[..., Any]) -> _Run:
    """Returns the procedure of a service with the argument `op`: schedule, execute, or both."""

    def run(called: _Called) -> object:
        op = called.first(_OP) or "scheduleandexecute"
        kinds = {"execute": (False, True), "schedule": (True, False), "run": (True, True)}
        schedule, runs = kinds.get(str(op).lower(), (True, True))
        if str(op).lower() not in (*kinds, "scheduleandexecute"):
            raise InvalidArgumentError(f"op must be run, execute, schedule or scheduleAndExecute, got {op!r}")
        options = {**called.options, **called.named(_SORT)}
        return service(called.spark, called.target.uri, options, schedule=schedule, run=runs)

    return run


def _build_metadata(called: _Called) -> object:
    return build_metadata(called.spark, called.target.uri, called.options)


def _verify(called: _Called) -> object:
    asked = {"contents": True, "keys": False, **called.named({name: name for name in _LEVELS})}
    storage = {name: value for name, value in called.options.items() if is_of_storage(name)}
    return verify(called.spark, called.target.uri, storage, **asked)


def _with_options(method: str, arguments: Mapping[str, str] | None = None) -> _Run:
    """Returns the procedure of a method that takes options, some of which are arguments of the procedure."""

    def run(called: _Called) -> object:
        return getattr(called.table(), method)({**called.target.options, **called.named(arguments or {})})

    return run


def _of_instant(method: str) -> _Run:
    def run(called: _Called) -> object:
        return getattr(called.table(), method)(_instant(called), options=called.target.options)

    return run


def _instant(called: _Called) -> str:
    instant = called.first(_INSTANT)
    if instant is None:
        raise InvalidArgumentError("the argument instant_time is missing")
    return str(instant)


def _rollback_to_instant(called: _Called) -> object:
    """Undoes one instant, as the procedure of Hudi does despite its name."""
    called.table().rollback(_instant(called), options=called.target.options)
    return [{"rollback_result": True}]


def _restore_to_instant(called: _Called) -> object:
    begin = time.monotonic()
    done = called.table().restore(_instant(called), options=called.target.options)
    return [
        {
            "restore_result": True,
            "start_restore_time": done.restore_instant,
            "time_taken_in_millis": round((time.monotonic() - begin) * 1000),
            "instants_rolled_back": len(done.undone),
        }
    ]


def _to_version(method: str) -> _Run:
    """Returns the procedure that changes the table version: a number, or Hudi's name of it."""

    def run(called: _Called) -> object:
        given = str(called.given.get("to_version", "")).upper()
        version = _VERSIONS.get(given, given)
        if not version.isdigit():
            raise InvalidArgumentError(f"to_version must be one of {', '.join(_VERSIONS)}, got {given!r}")
        getattr(called.table(), method)(int(version), options=called.target.options)
        return [{"result": True}]

    return run


def _create_savepoint(called: _Called) -> object:
    instant = called.first(_INSTANT)
    named = called.named(_SAVEPOINT)
    called.table().savepoint(None if instant is None else str(instant), options=called.target.options, **named)
    return [{"create_savepoint_result": True}]


def _of_savepoint(method: str, title: str) -> _Run:
    """Returns the procedure of a method for a savepoint, by default the latest one."""

    def run(called: _Called) -> object:
        table, given = called.table(), called.first(_INSTANT)
        found = [one.requested_time for one in table.timeline.active if one.is_completed and one.action == "savepoint"]
        if not found:
            raise InvalidArgumentError("the table has no savepoint", path=table.uri)
        instant = max(found) if given is None else str(given)
        if instant not in found:
            raise InvalidArgumentError(
                f"there is no savepoint of {instant}; those of the table are {', '.join(sorted(found))}", path=table.uri
            )
        getattr(table, method)(instant, options=called.target.options)
        return [{title: True}]

    return run


def _commits(called: _Called) -> object:
    limit = int(str(called.given.get("limit", 10)))
    return [
        dataclasses.asdict(one) if dataclasses.is_dataclass(one) else {"instant": str(one)}
        for one in list(reversed(list(called.table().timeline)))[:limit]
    ]


def _properties(called: _Called) -> object:
    return [{"key": name, "value": value} for name, value in sorted(called.table().properties.items())]


_OP = ("op", "operation")
_VERSIONS = {"SIX": "6", "EIGHT": "8", "NINE": "9", "TEN": "10"}
_INSTANT = ("instant_time", "commit_time", "instant")
_SAVEPOINT = {"user": "user", "comments": "comment"}
_LEVELS = ("contents", "keys", "global_keys")
_SORT = {"order": "hoodie.clustering.plan.strategy.sort.columns", "order_strategy": "hoodie.layout.optimize.strategy"}
_CLEAN = {
    "retain_commits": "hoodie.clean.commits.retained",
    "hours_retained": "hoodie.clean.hours.retained",
    "file_versions_retained": "hoodie.clean.fileversions.retained",
    "clean_policy": "hoodie.clean.policy",
    "trigger_strategy": "hoodie.clean.trigger.strategy",
    "trigger_max_commits": "hoodie.clean.trigger.max.commits",
}
_ARCHIVE = {"min_commits": "hoodie.keep.min.commits", "max_commits": "hoodie.keep.max.commits"}
_OF_COMPACTION = ("op", "table", "path", "timestamp", "options", "instants", "limit")
_OF_CLUSTERING = ("table", "path", "predicate", "order", "show_involved_partition", "op", "order_strategy", "options")
_OF_SAVEPOINT = ("table", "instant_time", "path")


_PROCEDURES: dict[str, _Procedure] = {
    "run_compaction": _Procedure(_scheduled(compact), _OP, _OF_COMPACTION),
    "run_log_compaction": _Procedure(_scheduled(log_compact), _OP, _OF_COMPACTION),
    "run_clustering": _Procedure(_scheduled(cluster), (*_OP, *_SORT), _OF_CLUSTERING),
    "run_clean": _Procedure(
        _with_options("clean", _CLEAN),
        _CLEAN,
        (
            *("table", "skip_locking", "schedule_in_line", "clean_policy", "retain_commits", "hours_retained"),
            *("file_versions_retained", "trigger_strategy", "trigger_max_commits", "options"),
        ),
    ),
    "archive_commits": _Procedure(
        _with_options("archive", _ARCHIVE),
        _ARCHIVE,
        ("table", "path", "min_commits", "max_commits", "retain_commits", "enable_metadata"),
    ),
    "create_savepoint": _Procedure(
        _create_savepoint, (*_INSTANT, *_SAVEPOINT), ("table", "commit_time", "user", "comments", "path")
    ),
    "delete_savepoint": _Procedure(
        _of_savepoint("delete_savepoint", "delete_savepoint_result"), _INSTANT, _OF_SAVEPOINT
    ),
    "rollback_to_savepoint": _Procedure(_of_savepoint("restore", "rollback_savepoint_result"), _INSTANT, _OF_SAVEPOINT),
    "rollback_to_instant": _Procedure(_rollback_to_instant, _INSTANT, ("table", "instant_time")),
    "restore_to_instant": _Procedure(_restore_to_instant, _INSTANT, ("table", "instant_time")),
    "run_rollback": _Procedure(_of_instant("rollback"), _INSTANT, _OF_SAVEPOINT),
    "upgrade_table": _Procedure(_to_version("upgrade"), ("to_version",), ("table", "to_version")),
    "downgrade_table": _Procedure(_to_version("downgrade"), ("to_version",), ("table", "to_version")),
    "create_metadata_table": _Procedure(_build_metadata),
    "init_metadata_table": _Procedure(_build_metadata, order=("table", "read_only")),
    "delete_metadata_table": _Procedure(_with_options("delete_metadata")),
    "run_verify": _Procedure(_verify, _LEVELS),
    "run_repair": _Procedure(_with_options("repair")),
    "show_timeline": _Procedure(_commits, ("limit",), ("table", "path", "limit")),
    "show_commits": _Procedure(_commits, ("limit",), ("table", "limit")),
    "show_table_properties": _Procedure(_properties, order=("table", "path")),
}


def call(spark: SparkSession, statement: StatementText) -> DataFrame | None:
    """Runs `CALL name(argument => value, …)`; None if it is not a procedure of a table of mortice."""
    parsed = statement.parsed
    if parsed.kind == "help":
        return spark.createDataFrame([(name,) for name in sorted(_PROCEDURES)], "procedure string")
    place = parsed.names[0]
    if (procedure := _PROCEDURES.get(place.parts[-1].lower())) is None:
        if parsed.names_table:
            error = statement.error("there is no such procedure", place.at)
            raise InvalidArgumentError(f"{error.args[0]}\nthe procedures are {', '.join(sorted(_PROCEDURES))}")
        return None
    given = _arguments(spark, statement, procedure.order)
    name, path = given.pop("table", None), given.pop("path", None)
    table = named_table(spark, _mortice.table_name(str(name))) if name else None
    if path is None and table is None:
        raise statement.error(
            f"the catalog has no table {name!r} of mortice; name it, or give its path (path => '…')", parsed.end
        )
    uri = str(path) if path is not None or table is None else table.path
    options = (table.write_options() if table is not None else {}) | _options(given.pop("options", None))
    if unknown := [name for name in given if name not in procedure.arguments]:
        known = ", ".join(["table", "path", "options", *procedure.arguments])
        raise statement.error(
            f"the procedure has no argument {', '.join(unknown)}; its arguments are {known}", parsed.end
        )
    return _rows(spark, procedure.run(_Called(spark, WriteTarget.from_options(uri, options), options, given)))


def _arguments(spark: SparkSession, statement: StatementText, order: Sequence[str]) -> _Arguments:
    """Returns the arguments by name; those without names come first, in the order of the procedure."""
    given: _Arguments = {}
    is_ordered = True
    for argument in statement.parsed.arguments():
        name = argument.name
        is_ordered = is_ordered and name is None
        if name is None and is_ordered and len(given) < len(order):
            name = order[len(given)]
        if name is None:
            raise statement.error(
                f"name this argument (name => value); without names they are, in this order, {', '.join(order)}",
                argument.at,
            )
        if name in given:
            raise statement.error(f"the argument {name} is given twice", argument.at)
        given[name] = argument.text
        if argument.text is None:
            given[name] = parsed_query(spark, statement.sql(argument.value), "SELECT ").collect()[0][0]
    return {name: value for name, value in given.items() if value is not None}


def _options(given: object) -> dict[str, object]:
    """Returns options in Hudi's form: `a=1,b=2`."""
    pairs = [pair.partition("=") for pair in str(given).split(",")] if given else []
    return {name.strip(): value.strip() for name, _, value in pairs}


def _rows(spark: SparkSession, result: object) -> DataFrame:
    """Returns what a service did: one row for each thing, its fields as strings, lists as JSON."""
    things = result if isinstance(result, (list, tuple)) else [result]
    rows = [_fields(thing) for thing in things]
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["result"]
    kinds = {name: _KINDS[type(value)] for row in rows for name, value in row.items() if type(value) in _KINDS}
    schema = ", ".join(f"`{name}` {kinds.get(name, 'string')}" for name in names)
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], schema)


def _fields(thing: object) -> dict[str, object]:
    if isinstance(thing, dict) and all(isinstance(value, (str, bool, int)) for value in thing.values()):
        return thing
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        thing = dataclasses.asdict(thing)
    elif hasattr(thing, "to_dict"):
        thing = thing.to_dict()
    if not isinstance(thing, Mapping):
        return {"result": None if thing is None else str(thing)}
    return {str(name): _text(value) for name, value in thing.items()}


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str)
