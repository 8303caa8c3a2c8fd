"""CALL: table services, by the names and arguments of Hudi's procedures."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mortice.errors import InvalidArgumentError
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.targets import named_table
from mortice.spark.statements.tokens import Cursor, tokens_of
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["call"]

_Arguments = dict[str, Any]
_Run = Callable[[Table, _Arguments, Mapping[str, Any]], Any]


def _scheduled(method: str) -> _Run:
    """Returns the procedure of a service with the argument `op`: schedule, execute, or both."""

    def run(table: Table, given: _Arguments, options: Mapping[str, Any]) -> Any:
        op = str(given.pop("op", None) or given.pop("operation", None) or "scheduleandexecute").lower()
        kinds = {"run": (False, True), "execute": (False, True), "schedule": (True, False)}
        schedule, runs = kinds.get(op, (True, True))
        if op not in (*kinds, "scheduleandexecute"):
            raise InvalidArgumentError(f"op must be run, execute, schedule or scheduleAndExecute, got {op!r}")
        return getattr(table, method)(options, schedule=schedule, run=runs)

    return run


def _clean(table: Table, given: _Arguments, options: Mapping[str, Any]) -> Any:
    names = {
        "retain_commits": "hoodie.clean.commits.retained",
        "hours_retained": "hoodie.clean.hours.retained",
        "file_versions_retained": "hoodie.clean.fileversions.retained",
        "clean_policy": "hoodie.clean.policy",
    }
    return table.clean({**options, **{names[name]: given.pop(name) for name in list(given) if name in names}})


def _archive(table: Table, given: _Arguments, options: Mapping[str, Any]) -> Any:
    names = {"min_commits": "hoodie.keep.min.commits", "max_commits": "hoodie.keep.max.commits"}
    return table.archive({**options, **{names[name]: given.pop(name) for name in list(given) if name in names}})


def _of_instant(method: str) -> _Run:
    def run(table: Table, given: _Arguments, options: Mapping[str, Any]) -> Any:
        instant = given.pop("instant_time", None) or given.pop("commit_time", None) or given.pop("instant", None)
        if instant is None:
            raise InvalidArgumentError("the argument instant_time is missing")
        named = {name: given.pop(name) for name in list(given) if name in ("user", "comments")}
        arguments = {{"comments": "comment"}.get(name, name): value for name, value in named.items()}
        return getattr(table, method)(str(instant), options=options, **arguments)

    return run


def _plain(method: str) -> _Run:
    return lambda table, _, options: getattr(table, method)(options)


def _without_options(method: str) -> _Run:
    return lambda table, _, __: getattr(table, method)()


def _commits(table: Table, given: _Arguments, _: Mapping[str, Any]) -> Any:
    limit = int(given.pop("limit", 10))
    return [
        dataclasses.asdict(one) if dataclasses.is_dataclass(one) else {"instant": str(one)}
        for one in list(reversed(list(table.timeline)))[:limit]
    ]


def _properties(table: Table, _: _Arguments, __: Mapping[str, Any]) -> Any:
    return [{"key": name, "value": value} for name, value in sorted(table.properties.items())]


_PROCEDURES: dict[str, _Run] = {
    "run_compaction": _scheduled("compact"),
    "run_log_compaction": _scheduled("log_compact"),
    "run_clustering": _scheduled("cluster"),
    "run_clean": _clean,
    "archive_commits": _archive,
    "create_savepoint": _of_instant("savepoint"),
    "delete_savepoint": _of_instant("delete_savepoint"),
    "rollback_to_savepoint": _of_instant("restore"),
    "rollback_to_instant": _of_instant("restore"),
    "run_rollback": _of_instant("rollback"),
    "create_metadata_table": _plain("build_metadata"),
    "init_metadata_table": _plain("build_metadata"),
    "delete_metadata_table": _plain("delete_metadata"),
    "run_verify": _without_options("verify"),
    "run_repair": _plain("repair"),
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
    options = _options(given.pop("options", None)) | (table.write_options() if table is not None else {})
    target = WriteTarget.from_options(uri, options)
    opened = Table(uri, storage_options=target.storage_options(spark))
    result = run(opened, given, target.options)
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
