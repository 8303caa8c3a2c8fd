"""What is different in a table between two instants."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from mortice.display.markup import grid, value_cell
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.insight.table_view import TableView
from mortice.values.instants import TIMELINE_ZONE, InstantLike, instant_text
from mortice.values.other_names import answering
from mortice.values.visible_text import visible_text

__all__ = ["CHANGE", "Diff", "diff_of", "row_numbers"]

CHANGE = "_change"
KEY = "_hoodie_record_key"
PARTITION = "_hoodie_partition_path"
SEQUENCE = "_hoodie_commit_seqno"
KEYS = [PARTITION, KEY]
IDENTITY = [*KEYS, SEQUENCE]
META_PREFIX = "_hoodie_"
SHOWN = 10
"""The rows of each kind that a notebook shows."""
MOST_KEYS = 10_000
"""Keys that are passed as a filter. With more, all rows of the partitions are read."""


@answering
@dataclass(frozen=True)
class Diff:
    """What is different between two instants."""

    begin: str
    """The first instant."""
    end: str
    """The second."""
    inserted: pa.Table = field(repr=False)
    """The rows whose keys are new at `end`."""
    before: pa.Table = field(repr=False)
    """The rows that were updated, as they were at `begin`."""
    updated: pa.Table = field(repr=False)
    """The same rows in the same order, as they are at `end`."""
    deleted: pa.Table = field(repr=False)
    """The rows that are gone at `end`, as they were at `begin`."""

    def to_arrow(self) -> pa.Table:
        """Returns all rows as one table, with `_change` before the others: `insert`, `update_before`, `update_after`,
        `delete`.
        """
        parts = {
            "insert": self.inserted,
            "update_before": self.before,
            "update_after": self.updated,
            "delete": self.deleted,
        }
        tables = [
            rows.add_column(0, CHANGE, pa.array([name] * rows.num_rows, pa.string())) for name, rows in parts.items()
        ]
        return pa.concat_tables(tables, promote_options="permissive")

    @property
    def _counts(self) -> str:
        return (
            f"{self.inserted.num_rows:,} inserted, {self.updated.num_rows:,} updated, {self.deleted.num_rows:,} deleted"
        )

    def __repr__(self) -> str:
        return visible_text(f"Diff({self.begin} to {self.end}: {self._counts})")

    def _repr_html_(self) -> str:
        """Some of the changes as a table, for notebooks: of an updated row what it was and what it is."""
        names = self.updated.column_names
        rows = [["insert", *_cells(row, names)] for row in self.inserted.slice(0, SHOWN).to_pylist()]
        for before, after in zip(
            self.before.slice(0, SHOWN).to_pylist(), self.updated.slice(0, SHOWN).to_pylist(), strict=True
        ):
            rows += [["update, before", *_cells(before, names)], ["update, after", *_cells(after, names)]]
        rows += [["delete", *_cells(row, names)] for row in self.deleted.slice(0, SHOWN).to_pylist()]
        return grid(["change", *names], rows, f"{self.begin} to {self.end}: {self._counts}; the first {SHOWN} of each")


def _cells(row: dict[str, object], names: list[str]) -> list[object]:
    return [value_cell(row.get(name)) for name in names]


def diff_of(table: TableView, begin: InstantLike, end: InstantLike, columns: list[str] | None) -> Diff:
    """Compares two snapshots.

    Args:
        table: The table.
        begin: The instant of the first.
        end: The instant of the second; None is the latest.
        columns: The columns to return; None are all but meta columns.

    Raises:
        InvalidArgumentError: The instants are in the wrong order, or there is no `begin`.
        UnsupportedError: The table has no meta columns.
    """
    if not table.has_meta_columns:
        raise UnsupportedError("diff needs the meta columns, which this table does not have")
    first, last = _bounds(table, begin, end)
    names = columns if columns is not None else [one for one in table.schema.names if not one.startswith(META_PREFIX)]
    where = _changed_partitions(table, first, last)
    if where == []:
        nothing = table.snapshot(columns=[KEY, *names], filters=[(KEY, "in", [])]).to_arrow()
        return Diff(first, last, nothing, nothing, nothing, nothing)
    compared = IDENTITY if table.merge_mode != "CUSTOM" else IDENTITY + _comparable(table)
    old = _snapshot(table, first, compared, where)
    new = _snapshot(table, last, compared, where)
    gone = old.join(new, keys=compared, join_type="left anti").select(KEYS)
    come = new.join(old, keys=compared, join_type="left anti").select(KEYS)
    before = _rows(table, first, gone, names, where)
    after = _rows(table, last, come, names, where)
    shared = _distinct(come).join(_distinct(gone), keys=KEYS, join_type="left semi")
    chosen = [KEY, *(name for name in names if name != KEY)]
    return Diff(
        first,
        last,
        inserted=_matching(after, shared, "left anti").select(chosen),
        before=_matching(before, shared, "left semi").select(chosen),
        updated=_matching(after, shared, "left semi").select(chosen),
        deleted=_matching(before, shared, "left anti").select(chosen),
    )


def _bounds(table: TableView, begin: InstantLike, end: InstantLike) -> tuple[str, str]:
    zone = table.properties.get(TIMELINE_ZONE, "LOCAL")
    first = instant_text(begin, zone, argument="begin")
    latest = table.timeline.latest
    last = instant_text(end, zone, argument="end") or (None if latest is None else latest.requested_time)
    if first is None or last is None:
        raise InvalidArgumentError("begin must be an instant, and the table must have a completed write")
    digits = ["".join(one for one in text if one.isdigit()) for text in (first, last)]
    if digits[0][:14] > digits[1][:14]:
        raise InvalidArgumentError(f"end must not be before begin, got {first} and {last}")
    return first, last


def _changed_partitions(table: TableView, first: str, last: str) -> list[str] | None:
    """Returns the partitions whose files are different; None if only a snapshot can tell."""
    sides = []
    for instant in (first, last):
        found: dict[str, set[str]] = {}
        for one in table.file_slices(as_of=instant):
            files = [*([one.base_file] if one.base_file else []), *one.log_files]
            found.setdefault(one.partition, set()).update(file.path for file in files)
        sides.append(found)
    if table.version < 8:  # noqa: PLR2004 — writes append to log files of the same name
        return None
    names = sorted(sides[0].keys() | sides[1].keys())
    return [name for name in names if sides[0].get(name) != sides[1].get(name)]


def _snapshot(table: TableView, instant: str, columns: list[str], where: list[str] | None) -> pa.Table:
    filters = None if where is None else [(PARTITION, "in", where)]
    return table.snapshot(columns=columns, filters=filters, as_of=instant).to_arrow()


def _comparable(table: TableView) -> list[str]:
    """Returns the columns that a join can compare: a merger may change them and keep the meta columns."""
    return [
        one.name for one in table.schema if not one.name.startswith(META_PREFIX) and not pa.types.is_nested(one.type)
    ]


def _rows(table: TableView, instant: str, keys: pa.Table, names: list[str], where: list[str] | None) -> pa.Table:
    columns = list(dict.fromkeys([*KEYS, *names]))
    filters: list[tuple[str, str, object]] = [] if where is None else [(PARTITION, "in", where)]
    found = keys.column(KEY)
    if keys.num_rows <= MOST_KEYS:
        filters.append((KEY, "in", found.unique().to_pylist()))
    # Columns that were added later are null.
    known = set(table.snapshot(as_of=instant).schema.names)
    absent = [table.schema.field(name) for name in columns if name in table.schema.names and name not in known]
    stored = [name for name in columns if name not in {one.name for one in absent}]
    rows = table.snapshot(columns=stored, filters=filters or None, as_of=instant).to_arrow()
    for added in absent:
        rows = rows.append_column(added, pa.nulls(rows.num_rows, added.type))
    return _matching(rows, _distinct(keys), "left semi")


def _distinct(keys: pa.Table) -> pa.Table:
    return keys.group_by(KEYS).aggregate([])


def _matching(rows: pa.Table, keys: pa.Table, join: str) -> pa.Table:
    """Returns the rows that a join with keys leaves, ordered by partition and key."""
    # Joins of pyarrow carry no nested columns: rows are taken by their numbers.
    numbered = rows.select(KEYS).append_column("row", row_numbers(rows.num_rows))
    left = numbered.join(keys, keys=KEYS, join_type=join).sort_by([(name, "ascending") for name in KEYS])
    return rows.take(left.column("row"))


def row_numbers(count: int) -> pa.Array:
    """Returns `count` numbers from 0, one after the other."""
    # A tenth of the time that importing mortice would take.
    import pyarrow.compute as pc

    return pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count), start=-1)
