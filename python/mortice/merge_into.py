"""`Table.merge_into`: the rows that a merge writes, made from the given rows and the stored rows of their keys.

Rows are matched by record key and partition path, as the table's key generator makes them. Values of partition columns
do not suffice: queries take them from the path, which does not say all of them (an empty string, a timestamp). The
stored rows are read with filters on both, so that other partitions and file groups are skipped. Matched rows are
written with all their columns, as one upsert with the rows that are inserted and deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mortice import _mortice
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.filters import Filters, Term, normal_form
from mortice.options import checked_columns

__all__ = [
    "COLUMNS_UPDATED",
    "COMMITS_READ",
    "DELETES_KEY",
    "PARTITION_PATH",
    "RECORD_KEY",
    "UPDATES_KEY",
    "MergeClauses",
    "MergeTarget",
    "from_batches",
    "merge_target",
    "merged_rows",
    "row_keys",
    "row_paths",
    "unmatched_path",
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
RECORD_KEY, PARTITION_PATH = "_hoodie_record_key", "_hoodie_partition_path"
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
    keys: list[str]
    """The columns of the record key."""
    partitions: list[str]
    """The partition columns."""
    by_path: bool
    """Whether the given rows have partition paths, by which they are matched. Otherwise a key is matched in each
    partition, or in those that have the values of the partition columns in `on`.
    """
    is_global: bool
    """Whether the write has a global index: a key is unique in the table."""
    properties: dict[str, str]
    """The table's properties, which keys are made by."""
    options: dict[str, str]
    """Options of the write."""
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
    _check_case(table.schema.names, given)
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
    located = {*table.record_key_fields, *(() if is_global else table.partition_fields)} - set(on)
    moved = sorted(located & set(update))
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
    all_ordering = [name for name in table.ordering_fields if by_event_time and name in given]
    has_logs = table.properties.get("hoodie.table.type", "").upper() == "MERGE_ON_READ"
    key = [*table.record_key_fields, *(name for name in table.partition_fields if not is_global)]
    shadows = list(dict.fromkeys(key)) if has_logs and all_ordering and clauses.inserts else []
    keys, partitions = list(table.record_key_fields), list(table.partition_fields)
    return MergeTarget(
        columns=columns,
        on=on,
        update=update,
        ordering=ordering,
        given=list(given),
        keys=keys,
        partitions=partitions,
        by_path=bool(partitions) and set(partitions) <= set(on),
        is_global=is_global,
        properties=dict(table.properties),
        options=dict(options),
        all_ordering=all_ordering,
        shadows=shadows,
        commits=commits,
    )


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


def _check_case(names: Sequence[str], given: Sequence[str]) -> None:
    """Refuses columns that would be left out, as their names differ from the table's in case."""
    spelled = {name.lower(): name for name in names}
    for name in given:
        of_table = spelled.get(name.lower())
        if of_table is not None and name not in names:
            raise InvalidArgumentError(
                f"the rows have a column {name!r}, and the table {of_table!r}: names of columns are case-sensitive; "
                "rename the column"
            )


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
        UnsupportedError: The partition of a stored row is not that of its partition columns, by which it would be
            written.
    """
    rows = _converted(_without_views(rows), target, clauses)
    _check_keys(rows, target)
    keys = row_keys(rows, target, target.on)
    _check_distinct(keys, rows, target)
    stored = _stored(table, keys, target)
    numbers, places = _matches(rows, keys, stored, target)
    given, found = rows.take(numbers), stored.take(places)
    # A bulk insert may have written a key several times.
    _check_distinct(found.select([RECORD_KEY, PARTITION_PATH]), given, target)
    is_deleted = _holds(clauses.delete, given, found)
    _check_ordering(given, found, target, is_deleted)
    # The values of partition columns that queries return may differ from those that the files have.
    from_given = {*target.update, *(name for name in target.partitions if name in target.on)}
    updated = pa.table(
        [given[name] if name in from_given else found[name] for name in target.columns.names], schema=target.columns
    )
    is_written = is_deleted if not target.update else pa.chunked_array([pa.repeat(True, len(updated))])
    marked = updated.append_column(DELETES_KEY, is_deleted).append_column(UPDATES_KEY, pc.invert(is_deleted))
    parts = [marked.filter(is_written)]
    if clauses.inserts:
        new = rows.filter(pc.invert(pc.is_in(pa.array(range(rows.num_rows), pa.int64()), value_set=numbers)))
        _check_deleted(table, new, target)
        parts.append(_inserted(new, target))
    return pa.concat_tables(parts)


def _without_views(rows: pa.Table) -> pa.Table:
    """Returns the rows with strings and binaries instead of views, which few functions of pyarrow take."""
    for number, field in enumerate(rows.schema):
        plain = _without_view(field.type)
        if plain != field.type:
            try:
                column = rows[field.name].cast(plain)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                message = f"column {field.name!r}: {field.type} cannot be converted to {plain}; cast it before"
                raise InvalidArgumentError(message) from error
            rows = rows.set_column(number, field.name, column)
    return rows


def _without_view(kind: pa.DataType) -> pa.DataType:
    def child(field: pa.Field) -> pa.Field:
        return field.with_type(_without_view(field.type))

    # pyarrow 17 has views, but not all of these functions.
    name = str(kind)
    if name == "string_view":
        return pa.string()
    if name == "binary_view":
        return pa.binary()
    if pa.types.is_dictionary(kind):
        return kind if _without_view(kind.value_type) == kind.value_type else _without_view(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([child(kind.field(number)) for number in range(kind.num_fields)])
    if pa.types.is_list(kind):
        return pa.list_(child(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(child(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(child(kind.key_field), child(kind.item_field), keys_sorted=kind.keys_sorted)
    return kind


def _converted(rows: pa.Table, target: MergeTarget, clauses: MergeClauses) -> pa.Table:
    """Returns the rows in the table's types, as far as their columns are written or matched."""
    written = {*target.on, *target.update, *(target.columns.names if clauses.inserts else ())}
    fields = [field for field in target.columns if field.name in written]
    columns = pa.schema(fields).empty_table()
    return from_batches(_mortice.columns_of_table(_reader(rows), columns, target.options))


