"""`Table.merge_into`: the rows that a merge writes, made from the given rows and the stored rows of their keys.

The stored rows are read with filters on key and partition columns, so that other partitions and file groups are
skipped. Matched rows are written with all their columns, as one upsert with the rows that are inserted and deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.filters import Filters, Term, normal_form
from mortice.options import checked_columns

__all__ = [
    "COLUMNS_UPDATED",
    "COMMITS_READ",
    "DELETES_KEY",
    "UPDATES_KEY",
    "MergeClauses",
    "MergeTarget",
    "merge_target",
    "merged_rows",
]

DELETES_KEY = "_mortice_deletes_key"
"""A column that is not written: true in rows that delete their keys (`client/schema.rs`)."""
UPDATES_KEY = "_mortice_updates_key"
"""Another one: true in stored rows of which the merge changes some columns, so that a log needs no others."""
COLUMNS_UPDATED = "mortice.write.columns.updated"
"""The option that names these columns (`client/partial_update.rs`)."""
COMMITS_READ = "mortice.write.commits.read"
"""The option that makes a write fail if the table has changed since its rows were read (`client/read_state.rs`)."""
NOT_MATCHED = ("insert", "ignore")
META_COLUMNS = frozenset(
    f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
)
PARTITION_PATH = "_hoodie_partition_path"
GLOBAL_INDEXES = frozenset({"GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX"})
REFUSED_OPTIONS = (
    "hoodie.datasource.insert.dup.policy",
    "hoodie.datasource.write.insert.drop.duplicates",
    "hoodie.write.ignore.failed",
)
_ROW, _STORED = "_mortice_row", "_mortice_stored"


@dataclass(frozen=True)
class MergeClauses:
    """The arguments of a merge, checked as far as they can be without the table."""

    on: tuple[str, ...] | None
    update: tuple[str, ...] | None
    """The columns that a matched row gets; None for all that rows and table have in common."""
    inserts: bool
    delete: list[list[Term]] | None

    @staticmethod
    def from_arguments(on: Any, when_matched_update: Any, when_not_matched: Any, delete: Filters) -> MergeClauses:
        """Returns the clauses.

        Args:
            on: As for `Table.merge_into`.
            when_matched_update: As for `Table.merge_into`.
            when_not_matched: As for `Table.merge_into`.
            delete: `when_matched_delete`.

        Raises `InvalidArgumentError`.
        """
        if when_not_matched not in NOT_MATCHED:
            raise InvalidArgumentError(f"when_not_matched must be 'insert' or 'ignore', got {when_not_matched!r}")
        names = None if when_matched_update is None else tuple(checked_columns(when_matched_update) or ())
        keys = None if on is None else tuple(checked_columns([on] if isinstance(on, str) else on) or ())
        return MergeClauses(keys, names, when_not_matched == "insert", normal_form(delete))


@dataclass(frozen=True)
class MergeTarget:
    """What a merge has to know of the table."""

    columns: pa.Schema
    """The columns without meta columns."""
    on: list[str]
    """The columns by which rows are matched."""
    update: list[str]
    """The columns that a matched row gets."""
    ordering: list[str]
    """The ordering columns among them, if records are merged by event time."""
    given: list[str]
    """The columns that the rows have."""
    places: list[str]
    """The partition columns by which rows are not matched: a key is matched in each partition."""
    all_ordering: list[str]
    """All ordering columns, if records are merged by event time."""
    shadows: list[str]
    """The columns of the key, if a deleted row of it may be in a base file, with an ordering value."""
    commits: str
    """The completed writes, by requested time."""


def merge_target(table: Any, given: Sequence[str], clauses: MergeClauses, options: Mapping[str, str]) -> MergeTarget:
    """Returns how rows with these columns are merged into a table.

    Args:
        table: The table.
        given: The columns of the rows.
        clauses: The arguments of the merge.
        options: Options of the write.

    Raises:
        InvalidArgumentError: A column is missing, or the clauses contradict each other.
        UnsupportedError: The table's keys or merge rules cannot be merged into.
    """
    _check_table(table, options)
    columns = pa.schema([field for field in table.schema if field.name not in META_COLUMNS])
    is_global = options.get("hoodie.index.type", "").strip().upper() in GLOBAL_INDEXES
    on = _matching(table, given, clauses, is_global=is_global)
    if clauses.update is None:
        update = [name for name in columns.names if name in given and name not in on]
    else:
        update = list(clauses.update)
        for name in update:
            if name not in columns.names:
                raise InvalidArgumentError(f"when_matched_update names {name!r}, which the table does not have")
            if name not in given:
                raise InvalidArgumentError(f"when_matched_update names {name!r}, which the rows do not have")
    keys = {*table.record_key_fields, *(() if is_global else table.partition_fields)} - set(on)
    moved = sorted(keys & set(update))
    if moved:
        raise InvalidArgumentError(
            f"{', '.join(moved)} of a matched row cannot be updated: the row would be in two places; add it to on"
        )
    if clauses.inserts:
        missing = [name for name in (*table.record_key_fields, *table.partition_fields) if name not in given]
        if missing:
            raise InvalidArgumentError(
                f"the rows have no column {', '.join(missing)}, so that those which are not matched cannot be "
                'inserted; add it, or use when_not_matched="ignore"'
            )
    by_event_time = table.merge_mode == "EVENT_TIME_ORDERING"
    ordering = [name for name in table.ordering_fields if by_event_time and name in update]
    writes = (one for one in table.timeline.active if one.is_completed)
    commits = ",".join(one.requested_time for one in writes if one.action in {"commit", "deltacommit", "replacecommit"})
    places = [name for name in table.partition_fields if name not in on]
    all_ordering = [name for name in table.ordering_fields if by_event_time and name in given]
    has_logs = table.properties.get("hoodie.table.type", "").upper() == "MERGE_ON_READ"
    key = [*table.record_key_fields, *(name for name in table.partition_fields if not is_global)]
    shadows = list(dict.fromkeys(key)) if has_logs and all_ordering and clauses.inserts else []
    return MergeTarget(columns, on, update, ordering, list(given), places, all_ordering, shadows, commits)


def _check_table(table: Any, options: Mapping[str, str]) -> None:
    generator = " ".join(value for name, value in table.properties.items() if name.startswith("hoodie.table.keygen"))
    fields = (*table.record_key_fields, *table.partition_fields)
    refused = {
        "a table whose keys are generated": not table.record_key_fields,
        "a table of a timestamp or custom key generator": any(n in generator.lower() for n in ("timestamp", "custom")),
        "a table whose keys are fields of structs": any("." in name for name in fields),
        "a table without meta columns": PARTITION_PATH not in table.schema.names,
        f"a table that merges by {table.custom_merge}": table.merge_mode == "CUSTOM",
        "a table that merges rows field by field": "hoodie.table.partial.update.mode" in table.properties,
        **{f"the option {name}": options.get(name, "none") not in {"none", "false"} for name in REFUSED_OPTIONS},
    }
    for what, is_refused in refused.items():
        if is_refused:
            message = f"merge_into with {what}; read the rows, change them, and upsert them"
            raise UnsupportedError(message, path=table.uri)


def _matching(table: Any, given: Sequence[str], clauses: MergeClauses, *, is_global: bool) -> list[str]:
    keys, partitions = table.record_key_fields, table.partition_fields
    if clauses.on is None:
        on = [*keys, *(name for name in partitions if name in given and name not in keys and not is_global)]
    else:
        on = list(clauses.on)
        if not set(keys) <= set(on) or not set(on) <= {*keys, *partitions}:
            raise InvalidArgumentError(
                f"on must have the record key ({', '.join(keys)}) and nothing but partition columns besides, got {on}"
            )
    missing = [name for name in on if name not in given]
    if missing:
        raise InvalidArgumentError(f"the rows have no column {', '.join(missing)}, by which they are matched")
    return on


def merged_rows(table: Any, rows: pa.Table, target: MergeTarget, clauses: MergeClauses) -> pa.Table:
    """Returns the rows that the merge writes, with the mark of deletes.

    Args:
        table: The table, in the state that `target` describes.
        rows: The given rows.
        target: How they are merged.
        clauses: The arguments of the merge.

    Raises:
        InvalidArgumentError: Several rows have one key, a value does not fit the table, or an ordering value is less
            than the stored one.
    """
    keys = pa.table({name: _cast(rows[name], target.columns.field(name), name) for name in target.on})
    _check_keys(keys)
    stored = _stored(table, keys, target)
    numbers, places = _matches(keys, stored, target.on)
    given, found = rows.take(numbers), stored.take(places)
    # A bulk insert may have written a key several times.
    _check_distinct(found.select([*target.on, *target.places]))
    is_deleted = _holds(clauses.delete, given, found)
    _check_ordering(given, found, target, is_deleted)
    updated = pa.table(
        [
            _cast(given[field.name], field, field.name) if field.name in target.update else found[field.name]
            for field in target.columns
        ],
        schema=target.columns,
    )
    is_written = is_deleted if not target.update else pa.chunked_array([pa.repeat(True, len(updated))])
    marked = updated.append_column(DELETES_KEY, is_deleted).append_column(UPDATES_KEY, pc.invert(is_deleted))
    parts = [marked.filter(is_written)]
    if clauses.inserts:
        new = rows.filter(pc.invert(pc.is_in(pa.array(range(rows.num_rows), pa.int64()), value_set=numbers)))
        _check_deleted(table, new, target)
        parts.append(_inserted(new, target))
    return pa.concat_tables(parts)


def _check_keys(keys: pa.Table) -> None:
    for name in keys.column_names:
        if keys[name].null_count:
            raise InvalidArgumentError(f"column {name!r}: a row to merge has null, which matches no row")
    _check_distinct(keys)


def _check_distinct(keys: pa.Table) -> None:
    counts = keys.group_by(keys.column_names).aggregate([([], "count_all")])
    twice = counts.filter(pc.greater(counts["count_all"], 1)).drop_columns(["count_all"])
    if twice.num_rows:
        raise InvalidArgumentError(
            f"several rows have the key {twice.slice(0, 1).to_pylist()[0]}: it is not known which of them is to be "
            "merged; leave one of each"
        )


def _stored(table: Any, keys: pa.Table, target: MergeTarget) -> pa.Table:
    """Returns the stored rows that may be matched, a few others among them if the key has several columns."""
    if not keys.num_rows:
        return pa.table({field.name: pa.array([], field.type) for field in target.columns})
    filters = [(name, "in", pc.unique(keys[name]).to_pylist()) for name in target.on]
    found: pa.Table = table.snapshot(columns=target.columns.names, filters=filters).to_arrow()
    return found


def _matches(keys: pa.Table, stored: pa.Table, on: Sequence[str]) -> tuple[pa.Array, pa.Array]:
    """Returns the numbers of the given rows and of the stored rows that match."""
    left = keys.append_column(_ROW, pa.array(range(keys.num_rows), pa.int64()))
    right = stored.select(on).append_column(_STORED, pa.array(range(stored.num_rows), pa.int64()))
    joined = left.join(right, keys=list(on), join_type="inner", use_threads=False)
    return joined[_ROW].combine_chunks(), joined[_STORED].combine_chunks()


def _holds(filters: list[list[Term]] | None, given: pa.Table, found: pa.Table) -> pa.ChunkedArray:
    """Returns which rows a filter selects; a column is that of the given row, or else of the stored one."""
    if filters is None:
        return pa.chunked_array([pa.repeat(False, len(given))])
    selected = pa.repeat(False, len(given))
    for terms in filters:
        of_terms = pa.repeat(True, len(given))
        for column, operator, value in terms:
            side = next((side for side in (given, found) if column in side.column_names), None)
            if side is None:
                raise InvalidArgumentError(f"when_matched_delete names {column!r}, which neither rows nor table have")
            of_terms = pc.and_(of_terms, _compared(side[column], (column, operator, value)))
        selected = pc.or_(selected, of_terms)
    return pa.chunked_array([selected]) if isinstance(selected, pa.Array) else selected


_COMPARISONS = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _compared(column: pa.ChunkedArray, term: Term) -> pa.ChunkedArray:
    """Returns which values satisfy a term; null satisfies `is null` only, as in filters of queries."""
    _, operator, value = term
    if operator == "is null":
        return pc.is_null(column)
    if operator == "is not null":
        return pc.is_valid(column)
    try:
        if operator in _COMPARISONS:
            found = _COMPARISONS[operator](column, pa.scalar(value, column.type))
        else:
            found = pc.is_in(column, value_set=pa.array([one for one in value if one is not None], column.type))
            found = found if operator == "in" else pc.invert(found)
            found = pc.and_(found, pc.is_valid(column))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InvalidArgumentError(f"when_matched_delete: {term!r}: {error}") from error
    return pc.fill_null(found, False)


def _check_ordering(given: pa.Table, found: pa.Table, target: MergeTarget, is_deleted: pa.ChunkedArray | None) -> None:
    """Refuses updates that readers would not show: those whose ordering value is less than the stored one."""
    is_equal, is_less = pa.repeat(True, len(given)), pa.repeat(False, len(given))
    for name in target.ordering:
        new, old = _cast(given[name], target.columns.field(name), name), found[name]
        is_less = pc.or_(is_less, pc.and_(is_equal, pc.fill_null(pc.less(new, old), False)))
        is_equal = pc.and_(is_equal, pc.fill_null(pc.equal(new, old), False))
    is_late = is_less if is_deleted is None else pc.and_(is_less, pc.invert(is_deleted))
    late = given.select(target.on).filter(is_late)
    if late.num_rows:
        raise InvalidArgumentError(
            f"{late.num_rows} rows, such as {late.slice(0, 1).to_pylist()[0]}, have an ordering value "
            f"({', '.join(target.ordering)}) that is less than the stored one, so that the stored row would win "
            "(if it was deleted, until the table is compacted); leave the column out of when_matched_update to keep "
            "the stored value, or leave these rows out"
        )


def _check_deleted(table: Any, new: pa.Table, target: MergeTarget) -> None:
    """Refuses inserts that readers would not show: of keys that a log has deleted, if the row in the base file, which a
    compaction removes, has a greater ordering value.
    """
    if not target.shadows or not new.num_rows:
        return
    on = target.shadows
    keys = pa.table({name: _cast(new[name], target.columns.field(name), name) for name in on})
    filters = [(name, "in", pc.unique(keys[name]).to_pylist()) for name in on if not keys[name].null_count]
    found = table.read_optimized(columns=[*on, *target.all_ordering], filters=filters or None).to_arrow()
    numbers, places = _matches(keys, found, on)
    _check_ordering(new.take(numbers), found.take(places), replace(target, ordering=target.all_ordering, on=on), None)


def _inserted(new: pa.Table, target: MergeTarget) -> pa.Table:
    columns = [
        _cast(new[field.name], field, field.name)
        if field.name in new.column_names
        else pa.chunked_array([pa.nulls(len(new), field.type)])
        for field in target.columns
    ]
    found = pa.table(columns, schema=target.columns)
    no = pa.chunked_array([pa.repeat(False, len(new))])
    return found.append_column(DELETES_KEY, no).append_column(UPDATES_KEY, no)


def _cast(column: pa.ChunkedArray, field: pa.Field, name: str) -> pa.ChunkedArray:
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidArgumentError(
            f"column {name!r}: values of type {column.type} do not fit the table's {field.type}: {error}"
        ) from error
