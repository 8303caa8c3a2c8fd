"""CALL: table services, by the names and arguments of Hudi's procedures. Those that read rows run as tasks of Spark."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from mortice.errors import InvalidArgumentError
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.cursor import Cursor
from mortice.spark.statements.targets import named_table
from mortice.spark.writing.cluster import cluster
from mortice.spark.writing.compact import compact, log_compact
from mortice.spark.writing.metadata_table import build_metadata
from mortice.spark.writing.verify import verify
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["call"]

_Arguments = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class _Called:
    """What a procedure is called for."""

    spark: SparkSession
    target: WriteTarget
    options: Mapping[str, Any]
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


_Run = Callable[[_Called], Any]


@dataclasses.dataclass(frozen=True)
class _Procedure:
    """A procedure, and the arguments that it has besides the table and options."""

    run: _Run
    arguments: Collection[str] = ()


def _scheduled(service: Callable[..., Any]) -> _Run:
    """Returns the procedure of a service with the argument `op`: schedule, execute, or both."""

    def run(called: _Called) -> Any:
        op = called.first(_OP) or "scheduleandexecute"
        kinds = {"run": (False, True), "execute": (False, True), "schedule": (True, False)}
        schedule, runs = kinds.get(str(op).lower(), (True, True))
        if str(op).lower() not in (*kinds, "scheduleandexecute"):
            raise InvalidArgumentError(f"op must be run, execute, schedule or scheduleAndExecute, got {op!r}")
        return service(called.spark, called.target.uri, called.options, schedule=schedule, run=runs)

    return run


def _build_metadata(called: _Called) -> Any:
    return build_metadata(called.spark, called.target.uri, called.options)


def _verify(called: _Called) -> Any:
    asked = {"contents": True, "keys": False, **called.named({name: name for name in _LEVELS})}
    storage = {name: value for name, value in called.options.items() if is_of_storage(name)}
    return verify(called.spark, called.target.uri, storage, **asked)


def _with_options(method: str, arguments: Mapping[str, str] | None = None) -> _Run:
    """Returns the procedure of a method that takes options, some of which are arguments of the procedure."""

    def run(called: _Called) -> Any:
        return getattr(called.table(), method)({**called.target.options, **called.named(arguments or {})})

    return run


def _of_instant(method: str) -> _Run:
    def run(called: _Called) -> Any:
        instant = called.first(_INSTANT)
        if instant is None:
            raise InvalidArgumentError("the argument instant_time is missing")
        return getattr(called.table(), method)(str(instant), options=called.target.options, **called.named(_SAVEPOINT))

    return run


def _commits(called: _Called) -> Any:
    limit = int(called.given.get("limit", 10))
    return [
        dataclasses.asdict(one) if dataclasses.is_dataclass(one) else {"instant": str(one)}
        for one in list(reversed(list(called.table().timeline)))[:limit]
    ]


def _properties(called: _Called) -> Any:
    return [{"key": name, "value": value} for name, value in sorted(called.table().properties.items())]


_OP = ("op", "operation")
_INSTANT = ("instant_time", "commit_time", "instant")
_SAVEPOINT = {"user": "user", "comments": "comment"}
_LEVELS = ("contents", "keys", "global_keys")
_CLEAN = {
    "retain_commits": "hoodie.clean.commits.retained",
    "hours_retained": "hoodie.clean.hours.retained",
    "file_versions_retained": "hoodie.clean.fileversions.retained",
    "clean_policy": "hoodie.clean.policy",
}
_ARCHIVE = {"min_commits": "hoodie.keep.min.commits", "max_commits": "hoodie.keep.max.commits"}


_PROCEDURES: dict[str, _Procedure] = {
    "run_compaction": _Procedure(_scheduled(compact), _OP),
    "run_log_compaction": _Procedure(_scheduled(log_compact), _OP),
    "run_clustering": _Procedure(_scheduled(cluster), _OP),
    "run_clean": _Procedure(_with_options("clean", _CLEAN), _CLEAN),
    "archive_commits": _Procedure(_with_options("archive", _ARCHIVE), _ARCHIVE),
    "create_savepoint": _Procedure(_of_instant("savepoint"), (*_INSTANT, *_SAVEPOINT)),
    "delete_savepoint": _Procedure(_of_instant("delete_savepoint"), _INSTANT),
    "rollback_to_savepoint": _Procedure(_of_instant("restore"), _INSTANT),
    "rollback_to_instant": _Procedure(_of_instant("restore"), _INSTANT),
    "run_rollback": _Procedure(_of_instant("rollback"), _INSTANT),
    "create_metadata_table": _Procedure(_build_metadata),
    "init_metadata_table": _Procedure(_build_metadata),
    "delete_metadata_table": _Procedure(_with_options("delete_metadata")),
    "run_verify": _Procedure(_verify, _LEVELS),
    "run_repair": _Procedure(_with_options("repair")),
    "show_timeline": _Procedure(_commits, ("limit",)),
    "show_commits": _Procedure(_commits, ("limit",)),
    "show_table_properties": _Procedure(_properties),
}


def call(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    """Runs `CALL name(argument => value, …)`; None if it is not a procedure of a table of mortice."""
    if not cursor.take("CALL"):
        return None
    place, parts = cursor.error("there is no such procedure"), cursor.name()
    if parts == ["help"] and not any(token.kind == "STRING" for token in cursor.tokens):
        return spark.createDataFrame([(name,) for name in sorted(_PROCEDURES)], "procedure string")
    if (procedure := _PROCEDURES.get(parts[-1].lower())) is None:
        if cursor.take("(") and any(token.word in ("TABLE", "PATH") for token in cursor.tokens):
            raise InvalidArgumentError(f"{place.args[0]}\nthe procedures are {', '.join(sorted(_PROCEDURES))}")
        return None
    given = _arguments(spark, cursor)
    name, path = given.pop("table", None), given.pop("path", None)
    table = named_table(spark, Cursor(str(name)).name()) if name else None
    if path is None and table is None:
        raise cursor.error(f"the catalog has no table {name!r} of mortice; name it, or give its path (path => '…')")
    uri = str(path) if path is not None or table is None else table.path
    options = (table.write_options() if table is not None else {}) | _options(given.pop("options", None))
    if unknown := [name for name in given if name not in procedure.arguments]:
        known = ", ".join(["table", "path", "options", *procedure.arguments])
        raise cursor.error(f"the procedure has no argument {', '.join(unknown)}; its arguments are {known}")
    return _rows(spark, procedure.run(_Called(spark, WriteTarget.from_options(uri, options), options, given)))


def _arguments(spark: SparkSession, cursor: Cursor) -> _Arguments:
    cursor.expect("(")
    given: _Arguments = {}
    while not cursor.take(")"):
        is_named = len(cursor.tokens) > cursor.at + 1 and cursor.tokens[cursor.at + 1].text in ("=>", "=")
        if is_named:
            name = cursor.name()[0].lower()
            cursor.at += 1
        elif not given:
            name = "table"
        else:
            raise cursor.error("arguments behind the first have names: name => value")
        token = cursor.token
        text = cursor.until(",")
        given[name] = token.text if token is not None and token.kind == "STRING" else _value(spark, text)
        cursor.take(",")
    cursor.expect_end()
    return given


def _value(spark: SparkSession, text: str) -> Any:
    return spark.sql(f"SELECT {text}").collect()[0][0]


def _options(given: Any) -> dict[str, Any]:
    """Returns options in Hudi's form: `a=1,b=2`."""
    pairs = [pair.partition("=") for pair in str(given).split(",")] if given else []
    return {name.strip(): value.strip() for name, _, value in pairs}


def _rows(spark: SparkSession, result: Any) -> DataFrame:
    """Returns what a service did: one row for each thing, its fields as strings, lists as JSON."""
    things = result if isinstance(result, (list, tuple)) else [result]
    rows = [_fields(thing) for thing in things]
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["result"]
    schema = ", ".join(f"`{name}` string" for name in names)
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], schema)


def _fields(thing: Any) -> dict[str, str | None]:
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        thing = dataclasses.asdict(thing)
    if not isinstance(thing, Mapping):
        return {"result": None if thing is None else str(thing)}
    return {str(name): _text(value) for name, value in thing.items()}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str)