def _reader(rows: pa.Table) -> pa.RecordBatchReader:
    """Returns the batches of rows, one without rows if there are none."""
    batches = rows.to_batches() or [pa.RecordBatch.from_pylist([], schema=rows.schema)]
    return pa.RecordBatchReader.from_batches(rows.schema, batches)


def from_batches(batches: Sequence[_mortice.ArrowBatch]) -> pa.Table:
    """Returns the table of the batches that the native module returns, of which there is at least one."""
    return pa.Table.from_batches([pa.record_batch(batch) for batch in batches])


def row_keys(rows: pa.Table, target: MergeTarget, names: Sequence[str]) -> pa.Table:
    """Returns the record keys and partition paths of rows, under the names of the meta columns.

    Args:
        rows: The rows, in the table's types.
        target: How they are merged.
        names: The columns that they are made of. Paths are empty if these are not all partition columns.
    """
    has_paths = set(target.partitions) <= set(names)
    wanted = rows.select([name for name in names if has_paths or name in target.keys or name not in target.partitions])
    keys = _mortice.row_keys(target.properties, target.options, _reader(wanted), not has_paths)
    return from_batches(keys).rename_columns([RECORD_KEY, PARTITION_PATH])


def row_paths(rows: pa.Table, target: MergeTarget) -> pa.ChunkedArray:
    """Returns the partition paths of rows that have the partition columns."""
    for name in (name for name in target.keys if name not in rows.column_names):
        rows = rows.append_column(name, pa.nulls(rows.num_rows, target.columns.field(name).type))
    return from_batches(_mortice.row_partitions(target.properties, target.options, _reader(rows)))[0]


def unmatched_path(path: str, target: MergeTarget) -> UnsupportedError:
    """Returns the error for a stored row that would be written to another partition."""
    names = [name for name in target.partitions if name not in target.on]
    return UnsupportedError(
        f"merge_into without the partition column {', '.join(names)}: queries take its values from partition paths, "
        f"and those of partition {path!r} are not what its rows were written with; add it to the rows and to on"
    )


def _check_keys(rows: pa.Table, target: MergeTarget) -> None:
    for name in target.on:
        if rows[name].null_count:
            raise InvalidArgumentError(f"column {name!r}: a row to merge has null, which matches no row")


def _check_distinct(keys: pa.Table, rows: pa.Table, target: MergeTarget) -> None:
    """Refuses several rows of one key.

    Args:
        keys: The keys of the rows.
        rows: The rows, for the message, and partition columns that say where a key is matched.
        target: How they are merged.
    """
    counted = keys.append_column(_ROW, pa.array(range(keys.num_rows), pa.int64()))
    if not target.by_path:
        for name in (name for name in target.on if name in target.partitions):
            counted = counted.append_column(f"_mortice_of_{name}", rows[name])
    names = [name for name in counted.column_names if name != _ROW]
    counts = counted.group_by(names).aggregate([(_ROW, "count"), (_ROW, "min")])
    twice = counts.filter(pc.greater(counts[f"{_ROW}_count"], 1))
    if twice.num_rows:
        number = twice[f"{_ROW}_min"][0].as_py()
        raise InvalidArgumentError(
            f"several rows have the key {rows.select(target.on).slice(number, 1).to_pylist()[0]}: it is not known "
            "which of them is to be merged; leave one of each"
        )


