"""Changes of columns in Hudi's two forms of a schema: Avro, and columns with ids (schema on read).

A column is a path: `fare`, `rider.age`, `stops.element.city`, `prices.value.net`, as in Hudi's `ALTER TABLE`. Both
forms are JSON, changed side by side.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.values.meta_columns import META_COLUMNS

__all__ = ["AlteredSchema", "with_ids"]

Json = dict[str, Any]
LOGICAL = {
    "date": "date",
    "time-millis": "time-millis",
    "time-micros": "time",
    "timestamp-millis": "timestamp-millis",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "local-timestamp-millis",
    "local-timestamp-micros": "local-timestamp-micros",
    "uuid": "uuid",
}
"""The names of Avro's logical types in schemas with ids."""
WIDER = {
    "int": ("long", "double", "string"),
    "long": ("string",),
    "float": ("double", "string"),
    "double": ("string",),
}
"""The types that a number becomes without losing a value, in both forms."""


def _branch(kind: Any) -> tuple[Any, bool]:
    """Returns a type without null, and whether it may be null."""
    if not isinstance(kind, list):
        return kind, False
    others = [one for one in kind if one != "null"]
    if len(others) != 1:
        raise UnsupportedError(f"columns of the union {kind} cannot be altered")
    return others[0], len(others) < len(kind)


def with_ids(avro: Json, first: int | None = None) -> tuple[Any, int]:
    """Returns an Avro type in the form with ids, and the greatest id.

    Ids are given to the fields of a record before those within them (`AvroInternalSchemaConverter`).

    Args:
        avro: The type.
        first: The first id that is free; None for the record of a table, which has no id itself.
    """
    known: dict[str, Any] = {}
    following = [first or 0]

    def taken(count: int) -> int:
        following[0] += count
        return following[0] - count

    def of(kind: Any) -> Any:
        if isinstance(kind, str):
            return of(known[kind]) if kind in known else {"bytes": "binary"}.get(kind, kind)
        name = kind["type"]
        if "name" in kind:
            known.update({kind["name"]: kind, f"{kind.get('namespace', '')}.{kind['name']}": kind})
        if name == "record":
            ids = taken(len(kind["fields"]))
            return {"type": "record", "fields": [field(ids + at, one) for at, one in enumerate(kind["fields"])]}
        if name == "array":
            element_id = taken(1)
            items, optional = _branch(kind["items"])
            return {"type": "array", "element_id": element_id, "element": of(items), "element_optional": optional}
        if name == "map":
            ids = taken(2)
            values, optional = _branch(kind["values"])
            key = {"type": "map", "key_id": ids, "key": "string", "value_id": ids + 1}
            return {**key, "value": of(values), "value_optional": optional}
        return _leaf(kind)

    def field(number: int, one: Json) -> Json:
        kind, optional = _branch(one["type"])
        made = {"id": number, "name": one["name"], "optional": optional, "type": of(kind)}
        return {**made, "doc": one["doc"]} if one.get("doc") is not None else made

    return of(avro), following[0] - 1


def _leaf(kind: Json) -> str:
    logical = kind.get("logicalType")
    if logical == "decimal":
        digits = f"({kind['precision']}, {kind.get('scale', 0)})"
        return f"decimal_bytes{digits}" if kind["type"] == "bytes" else f"decimal_fixed{digits}[{kind['size']}]"
    if logical in LOGICAL:
        return LOGICAL[logical]
    if logical is not None:
        raise UnsupportedError(f"a column of the logical type {logical!r} has no form with ids; drop no column of it")
    return f"fixed[{kind['size']}]" if kind["type"] == "fixed" else with_ids(kind["type"])[0]


