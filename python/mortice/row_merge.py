"""Rows merged as Hudi merges those of a table, without a table: older rows, and the newer ones that change them.

    mortice.merge(trips, changes, record_key="trip_id", ordering="updated_at")

The older rows stand where the rows of a base file would, the newer ones where log files would; who wins, what is filled
and what is a delete is decided by the same code as for tables. `mortice.spark.merge_udf` is the same for Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError
from mortice.mergers import Merging, merging_of
from mortice.options import DEFAULT_SEMANTICS, checked_name, checked_semantics, checked_text, checked_truth
from mortice.table import Table

__all__ = ["RowMerge", "merge"]

COMMIT_TIME, EVENT_TIME, CUSTOM = "COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING", "CUSTOM"
IGNORE_DEFAULTS, FILL_UNAVAILABLE = "IGNORE_DEFAULTS", "FILL_UNAVAILABLE"
META_KEY, OPERATION = "_hoodie_record_key", "_hoodie_operation"
_BY_ORDERING = {
    "DefaultHoodieRecordPayload",
    "EventTimeAvroPayload",
    "FirstValueAvroPayload",
    "MySqlDebeziumAvroPayload",
}
_PAYLOADS = "org.apache.hudi.common.model."

Names = str | list[str] | tuple[str, ...]
"""A column, or several."""


def merge(
    older: Any,
    newer: Any,
    *,
    table: Table | None = None,
    record_key: Names | None = None,
    ordering: Names | None = None,
    mode: str | None = None,
    payload: str | None = None,
    partial_update: str | None = None,
    unavailable: str | None = None,
    delete_field: str | None = None,
    delete_marker: str | None = None,
    commit_order: Names | None = None,
    partial: bool = False,
    avro_schema: str | Mapping[str, Any] | None = None,
    semantics: str | None = None,
    emit_deletes: bool = False,
) -> pa.Table:
    """The rows of `older`, changed by those of `newer` as Hudi would change them.

        >>> import pyarrow as pa, mortice
        >>> older = pa.table({"id": ["a", "b"], "ts": [5, 5], "fare": [1.0, 2.0]})
        >>> newer = pa.table({"id": ["a", "b", "c"], "ts": [6, 4, 1], "fare": [1.5, 9.9, 3.0]})
        >>> mortice.merge(older, newer, record_key="id", ordering="ts").to_pylist()
        [{'id': 'a', 'ts': 6, 'fare': 1.5}, {'id': 'b', 'ts': 5, 'fare': 2.0}, {'id': 'c', 'ts': 1, 'fare': 3.0}]

    Both are Arrow data of any library, or a list of such (batches of changes, the oldest first); `older` may be None.
    What comes back has the columns and the types of `older`: its rows in their order, then the new keys as they first
    appear. Of several older rows of one key the first is changed.

    `record_key` is the column, or the columns, that rows are merged by. `ordering` names the ordering fields. `mode` is
    `"EVENT_TIME_ORDERING"`, the row of the greater ordering value, or `"COMMIT_TIME_ORDERING"`, the newer one; without
    it, the former where there are ordering fields. In its place `payload` names a payload class of Hudi's
    (`"PartialUpdateAvroPayload"`), or what `mortice.register_merger` knows. `partial_update` fills the row that wins
    from the other: `"IGNORE_DEFAULTS"`, where it holds a column's default (null, or what `avro_schema` says), or
    `"FILL_UNAVAILABLE"`, where a string column holds the string `unavailable` (binary columns keep it).
    `semantics="0.x"` goes by Hudi 0.15, which knows nothing but payload classes; there `"PostgresDebeziumAvroPayload"`
    fills strings and bytes that hold `__debezium_unavailable_value`, which by the rules of 1.x it does not.

    In place of all these, `table` has rows merged as those of a Hudi table are, by its own properties and schema.

    A newer row is a delete where its `_hoodie_is_deleted` is true, its `_hoodie_operation` is `D` or `-U`, or its
    `delete_field` holds the text `delete_marker`; `older` need not have these columns. Older rows are never deletes.
    With `emit_deletes` the keys that newer rows delete come, too, with `D` in `_hoodie_operation`, which is added.

    Newer rows are in the order in which they stand, or in that of the columns `commit_order` (a commit time, a sequence
    number, a Kafka offset), which `older` need not have. With `partial` the newer rows may lack columns of the older
    ones, which are then unchanged; those that they have count whatever they hold (`partial_update` has no say).

    Raises `InvalidArgumentError`, `UnsupportedError`.
    """
    by = RowMerge.of(
        table=table,
        record_key=record_key,
        ordering=ordering,
        mode=mode,
        payload=payload,
        partial_update=partial_update,
        unavailable=unavailable,
        delete_field=delete_field,
        delete_marker=delete_marker,
        commit_order=commit_order,
        partial=partial,
        avro_schema=avro_schema,
        semantics=semantics,
        emit_deletes=emit_deletes,
    )
    newer = _whole(newer)
    if older is None:
        older = pa.table(newer).schema.empty_table()
    return by(_whole(older), newer)


@dataclass(frozen=True)
class RowMerge:
    """How rows are merged: arguments that were checked. It pickles."""

    record_key: list[str]
    properties: dict[str, str]
    semantics: str = DEFAULT_SEMANTICS
    avro_schema: str | None = None
    commit_order: list[str] = field(default_factory=list)
    partial: bool = False
    emit_deletes: bool = False
    merger: Merging | None = None
    delete_field: str | None = None
    """The column that the caller said marks deletes: it has to be there."""

    @classmethod
    def of(
        cls,
        *,
        table: Table | None = None,
        record_key: Names | None = None,
        commit_order: Names | None = None,
        partial: bool = False,
        avro_schema: str | Mapping[str, Any] | None = None,
        semantics: str | None = None,
        emit_deletes: bool = False,
        **rules: Any,
    ) -> RowMerge:
        """The arguments of `merge`, checked."""
        rules = {name: value for name, value in rules.items() if value is not None}
        more: dict[str, Any] = {
            "commit_order": _names("commit_order", commit_order),
            "partial": checked_truth("partial", partial),
            "emit_deletes": checked_truth("emit_deletes", emit_deletes),
        }
        if table is not None:
            told = dict(rules, record_key=record_key, avro_schema=avro_schema, semantics=semantics)
            return _of_table(table, [name for name, value in told.items() if value is not None], more)
        key = _names("record_key", record_key)
        if not key:
            raise InvalidArgumentError("record_key is missing: the column, or the columns, that rows are merged by")
        semantics = checked_semantics(DEFAULT_SEMANTICS if semantics is None else semantics)
        properties, payload = _properties(semantics, **rules)
        return cls(
            key,
            properties,
            semantics,
            _json(avro_schema),
            merger=merging_of(payload),
            delete_field=rules.get("delete_field"),
            **more,
        )

    @property
    def needs_commit_order(self) -> bool:
        """Whether rows of different ordering values, too, come out otherwise in another order.

        Where one of them is the row, their order decides only between equals; where it is filled up from the others,
        each fills what is left by those before it.
        """
        if self.partial or "hoodie.table.partial.update.mode" in self.properties:
            return True
        mode = self.properties.get("hoodie.record.merge.mode", CUSTOM)
        payload = self.properties.get("hoodie.compaction.payload.class", "").rpartition(".")[2]
        return mode == COMMIT_TIME or (mode == CUSTOM and payload not in _BY_ORDERING)

    def __call__(self, older: Any, newer: Any) -> pa.Table:
        """Merges Arrow data."""
        self._check_delete_field(pa.schema(older.schema).names, pa.schema(newer.schema).names)
        schema, batches = _mortice.merge_rows(
            older,
            newer,
            record_key=self.record_key,
            properties=self.properties,
            semantics=self.semantics,
            schema=self.avro_schema,
            commit_order=self.commit_order,
            partial=self.partial,
            emit_deletes=self.emit_deletes,
            merger=self.merger,
        )
        return pa.Table.from_batches([pa.record_batch(batch) for batch in batches], schema=pa.schema(schema))

    def _check_delete_field(self, older: list[str], newer: list[str]) -> None:
        """Nothing would be a delete if the column were not there; partial rows may leave it as it is."""
        known = [*newer, *(older if self.partial else [])]
        if self.delete_field is not None and self.delete_field not in known:
            raise InvalidArgumentError(
                f"the newer rows have no column {self.delete_field!r} to mark deletes; they have {', '.join(newer)}"
            )


def _of_table(table: Table, told: list[str], more: dict[str, Any]) -> RowMerge:
    if not isinstance(table, Table):
        raise InvalidArgumentError(f"table is a mortice.Table, not {type(table).__name__}")
    if told:
        raise InvalidArgumentError(f"{', '.join(told)} beside a table, which says itself how its rows are merged")
    native = table._native  # noqa: SLF001
    return RowMerge(
        table.record_key_fields or [META_KEY],
        dict(table.properties),
        native.semantics,
        native.avro_schema(),
        merger=merging_of(table.custom_merge),
        **more,
    )


def _properties(
    semantics: str,
    *,
    ordering: Names | None = None,
    mode: str | None = None,
    payload: str | None = None,
    partial_update: str | None = None,
    unavailable: str | None = None,
    delete_field: str | None = None,
    delete_marker: str | None = None,
) -> tuple[dict[str, str], str | None]:
    """What a table that merges so would have in `hoodie.properties`, and the payload class's full name."""
    fields = _names("ordering", ordering)
    properties = {"hoodie.table.ordering.fields": ",".join(fields), "hoodie.table.precombine.field": ",".join(fields)}
    if (delete_field is None) != (delete_marker is None):
        raise InvalidArgumentError("delete_field and delete_marker are given together or not at all")
    if delete_field is not None:
        properties["hoodie.payload.delete.field"] = checked_name("delete_field", delete_field)
        properties["hoodie.payload.delete.marker"] = checked_name("delete_marker", delete_marker)
    if payload is not None or mode == CUSTOM or semantics != DEFAULT_SEMANTICS:
        if payload is None:
            raise InvalidArgumentError(
                "payload is missing: the mode CUSTOM, and Hudi 0.x, go by a payload class"
                " (OverwriteWithLatestAvroPayload, DefaultHoodieRecordPayload)"
            )
        if mode not in {None, CUSTOM}:
            raise InvalidArgumentError(f"mode={mode!r} beside a payload, which says itself who wins")
        if partial_update is not None:
            raise InvalidArgumentError("partial_update beside a payload, which says itself what is filled")
        payload = _class(checked_name("payload", payload))
        version = "8" if semantics == DEFAULT_SEMANTICS else "6"
        return properties | {"hoodie.table.version": version, "hoodie.compaction.payload.class": payload}, payload
    if mode is None:
        mode = EVENT_TIME if fields else COMMIT_TIME
    if mode not in {COMMIT_TIME, EVENT_TIME}:
        raise InvalidArgumentError(f"mode is {COMMIT_TIME!r}, {EVENT_TIME!r} or {CUSTOM!r}, not {mode!r}")
    if mode == EVENT_TIME and not fields:
        raise InvalidArgumentError(f"ordering is missing: {EVENT_TIME} goes by the values of one column or several")
    properties |= {"hoodie.table.version": "9", "hoodie.record.merge.mode": mode}
    return properties | _filling(partial_update, unavailable), None


