"""CALL: table services, by the names and arguments of Hudi's procedures. Those that read rows run as tasks of Spark."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mortice.errors import InvalidArgumentError
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.targets import named_table
from mortice.spark.statements.tokens import Cursor, tokens_of
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
    """The other arguments. A procedure takes out those that it has."""

    def table(self) -> Table:
        """Returns the table, for a service that runs in the driver."""
        return Table(self.target.uri, storage_options=self.target.storage_options(self.spark))

    def taken(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Takes out the arguments of these names, and returns them by their new names."""
        return {names[name]: self.given.pop(name) for name in list(self.given) if name in names}


_Run = Callable[[_Called], Any]


def _scheduled(service: Callable[..., Any]) -> _Run:
    """Returns the procedure of a service with the argument `op`: schedule, execute, or both."""

    def run(called: _Called) -> Any:
        op = called.given.pop("op", None) or called.given.pop("operation", None) or "scheduleandexecute"
        kinds = {"run": (False, True), "execute": (False, True), "schedule": (True, False)}
        schedule, runs = kinds.get(str(op).lower(), (True, True))
        if str(op).lower() not in (*kinds, "scheduleandexecute"):
            raise InvalidArgumentError(f"op must be run, execute, schedule or scheduleAndExecute, got {op!r}")
        return service(called.spark, called.target.uri, called.options, schedule=schedule, run=runs)

    return run


def _build_metadata(called: _Called) -> Any:
    return build_metadata(called.spark, called.target.uri, called.options)


def _verify(called: _Called) -> Any:
    asked = {"contents": True, "keys": False, **called.taken({name: name for name in _LEVELS})}
    storage = {name: value for name, value in called.options.items() if is_of_storage(name)}
    return verify(called.spark, called.target.uri, storage, **asked)


def _with_options(method: str, arguments: Mapping[str, str] | None = None) -> _Run:
    """Returns the procedure of a method that takes options, some of which are arguments of the procedure."""

    def run(called: _Called) -> Any:
        return getattr(called.table(), method)({**called.target.options, **called.taken(arguments or {})})

    return run


def _of_instant(method: str) -> _Run:
    def run(called: _Called) -> Any:
        given = called.given
        instant = given.pop("instant_time", None) or given.pop("commit_time", None) or given.pop("instant", None)
        if instant is None:
            raise InvalidArgumentError("the argument instant_time is missing")
        named = called.taken({"user": "user", "comments": "comment"})
        return getattr(called.table(), method)(str(instant), options=called.target.options, **named)

    return run


def _commits(called: _Called) -> Any:
    limit = int(called.given.pop("limit", 10))
    return [
        dataclasses.asdict(one) if dataclasses.is_dataclass(one) else {"instant": str(one)}
        for one in list(reversed(list(called.table().timeline)))[:limit]
    ]


def _properties(called: _Called) -> Any:
    return [{"key": name, "value": value} for name, value in sorted(called.table().properties.items())]


_CLEAN = {
    "retain_commits": "hoodie.clean.commits.retained",
    "hours_retained": "hoodie.clean.hours.retained",
    "file_versions_retained": "hoodie.clean.fileversions.retained",
    "clean_policy": "hoodie.clean.policy",
}
_LEVELS = ("contents", "keys", "global_keys")
_ARCHIVE = {"min_commits": "hoodie.keep.min.commits", "max_commits": "hoodie.keep.max.commits"}


_PROCEDURES: dict[str, _Run] = {
    "run_compaction": _scheduled(compact),
    "run_log_compaction": _scheduled(log_compact),
    "run_clustering": _scheduled(cluster),
    "run_clean": _with_options("clean", _CLEAN),
    "archive_commits": _with_options("archive", _ARCHIVE),
    "create_savepoint": _of_instant("savepoint"),
    "delete_savepoint": _of_instant("delete_savepoint"),
    "rollback_to_savepoint": _of_instant("restore"),
    "rollback_to_instant": _of_instant("restore"),
    "run_rollback": _of_instant("rollback"),
    "create_metadata_table": _build_metadata,
    "init_metadata_table": _build_metadata,
    "delete_metadata_table": _with_options("delete_metadata"),
    "run_verify": _verify,
    "run_repair": _with_options("repair"),
    "show_timeline": _commits,
    "show_commits": _commits,
    "show_table_properties": _properties,
}


def call(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    """Runs `CALL name(argument => value, …)`; None if it is not a procedure of a table of mortice."""
    if not cursor.take("CALL"):
        return None
    place, parts = cursor.error("there is no such procedure"), cursor.name()
    if parts == ["help"] and not any(token.kind == "STRING" for token in cursor.tokens):
        return spark.createDataFrame([(name,) for name in sorted(_PROCEDURES)], "procedure string")
    if (run := _PROCEDURES.get(parts[-1].lower())) is None:
        if cursor.take("(") and any(token.word in ("TABLE", "PATH") for token in cursor.tokens):
            raise InvalidArgumentError(f"{place.args[0]}\nthe procedures are {', '.join(sorted(_PROCEDURES))}")
        return None
    given = _arguments(spark, cursor)
    name, path = given.pop("table", None), given.pop("path", None)
    table = named_table(spark, [token.text for token in tokens_of(str(name)) if token.text != "."]) if name else None
    if path is None and table is None:
        raise cursor.error(f"the catalog has no table {name!r} of mortice; name it, or give its path (path => '…')")
    uri = str(path) if path is not None or table is None else table.path
    options = (table.write_options() if table is not None else {}) | _options(given.pop("options", None))
    result = run(_Called(spark, WriteTarget.from_options(uri, options), options, given))
    if given:
        raise cursor.error(f"the procedure has no argument {', '.join(given)}; it ran without")
    return _rows(spark, result)


def _arguments(spark: SparkSession, cursor: Cursor) -> _Arguments:
    cursor.expect("(")
    given: _Arguments = {}
    while not cursor.take(")"):
        is_named = len(cursor.tokens) > cursor.at + 1 and cursor.tokens[cursor.at + 1].kind in ("FARROW", "EQ")
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
