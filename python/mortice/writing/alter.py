"""`Table.alter`: changes of columns, as Hudi's `ALTER TABLE` writes them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Commit, SchemaChange
from mortice.errors import InvalidArgumentError
from mortice.values.type_names import arrow_type
from mortice.writing.alter_columns import AlteredSchema
from mortice.writing.validators import CommitCheck

__all__ = ["Changes", "alter"]


@dataclasses.dataclass(frozen=True)
class Changes:
    """Changes of columns, by paths. They are made in this order."""

    drop: Sequence[str]
    rename: Mapping[str, str]
    type: Mapping[str, pa.DataType]
    add: Mapping[str, pa.DataType]
    comment: Mapping[str, str]
    nullable: Sequence[str] = ()
    move: Mapping[str, str | None] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Changes:
        """Returns the changes that the arguments of `Table.alter` ask for. Raises `InvalidArgumentError`."""
        drop, nullable = (_listed(arguments.get(name)) for name in ("drop", "nullable"))
        added: Any = arguments["add"] or {}
        if isinstance(added, pa.Schema):
            added = {field.name: field.type for field in added}
        maps = {name: dict(arguments[name] or {}) for name in ("rename", "type", "comment")}
        added, maps["type"] = (
            {path: arrow_type(path, kind, name) for path, kind in kinds.items()}
            for name, kinds in (("add", dict(added)), ("type", maps["type"]))
        )
        moved = dict(arguments.get("move") or {})
        made = cls(drop, maps["rename"], maps["type"], added, maps["comment"], nullable, moved)
        if not any((made.drop, made.rename, made.type, made.add, made.comment, made.nullable, made.move)):
            raise InvalidArgumentError("alter needs a change: add, drop, rename, type, comment, nullable or move")
        for name, strings in (("rename", made.rename), ("comment", made.comment)):
            if not all(isinstance(text, str) for text in strings.values()):
                raise InvalidArgumentError(f"{name} maps paths to strings, got {strings!r}")
        if not all(text is None or isinstance(text, str) for text in made.move.values()):
            raise InvalidArgumentError(f"move maps paths to names of columns or None, got {made.move!r}")
        return made

    @property
    def needs_ids(self) -> bool:
        """Whether columns are known by their ids afterwards.

        Hudi reads a file by the types that columns had when it was written, which the history of ids says: without it,
        a number that has become wider is an error of its reader (measured with Hudi 1.2).
        """
        return bool(self.drop or self.rename or self.type)


def _listed(given: str | Sequence[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def alter(native: _mortice.Table, changes: Changes, options: Mapping[str, str], check: CommitCheck | None) -> Commit:
    """Changes the columns of a table, as one commit without rows.

    Args:
        native: The table, opened.
        changes: The changes.
        options: Options of the write, checked.
        check: Checks the table before the write is completed.
    """
    text, ids = native.stored_columns()
    keys = [*native.record_key_fields, *native.partition_fields, *native.ordering_fields]
    fixed = [name.split(".")[0].split(":")[0] for name in keys]
    schema = AlteredSchema(json.loads(text), None if ids is None else json.loads(ids), fixed)
    if changes.needs_ids:
        schema.give_ids()
    types = pa.schema(native.schema())
    for path in changes.drop:
        schema.drop(path)
    for path, name in changes.rename.items():
        schema.rename(path, name)
    made = []
    for path, kind in changes.type.items():
        schema.widen(path, _avro(schema, path, kind))
        made.append(SchemaChange(path, types.field(path).type if path in types.names else None, kind))
    for path, kind in changes.add.items():
        schema.add(path, _avro(schema, path, kind), native.partition_fields)
        made.append(SchemaChange(path, None, kind))
    for path, text in changes.comment.items():
        schema.comment(path, text)
    for path in changes.nullable:
        schema.relax(path)
    for path, behind in changes.move.items():
        schema.move(path, behind)
    avro, with_ids = schema.as_strings()
    commit = native.alter_schema(avro, with_ids, options, check)
    return commit.__replace__(schema_changes=made)


def _avro(schema: AlteredSchema, path: str, kind: pa.DataType) -> Any:
    """Returns the Avro type of a column, without null, as a write of it would store it."""
    *parents, name = path.split(".")
    namespace = ".".join(filter(None, [schema.avro.get("namespace"), schema.avro["name"], *parents]))
    record = json.loads(_mortice.avro_record(pa.schema([pa.field(name, kind)]).empty_table(), namespace))
    kinds = record["fields"][0]["type"]
    return next(one for one in kinds if one != "null") if isinstance(kinds, list) else kinds