def _filling(partial_update: str | None, unavailable: str | None) -> dict[str, str]:
    if partial_update not in {None, IGNORE_DEFAULTS, FILL_UNAVAILABLE}:
        raise InvalidArgumentError(
            f"partial_update is {IGNORE_DEFAULTS!r} or {FILL_UNAVAILABLE!r}, not {partial_update!r}"
        )
    if (partial_update == FILL_UNAVAILABLE) != (unavailable is not None):
        raise InvalidArgumentError(f"unavailable, a text, belongs to {FILL_UNAVAILABLE}, and to nothing else")
    if partial_update is None:
        return {}
    marker = {} if unavailable is None else {"hoodie.write.partial.update.unavailable.value": unavailable}
    prefix = "hoodie.record.merge.property."
    return {
        "hoodie.table.partial.update.mode": partial_update,
        **{f"{prefix}{name}": checked_name("unavailable", value) for name, value in marker.items()},
    }


def _class(payload: str) -> str:
    """The full name of a class of Hudi's that was named without its package."""
    return payload if "." in payload or merging_of(payload) is not None else _PAYLOADS + payload


def _names(argument: str, names: Names | None) -> list[str]:
    if names is None:
        return []
    if isinstance(names, str):
        return [checked_name(argument, names)]
    if not isinstance(names, (list, tuple)):
        raise InvalidArgumentError(f"{argument} is a column or a list of columns, not {names!r}")
    return [checked_name(f"a column in {argument}", name) for name in names]


def _json(schema: object) -> str | None:
    if schema is None:
        return None
    if isinstance(schema, str):
        return checked_text("avro_schema", schema)
    if not isinstance(schema, Mapping):
        raise InvalidArgumentError(f"avro_schema is JSON text or a mapping, not {type(schema).__name__}")
    return json.dumps(schema)


def _whole(data: Any) -> Any:
    """Arrow data as one table; a list of such one after the other."""
    if isinstance(data, (list, tuple)):
        if not data:
            raise InvalidArgumentError("an empty list of rows, whose columns nobody knows; give an empty table")
        return pa.concat_tables([_whole(one) for one in data])
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise InvalidArgumentError(
            f"{type(data).__name__} is no Arrow data: give tables, record batches or data frames"
        )
    return pa.table(data)