def _key_filters(keys: pa.Table, *, by_path: bool) -> list[Term]:
    names = [RECORD_KEY, PARTITION_PATH] if by_path else [RECORD_KEY]
    return [(name, "in", pc.unique(keys[name]).to_pylist()) for name in names]


def _stored(table: Any, keys: pa.Table, target: MergeTarget) -> pa.Table:
    """Returns the stored rows that may be matched, with their keys, and a few others among them."""
    names = [*target.columns.names, RECORD_KEY, PARTITION_PATH]
    if not keys.num_rows:
        fields = [*target.columns, pa.field(RECORD_KEY, pa.string()), pa.field(PARTITION_PATH, pa.string())]
        return pa.schema(fields).empty_table()
    filters = _key_filters(keys, by_path=target.by_path)
    found: pa.Table = table.snapshot(columns=names, filters=filters).to_arrow()
    return found


def _matches(
    rows: pa.Table, keys: pa.Table, stored: pa.Table, target: MergeTarget
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Returns the numbers of the given rows and of the stored rows that match."""
    numbers, places = _joined(keys, stored, by_path=target.by_path)
    left_out = [name for name in target.partitions if name not in target.on and name not in target.update]
    if target.by_path or not target.partitions or not left_out:
        return numbers, places
    # The path of a stored row, with the partition columns that the given row has.
    found = stored.take(places)
    path = found[PARTITION_PATH]
    columns = found.select(target.partitions)
    is_itself = pc.equal(row_paths(columns, target), path)
    is_match = is_itself
    matched_by = [name for name in target.partitions if name in target.on]
    if matched_by:
        given = rows.take(numbers)
        for name in matched_by:
            columns = columns.set_column(columns.schema.get_field_index(name), name, given[name])
        is_match = pc.equal(row_paths(columns, target), path)
    unknown = path.filter(pc.invert(pc.or_(is_itself, is_match)))
    if len(unknown):
        raise unmatched_path(unknown[0].as_py(), target)
    return numbers.filter(is_match), places.filter(is_match)


def _joined(keys: pa.Table, stored: pa.Table, *, by_path: bool) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Returns the numbers of rows of both sides that have the same key, and if wanted the same partition path."""
    names = [RECORD_KEY, PARTITION_PATH] if by_path else [RECORD_KEY]
    left = keys.select(names).append_column(_ROW, pa.array(range(keys.num_rows), pa.int64()))
    right = stored.select(names).append_column(_STORED, pa.array(range(stored.num_rows), pa.int64()))
    joined = left.join(right, keys=names, join_type="inner", use_threads=False)
    return joined[_ROW], joined[_STORED]


def _holds(filters: list[list[Term]] | None, given: pa.Table, found: pa.Table) -> pa.ChunkedArray:
    """Returns which rows a filter selects; a column is that of the given row, or else of the stored one."""
    if filters is None:
        return pa.chunked_array([pa.repeat(False, len(given))])
    columns: dict[str, pa.ChunkedArray] = {}
    for name, _, _ in (term for terms in filters for term in terms):
        side = next((side for side in (given, found) if name in side.column_names), None)
        if side is None:
            raise InvalidArgumentError(f"when_matched_delete names {name!r}, which neither rows nor table have")
        columns[name] = side[name]
    try:
        return from_batches(_mortice.selected_rows(_reader(pa.table(columns)), filters))[0]
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"when_matched_delete: {error.args[0]}") from error


def _check_ordering(given: pa.Table, found: pa.Table, target: MergeTarget, is_deleted: pa.ChunkedArray | None) -> None:
    """Refuses updates that readers would not show: those whose ordering value is less than the stored one."""
    is_equal, is_less = pa.repeat(True, len(given)), pa.repeat(False, len(given))
    for name in target.ordering:
        new, old = given[name], found[name]
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
    keys = row_keys(new, target, on)
    by_path = bool(target.partitions) and not target.is_global
    columns = [RECORD_KEY, PARTITION_PATH, *target.all_ordering]
    found = table.read_optimized(columns=columns, filters=_key_filters(keys, by_path=by_path)).to_arrow()
    numbers, places = _joined(keys, found, by_path=by_path)
    _check_ordering(new.take(numbers), found.take(places), replace(target, ordering=target.all_ordering, on=on), None)


def _inserted(new: pa.Table, target: MergeTarget) -> pa.Table:
    columns = [
        new[field.name] if field.name in new.column_names else pa.chunked_array([pa.nulls(len(new), field.type)])
        for field in target.columns
    ]
    found = pa.table(columns, schema=target.columns)
    no = pa.chunked_array([pa.repeat(False, len(new))])
    return found.append_column(DELETES_KEY, no).append_column(UPDATES_KEY, no)
