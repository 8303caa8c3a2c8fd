"""Merges rows that are not in a table by Hudi's rules: older rows, and newer rows that change them.

    mortice.merge(trips, changes, record_key="trip_id", ordering="updated_at")

The core treats the older rows as those of a base file and the newer ones as those of log files, so the same code as for
tables decides which row wins, which values are filled and which rows are deleted. `mortice.spark.merge_udf` is the
equivalent for Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError
from mortice.reading.mergers import Merging, merging_of
from mortice.table import Table
from mortice.values.options import (
    DEFAULT_SEMANTICS,
    checked_avro_schema,
    checked_bool,
    checked_names,
    checked_optional_name,
    checked_semantics,
)

META_KEY, OPERATION = "_hoodie_record_key", "_hoodie_operation"

Names = str | list[str] | tuple[str, ...]
"""A column, or several."""


def merge(
    older: object,
    newer: object,
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
    avro_schema: str | Mapping[str, object] | None = None,
    semantics: str | None = None,
    emit_deletes: bool = False,
) -> pa.Table:
    """Returns the rows of `older`, changed by the rows of `newer` by Hudi's rules.

        >>> import pyarrow as pa, mortice
        >>> older = pa.table({"id": ["a", "b"], "ts": [5, 5], "fare": [1.0, 2.0]})
        >>> newer = pa.table({"id": ["a", "b", "c"], "ts": [6, 4, 1], "fare": [1.5, 9.9, 3.0]})
        >>> mortice.merge(older, newer, record_key="id", ordering="ts").to_pylist()
        [{'id': 'a', 'ts': 6, 'fare': 1.5}, {'id': 'b', 'ts': 5, 'fare': 2.0}, {'id': 'c', 'ts': 1, 'fare': 3.0}]

    A newer row is a delete if its `_hoodie_is_deleted` is true, if its `_hoodie_operation` is `D` or `-U`, or if its
    `delete_field` equals `delete_marker`; `older` need not have these columns. Older rows are never deletes.

    Args:
        older: The older rows: Arrow data of any library, a list of such data, or None.
        newer: The newer rows: Arrow data of any library, or a list of batches of changes, the oldest first.
        table: A table whose properties and schema define the merge, instead of the arguments below.
        record_key: The column or columns of the record key.
        ordering: The ordering fields.
        mode: `"event_time_ordering"`: the row with the greater ordering value wins; `"commit_time_ordering"`: the newer
            row wins. Default: the former if there are ordering fields, else the latter. Hudi's constants in upper case
            are accepted as well.
        payload: Instead of `mode`: a payload class of Hudi (`"PartialUpdateAvroPayload"`), or one that was passed to
            `mortice.register_merger`.
        partial_update: Fills the winning row from the other one: `"ignore_defaults"`, values that equal the column's
            default (null, or that of `avro_schema`); `"fill_unavailable"`, string values that equal `unavailable` (as
            in Hudi, binary columns are not filled). Hudi's constants in upper case are accepted as well.
        unavailable: The string that marks an unavailable value.
        delete_field: A column that marks deletes.
        delete_marker: The string in `delete_field` that marks a delete.
        commit_order: Columns of the newer rows that define their order (a commit time, a sequence number, a Kafka
            offset); `older` need not have them. Default: the order in which the rows are given.
        partial: True if the newer rows lack columns. Missing columns are unchanged, others are set even to null;
            `partial_update` is not applied.
        avro_schema: An Avro schema that defines defaults of columns, as JSON or a mapping.
        semantics: `"1.x"` (default) or `"0.x"`, the rules of Hudi 0.15, which has only payload classes. There,
            `"PostgresDebeziumAvroPayload"` fills strings and bytes that equal `__debezium_unavailable_value`; by the
            rules of 1.x it does not.
        emit_deletes: True also returns the keys that newer rows delete, with `D` in the column `_hoodie_operation`,
            which is appended.

    Returns:
        A table with the columns and types of `older`: its rows in their order, then new keys in order of appearance. If
        `older` contains a key several times, the first of its rows is changed.

    Raises:
        InvalidArgumentError: An argument is invalid, columns do not match, or a newer row has no key.
        UnsupportedError: The payload class or a type is not supported.
    """
    by = RowMerge.from_arguments(
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
    newer = _one_table(newer)
    if older is None:
        older = pa.table(newer).schema.empty_table()
    return by(_one_table(older), newer)


@dataclass(frozen=True)
class RowMerge:
    """The checked arguments of a merge. It pickles."""

    record_key: list[str]
    properties: dict[str, str]
    semantics: str = DEFAULT_SEMANTICS
    avro_schema: str | None = None
    commit_order: list[str] = field(default_factory=list)
    partial: bool = False
    emit_deletes: bool = False
    merger: Merging | None = None
    delete_field: str | None = None
    """The column that marks deletes; it must exist."""

    @classmethod
    def from_arguments(
        cls,
        *,
        table: Table | None = None,
        record_key: Names | None = None,
        commit_order: Names | None = None,
        partial: bool = False,
        avro_schema: str | Mapping[str, object] | None = None,
        semantics: str | None = None,
        emit_deletes: bool = False,
        **rules: Any,
    ) -> RowMerge:
        """Checks the arguments of `merge`.

        Args:
            table: As for `merge`.
            record_key: As for `merge`.
            commit_order: As for `merge`.
            partial: As for `merge`.
            avro_schema: As for `merge`.
            semantics: As for `merge`.
            emit_deletes: As for `merge`.
            **rules: The other arguments of `merge`.
        """
        rules = {name: value for name, value in rules.items() if value is not None}
        more: dict[str, Any] = {
            "commit_order": checked_names("commit_order", commit_order),
            "partial": checked_bool("partial", partial),
            "emit_deletes": checked_bool("emit_deletes", emit_deletes),
        }
        if table is not None:
            given = dict(rules, record_key=record_key, avro_schema=avro_schema, semantics=semantics)
            return _from_table(table, [name for name, value in given.items() if value is not None], more)
        key = checked_names("record_key", record_key)
        if not key:
            raise InvalidArgumentError("record_key is missing: name the column or columns of the record key")
        semantics = checked_semantics(DEFAULT_SEMANTICS if semantics is None else semantics)
        properties, payload = _properties(semantics, **rules)
        return cls(
            key,
            properties,
            semantics,
            checked_avro_schema("avro_schema", avro_schema),
            merger=merging_of(payload),
            delete_field=rules.get("delete_field"),
            **more,
        )

    @property
    def needs_commit_order(self) -> bool:
        """True if the result depends on the order of newer rows even if their ordering values differ."""
        return _mortice.needs_commit_order(self.properties, self.semantics, self.partial)

    def __call__(self, older: pa.Table, newer: pa.Table) -> pa.Table:
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
        """Raises an error if the column that marks deletes is missing. Partial rows may leave it unchanged."""
        known = [*newer, *(older if self.partial else [])]
        if self.delete_field is not None and self.delete_field not in known:
            raise InvalidArgumentError(
                f"the column {self.delete_field!r} (delete_field) is missing; the newer rows have {', '.join(newer)}"
            )


def _from_table(table: Table, given: list[str], more: dict[str, Any]) -> RowMerge:
    if not isinstance(table, Table):
        raise InvalidArgumentError(f"table must be a mortice.Table, got {type(table).__name__}")
    if given:
        raise InvalidArgumentError(
            f"{', '.join(given)} must not be given with table, whose properties define the merge"
        )
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
    """Returns the `hoodie.properties` of a table that merges by these rules, and the full name of the payload class."""
    return _mortice.merge_rules(
        semantics=semantics,
        ordering=checked_names("ordering", ordering),
        mode=checked_optional_name("mode", mode),
        payload=checked_optional_name("payload", payload),
        is_registered=merging_of(payload) is not None,
        partial_update=checked_optional_name("partial_update", partial_update),
        unavailable=checked_optional_name("unavailable", unavailable),
        delete_field=checked_optional_name("delete_field", delete_field),
        delete_marker=checked_optional_name("delete_marker", delete_marker),
    )


def _one_table(data: object) -> pa.Table:
    """Returns Arrow data as one table; the elements of a list are concatenated."""
    if isinstance(data, (list, tuple)):
        if not data:
            raise InvalidArgumentError(
                "the list of rows must not be empty, since it has no columns; pass an empty table"
            )
        return pa.concat_tables([_one_table(one) for one in data])
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise InvalidArgumentError(f"rows must be tables, record batches or DataFrames, got {type(data).__name__}")
    return pa.table(data)
