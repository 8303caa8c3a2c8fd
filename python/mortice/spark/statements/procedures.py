"""CALL: procedures by the names and arguments of Hudi. The core has the table of them (`_mortice.procedures`)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mortice import _mortice
from mortice.catalogs.run import without_sync
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.spark.settings.session import session_writes
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.services import SERVICES, Called
from mortice.spark.statements.spark_errors import parsed_query
from mortice.spark.statements.statement_text import StatementText
from mortice.spark.statements.targets import SqlTable, named_table
from mortice.values.observe import observed
from mortice.writing.writes import checked_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_Arguments = dict[str, Any]
_KINDS = {bool: "boolean", int: "bigint"}
"""The types of results without columns of their own; others are strings."""
_OTHER_NAMES = {
    "commit_time": "instant_time",
    "instant": "instant_time",
    "operation": "op",
    "instant_time": "commit_time",
}
"""Names of arguments that count as others, where a procedure has those."""
_PLACES = ("table", "path", "options")


def _procedures(*, functions: bool = False) -> dict[str, _mortice.Procedure]:
    return {one.name: one for one in _mortice.procedures() if (one.kind == "function") == functions}


def function_rows(spark: SparkSession, name: str, table: SqlTable, argument: str | None) -> DataFrame:
    """Returns the rows of a table function of Hudi.

    Args:
        spark: The session.
        name: The function.
        table: The table, its first argument.
        argument: The second one, if it is given.
    """
    procedure = _procedures(functions=True)[name]
    own = [one for one, *_ in procedure.parameters if one not in _PLACES]
    return _computed(
        spark,
        procedure,
        WriteTarget.from_options(table.path, table.write_options()),
        {name: argument for name in own if argument is not None},
    )


def _computed(spark: SparkSession, procedure: _mortice.Procedure, target: WriteTarget, given: _Arguments) -> DataFrame:
    """Returns the rows of a procedure that the core computes.

    Args:
        spark: The session.
        procedure: The procedure.
        target: The table.
        given: The arguments.
    """
    rows = _mortice.procedure_rows(procedure.name, target.uri, target.storage_options(spark), given)
    return _frame(spark, procedure, rows)


def call(spark: SparkSession, statement: StatementText) -> DataFrame | None:
    """Runs `CALL name(argument => value, …)`; None if it is not a procedure of a table of mortice."""
    place = statement.parsed.names[0]
    procedure = _procedures().get(place.parts[-1].lower())
    if procedure is None:
        if statement.parsed.names_table:
            error = statement.error("there is no such procedure", place.at)
            raise InvalidArgumentError(f"{error.args[0]}\nthe procedures are {', '.join(_procedures())}")
        return None
    given = _arguments(spark, statement, procedure)
    if procedure.kind == "refused":
        raise UnsupportedError(f"unsupported procedure {procedure.name}: {procedure.text}")
    names = {name for name, *_ in procedure.parameters}
    if not names & {"table", "path"}:
        return _frame(spark, procedure, _mortice.procedure_rows(procedure.name, "", {}, given))
    table, uri = _target(spark, statement, procedure, given)
    of_table = table.write_options() if table is not None else {}
    options = {**of_table, **session_writes(spark), **_options(given.pop("options", None))}
    if unknown := [name for name in given if name not in {*names, *_PLACES}]:
        known = ", ".join(dict.fromkeys([*_PLACES, *(name for name, *_ in procedure.parameters)]))
        raise statement.error(
            f"the procedure has no argument {', '.join(unknown)}; its arguments are {known}", statement.parsed.end
        )
    missing = [name for name, _, is_required, _ in procedure.parameters if is_required and name not in given]
    if missing := [name for name in missing if name not in _PLACES]:
        raise statement.error(f"the argument {missing[0]} is missing", statement.parsed.end)
    target = WriteTarget.from_options(uri, options)
    if procedure.kind == "service":
        return _frame(spark, procedure, SERVICES[procedure.name](Called(spark, procedure, target, options, given)))
    own = {name: value for name, value in given.items() if name in names}
    if procedure.kind == "run":
        storage, of_service = target.storage_options(spark), checked_options(without_sync(target.options))
        with observed(procedure.name, uri) as service:
            rows = service.done(_mortice.run_service(procedure.name, target.uri, storage, own, of_service))
        return _frame(spark, procedure, rows)
    frame = _computed(spark, procedure, target, own)
    return frame.where(own["filter"]) if own.get("filter") else frame


def _target(
    spark: SparkSession, statement: StatementText, procedure: _mortice.Procedure, given: _Arguments
) -> tuple[SqlTable | None, str]:
    """Returns the table of a call, None if it names a path alone, and its path.

    Args:
        spark: The session.
        statement: The statement.
        procedure: The procedure.
        given: The arguments.
    """
    if (path := given.get("base_path")) is not None:
        # It makes the table.
        return None, str(path)
    name, path = given.get("table"), given.get("path")
    table = named_table(spark, _mortice.table_name(str(name))) if name else None
    required = [one for one, _, is_required, _ in procedure.parameters if is_required]
    if {"table", "path"} <= set(required) and table is not None and path is not None:
        # The path is that of another table.
        return table, table.path
    if path is None and table is None:
        what = f"the catalog has no table {name!r} of mortice" if name else "the argument table is missing"
        raise statement.error(f"{what}; name it, or give its path (path => '…')", statement.parsed.end)
    return table, str(path) if path is not None or table is None else table.path


def _arguments(spark: SparkSession, statement: StatementText, procedure: _mortice.Procedure) -> _Arguments:
    """Returns the arguments by name; those without names come first, in the order of the procedure."""
    order = [name for name, *_ in procedure.parameters]
    given: _Arguments = {}
    is_ordered = True
    # CALL help has no brackets.
    for argument in statement.parsed.arguments() if statement.parsed.kind == "call" else []:
        name = next((one for one in order if one.lower() == argument.name), argument.name)
        is_ordered = is_ordered and name is None
        if name is None and is_ordered and len(given) < len(order):
            name = order[len(given)]
        if name is None:
            raise statement.error(
                f"name this argument (name => value); without names they are, in this order, {', '.join(order)}",
                argument.at,
            )
        if name not in order and (other := _OTHER_NAMES.get(name)) in order:
            name = str(other)
        if name in given:
            raise statement.error(f"the argument {name} is given twice", argument.at)
        given[name] = argument.text
        if argument.text is None:
            given[name] = parsed_query(spark, statement.sql(argument.value), "SELECT ").collect()[0][0]
    plain = (bool, int, float, str)
    return {
        name: value if isinstance(value, plain) else str(value) for name, value in given.items() if value is not None
    }


def _options(given: object) -> dict[str, object]:
    """Returns options in Hudi's form: `a=1,b=2`."""
    pairs = [pair.partition("=") for pair in str(given).split(",")] if given else []
    return {name.strip(): value.strip() for name, _, value in pairs}


def _frame(spark: SparkSession, procedure: _mortice.Procedure, result: object) -> DataFrame:
    """Returns rows with the columns of the procedure; of a result without, a row for each thing, lists as JSON."""
    if procedure.columns:
        of_columns: Any = result
        return spark.createDataFrame(of_columns, ", ".join(f"`{name}` {kind}" for name, kind in procedure.columns))
    things = result if isinstance(result, (list, tuple)) else [result]
    rows = [_fields(thing) for thing in things]
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["result"]
    kinds = {name: _KINDS[type(value)] for row in rows for name, value in row.items() if type(value) in _KINDS}
    schema = ", ".join(f"`{name}` {kinds.get(name, 'string')}" for name in names)
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], schema)


def _fields(thing: object) -> dict[str, object]:
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