class AlteredSchema:
    """The columns of a table, while they are altered.

    Args:
        avro: Its Avro schema.
        ids: The columns with ids; None if they have none.
        fixed: Columns that stay as they are: those of keys, of partition paths and of ordering values.
    """

    def __init__(self, avro: Json, ids: Json | None, fixed: Sequence[str]) -> None:
        fields = [field for field in avro["fields"] if field["name"] not in META_COLUMNS]
        self.avro: Json = {**copy.deepcopy(avro), "fields": copy.deepcopy(fields)}
        self.ids = copy.deepcopy(ids)
        self.before: Json | None = None
        self.fixed = set(fixed)

    def give_ids(self) -> None:
        """Gives the columns ids, if they have none: meta columns come first, as in Hudi."""
        if self.ids is not None:
            return
        meta = [{"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in META_COLUMNS]
        record, greatest = with_ids({**self.avro, "fields": [*meta, *self.avro["fields"]]})
        self.before = {"max_column_id": greatest, "version_id": 0, **record}
        self.ids = copy.deepcopy(self.before)

    def check_free(self, path: str, what: str) -> None:
        """Refuses changes of columns that say where a row is, or which of them wins."""
        if path.partition(".")[0] in self.fixed:
            raise InvalidArgumentError(
                f"column {path!r} cannot be {what}: it is part of the record key, the partition path or the ordering "
                "value"
            )

    def add(self, path: str, kind: Any, last: Sequence[str]) -> None:
        """Adds a column or a field, which is null in rows that are there.

        Args:
            path: Its path.
            kind: Its Avro type, without null.
            last: Columns that stay at the end.
        """
        *parents, name = path.split(".")
        fields, with_ids_of = self._fields(parents, path)
        if any(field["name"].lower() == name.lower() for field in fields):
            raise InvalidArgumentError(f"column {path!r} is there already")
        place = len(fields)
        while not parents and place and fields[place - 1]["name"] in last:
            place -= 1
        fields.insert(place, {"name": name, "type": ["null", kind], "default": None})
        if self.ids is not None and with_ids_of is not None:
            number = self.ids["max_column_id"] + 1
            made, greatest = with_ids(kind, number + 1)
            self.ids["max_column_id"] = max(number, greatest)
            at = place + (len(with_ids_of) - len(fields) + 1)
            with_ids_of.insert(at, {"id": number, "name": name, "optional": True, "type": made})

    def drop(self, path: str) -> None:
        """Drops a column or a field."""
        self.check_free(path, "dropped")
        for fields in self._both(path):
            if len(fields) == 1:
                raise InvalidArgumentError(f"{path!r} is the last of its fields, and cannot be dropped")
            del fields[_at(fields, path)]

    def rename(self, path: str, name: str) -> None:
        """Gives a column or a field another name."""
        self.check_free(path, "renamed")
        if not name or "." in name:
            raise InvalidArgumentError(f"{path!r} cannot be renamed to {name!r}: give a name, not a path")
        for fields in self._both(path):
            others = [field["name"].lower() for at, field in enumerate(fields) if at != _at(fields, path)]
            if name.lower() in others:
                raise InvalidArgumentError(f"{path!r} cannot be renamed to {name!r}: a column of this name is there")
            fields[_at(fields, path)]["name"] = name

    def comment(self, path: str, text: str) -> None:
        """Describes a column or a field."""
        for fields in self._both(path):
            fields[_at(fields, path)]["doc"] = text

    def widen(self, path: str, kind: Any) -> None:
        """Gives a column or a field a wider type. Raises `UnsupportedError` for one that loses values."""
        self.check_free(path, "given another type")
        *_, avro = self._both(path)[:1]
        field = avro[_at(avro, path)]
        old, optional = _branch(field["type"])
        if old == kind:
            return
        if not isinstance(old, str) or kind not in WIDER.get(old, ()):
            allowed = ", ".join(f"{one} to {' or '.join(others)}" for one, others in WIDER.items())
            raise UnsupportedError(f"column {path!r} cannot become {kind} from {old}; supported: {allowed}")
        field["type"] = ["null", kind] if optional else kind
        if self.ids is not None:
            fields = self._both(path)[1]
            fields[_at(fields, path)]["type"] = kind

    def relax(self, path: str) -> None:
        """Lets a column or a field be null."""
        self.check_free(path, "given null")
        for fields in self._both(path):
            field = fields[_at(fields, path)]
            if "optional" in field:
                field["optional"] = True
            elif not _branch(field["type"])[1]:
                field["type"] = ["null", *(field["type"] if isinstance(field["type"], list) else [field["type"]])]
                field["default"] = None

    def move(self, path: str, behind: str | None) -> None:
        """Puts a column or a field behind another one of its record, or first."""
        name = path.rpartition(".")[2]
        if behind == name:
            raise InvalidArgumentError(f"column {path!r} cannot be put behind itself")
        for fields in self._both(path):
            known = [field["name"] for field in fields if field["name"] not in META_COLUMNS]
            if behind is not None and behind not in known:
                raise InvalidArgumentError(
                    f"column {path!r} cannot be put behind {behind!r}: there is no such column next to it "
                    f"(columns: {', '.join(known)})"
                )
            field = fields.pop(_at(fields, path))
            names = [field["name"] for field in fields]
            place = len(fields) - len(known) + 1 if behind is None else names.index(behind) + 1
            fields.insert(place, field)

    def _both(self, path: str) -> list[list[Json]]:
        *parents, name = path.split(".")
        avro, ids = self._fields(parents, path)
        found = [avro] if ids is None else [avro, ids]
        for fields in found:
            if not any(field["name"] == name for field in fields):
                known = ", ".join(field["name"] for field in fields)
                raise InvalidArgumentError(f"there is no column {path!r} (columns: {known})")
        return found

    def _fields(self, parents: Sequence[str], path: str) -> tuple[list[Json], list[Json] | None]:
        """Returns the fields of the record at a path, in both forms."""
        avro: Any = self.avro
        ids: Any = self.ids
        for name in parents:
            avro = _child(avro, name, lambda kind: _branch(kind["items"])[0], lambda kind: _branch(kind["values"])[0])
            ids = ids and _child(ids, name, lambda kind: kind["element"], lambda kind: kind["value"])
            if avro is None or (self.ids is not None and ids is None):
                raise InvalidArgumentError(f"there is no column {path!r}: {name!r} is not found")
        if not isinstance(avro, dict) or avro.get("type") != "record":
            raise InvalidArgumentError(
                f"{path!r} is no field of a struct; elements of lists are x.element.y, of maps x.value.y"
            )
        return avro["fields"], None if ids is None else ids["fields"]

    def as_strings(self) -> tuple[str, tuple[str, str] | None]:
        """Returns the Avro schema, and the columns with ids before and after, as JSON."""
        if self.ids is None:
            return json.dumps(self.avro), None
        meta = [{"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in META_COLUMNS]
        avro = {**self.avro, "fields": [*meta, *self.avro["fields"]]}
        return json.dumps(avro), (json.dumps(self.before or self.ids), json.dumps(self.ids))


def _at(fields: list[Json], path: str) -> int:
    name = path.rsplit(".", maxsplit=1)[-1]
    return next(at for at, field in enumerate(fields) if field["name"] == name)


def _child(kind: Any, name: str, items: Callable[[Json], Any], values: Callable[[Json], Any]) -> Any:
    if not isinstance(kind, dict):
        return None
    if kind.get("type") == "array" and name == "element":
        return items(kind)
    if kind.get("type") == "map" and name == "value":
        return values(kind)
    if kind.get("type") != "record":
        return None
    found = [field["type"] for field in kind["fields"] if field["name"] == name]
    return _branch(found[0])[0] if found else None
