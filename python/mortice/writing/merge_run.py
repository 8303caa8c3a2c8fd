"""Runs a merge: reads the stored rows that matter, joins them with the given ones, and writes what changes.

The given rows are in memory. The table is read as a stream of batches: only rows whose keys or partitions the given
rows have, if the condition has such equalities and no clause is for rows that are not matched by the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mortice import _mortice
from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError
from mortice.expressions.expression import Columns, Expression, pushed_terms
from mortice.expressions.filters import Term
from mortice.reading.scan import Scan
from mortice.values.row_numbers import row_numbers
from mortice.writing.merge_clauses import ALL, MergeClause
from mortice.writing.merge_rows_by import SOURCE, TARGET, SourceRows, condition_of, taken
from mortice.writing.row_changes import BATCH_ROWS, KEYS, ChangedRows, assignments
from mortice.writing.update_where import Snapshot
from mortice.writing.validators import CommitCheck

__all__ = ["run_merge"]

ALIASES = {"t": TARGET, "target": TARGET, "s": SOURCE, "source": SOURCE}
SIDES = {"matched": (TARGET, SOURCE), "not_matched": (SOURCE,), "not_matched_by_source": (TARGET,)}
_BATCH_BYTES = 64 << 20
"""Bytes of stored rows that are merged at a time, about."""
_MOST_PARTITIONS = 1_000
"""More values of a partition column than these are no filter."""


@dataclass(frozen=True)
class _Bound:
    """A clause whose expressions are parsed."""

    action: str
    condition: Expression | None
    values: dict[str, Expression]

    def names(self, side: str) -> set[str]:
        expressions = [*self.values.values(), *([self.condition] if self.condition else [])]
        return {name for expression in expressions for name in expression.names(side)}


def run_merge(  # noqa: PLR0917
    native: _mortice.Table,
    snapshot: Snapshot,
    data: pa.Table,
    on: str | Sequence[str],
    clauses: Sequence[MergeClause],
    options: Mapping[str, str],
    check: CommitCheck | None,
) -> Commit:
    """Merges rows into a table (`Table.merge`).

    Args:
        native: The table, opened.
        snapshot: Queries of it.
        data: The rows.
        on: The condition by which they match stored rows.
        clauses: The clauses, in their order.
        options: Options of the write, checked.
        check: Checks the table before the write is completed.
    """
    return _Merge(native, snapshot, data, on, clauses, options).run(check)


class _Merge:
    def __init__(  # noqa: PLR0917
        self,
        native: _mortice.Table,
        snapshot: Snapshot,
        data: pa.Table,
        on: str | Sequence[str],
        clauses: Sequence[MergeClause],
        options: Mapping[str, str],
    ) -> None:
        self.native, self.snapshot, self.options = native, snapshot, options
        own = ChangedRows(native, []).own
        self.sides = {TARGET: own, SOURCE: data.schema}
        self.condition = condition_of(on if isinstance(on, str) else list(on), Columns(self.sides, ALIASES))
        self.clauses = {side: [self._bound(c) for c in clauses if c.side == side] for side in SIDES}
        updated = [n for side in ("matched", "not_matched_by_source") for c in self.clauses[side] for n in c.values]
        _mortice.check_changes(native, list(dict.fromkeys(updated)), dict(options))
        self.changed = ChangedRows(native, updated)
        self.given = _one_batch(data)
        self.rows = SourceRows(self.given, self.condition)
        self.matched: list[pa.Array] = []

    def _bound(self, clause: MergeClause) -> _Bound:
        columns = Columns({side: self.sides[side] for side in SIDES[clause.side]}, ALIASES)
        values = self._all(clause) if clause.values == ALL else clause.values
        try:
            condition = None if clause.condition is None else Expression.condition(clause.condition, columns)
            made = {} if values is None else assignments(values, self.sides[TARGET], columns)  # type: ignore[arg-type]
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{clause.name}: {error.message}") from error
        return _Bound(clause.action, condition, made)

    def _all(self, clause: MergeClause) -> dict[str, str]:
        """Returns the columns that both sides have; of a matched row those that are not equal already."""
        names = [name for name in self.sides[TARGET].names if name in self.sides[SOURCE].names]
        if clause.side == "matched":
            equal = {name for name, node in self.condition.key_columns().items() if _column(node) == name}
            names = [name for name in names if name not in equal]
        if not names:
            raise InvalidArgumentError(f"{clause.name}: rows and table have no columns in common; name them in values")
        return {name: f"source.`{name.replace('`', '``')}`" for name in names}

    def run(self, check: CommitCheck | None) -> Commit:
        return self.changed.write(self._written(), self.options, check)

    def _written(self) -> Iterator[pa.RecordBatch]:
        for stored in self._stored():
            yield from self._matched(stored)
        if self.clauses["not_matched"] and self.given.num_rows:
            yield from self._inserted()

    def _matched(self, stored: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        pairs = self.rows.pairs(stored)
        if pairs.num_rows:
            self.matched.append(pc.unique(pairs.column("s").combine_chunks()))
        if self.clauses["matched"]:
            self._check_once(pairs, stored)
            at_once = _rows_at_once(stored, self.given)
            for start in range(0, pairs.num_rows, at_once):
                yield from self._changed(pairs.slice(start, at_once), stored)
        if self.clauses["not_matched_by_source"]:
            is_matched = pc.is_in(row_numbers(stored.num_rows), pairs.column("t").combine_chunks())
            others = stored.filter(pc.invert(is_matched))
            yield from self._applied(self.clauses["not_matched_by_source"], {TARGET: others}, others)

    def _changed(self, pairs: pa.Table, stored: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        clauses = self.clauses["matched"]
        needed = {name for clause in clauses for name in clause.names(SOURCE)}
        sides = taken(pairs, stored, self.given, (set(stored.schema.names), needed))
        yield from self._applied(clauses, sides, sides[TARGET])

    def _applied(
        self, clauses: list[_Bound], sides: Mapping[str, pa.RecordBatch], stored: pa.RecordBatch
    ) -> Iterator[pa.RecordBatch]:
        """Yields what the first clause makes of each row whose condition is true."""
        for clause in clauses:
            if not stored.num_rows:
                return
            is_chosen = None if clause.condition is None else clause.condition.selected(sides)
            rows, chosen = (stored, sides) if is_chosen is None else (stored.filter(is_chosen), _only(sides, is_chosen))
            if rows.num_rows:
                own = self.changed.own
                made = {name: value.assigned(chosen, own.field(name)) for name, value in clause.values.items()}
                yield self.changed.updates(rows, made) if clause.action == "update" else self.changed.deletes(rows)
            if is_chosen is None:
                return
            stored, sides = stored.filter(pc.invert(is_chosen)), _only(sides, pc.invert(is_chosen))

    def _inserted(self) -> Iterator[pa.RecordBatch]:
        numbers = row_numbers(self.given.num_rows)
        found = pa.concat_arrays(self.matched) if self.matched else pa.array([], pa.int64())
        new = self.given.filter(pc.invert(pc.is_in(numbers, found)))
        at_once = _rows_at_once(new)
        for start in range(0, new.num_rows, at_once):
            rows = new.slice(start, at_once)
            for clause in self.clauses["not_matched"]:
                is_chosen = pa.repeat(True, rows.num_rows)
                if clause.condition is not None:
                    is_chosen = clause.condition.selected({SOURCE: rows})
                chosen, own = rows.filter(is_chosen), self.changed.own
                made = {n: value.assigned({SOURCE: chosen}, own.field(n)) for n, value in clause.values.items()}
                yield self.changed.inserts(chosen.num_rows, made)
                rows = rows.filter(pc.invert(is_chosen))

    def _check_once(self, pairs: pa.Table, stored: pa.RecordBatch) -> None:
        """Refuses stored rows that several given ones match, unless each of these deletes them."""
        numbers = pairs.column("t").combine_chunks()
        if len(pc.unique(numbers)) == len(numbers):
            return
        counts = pc.value_counts(numbers)
        several = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        several = self._not_deleted(pairs.filter(pc.is_in(pairs.column("t"), several)), stored)
        if not len(several):
            return
        row = several[0].as_py()
        key = {name: stored.column(name)[row].as_py() for name in self.native.record_key_fields}
        raise InvalidArgumentError(
            f"several rows match the stored row of the key {key}: it is not known which of them is to be merged; leave "
            "one of each, or make the condition narrower"
        )

    def _not_deleted(self, pairs: pa.Table, stored: pa.RecordBatch) -> pa.Array:
        """Returns the numbers of the stored rows of pairs that are not deleted for each of their pairs."""
        left = [pc.unique(pairs.column("t").combine_chunks()).slice(0, 0)]
        for start in range(0, pairs.num_rows, BATCH_ROWS):
            some = pairs.slice(start, BATCH_ROWS)
            for clause in self.clauses["matched"]:
                names = clause.condition.names(SOURCE) if clause.condition else set()
                sides = taken(some, stored, self.given, (set(stored.schema.names), names))
                is_chosen = clause.condition.selected(sides) if clause.condition else pa.repeat(True, some.num_rows)
                if clause.action != "delete":
                    left.append(some.filter(is_chosen).column("t").combine_chunks())
                some = some.filter(pc.invert(is_chosen))
            left.append(some.column("t").combine_chunks())
        return pa.concat_arrays(left)

    def _stored(self) -> Iterator[pa.RecordBatch]:
        """Yields the stored rows that may matter, in batches of about half as many rows as are given, or fewer large
        ones."""
        least = max(BATCH_ROWS, self.given.num_rows // 2)
        kept: list[pa.RecordBatch] = []
        scan = self._scan()
        for batch in scan.to_reader() if scan is not None else ():
            kept.append(batch)
            if sum(one.num_rows for one in kept) >= least or sum(one.nbytes for one in kept) >= _BATCH_BYTES:
                yield _one_batch(pa.Table.from_batches(kept))
                kept = []
        if kept:
            yield _one_batch(pa.Table.from_batches(kept))

    def _scan(self) -> Scan | None:
        """Returns a query of the stored rows that may matter; None if there are none."""
        columns = [*self._needed(), *KEYS]
        if self.clauses["not_matched_by_source"]:
            return self.snapshot(columns, None)
        names = self.condition.key_columns()
        if self.native.record_key_fields and set(self.native.record_key_fields) <= set(names):
            partitions = self.native.partition_fields
            located = partitions if set(partitions) <= set(names) else []
            keys = self._values([*self.native.record_key_fields, *located])
            if keys is not None and not keys.num_rows:
                return None
            if keys is not None:
                return Scan(_mortice.rows_of_keys(self.native, keys, columns), "rows of a merge")
        terms = [*pushed_terms(self.condition.expression, Columns(self.sides), TARGET), *self._partition_terms()]
        return self.snapshot(columns, [terms] if terms else None)

    def _needed(self) -> list[str]:
        """Returns the columns that are read: all of them, unless rows are inserted only."""
        if self.clauses["matched"] or self.clauses["not_matched_by_source"]:
            return list(self.sides[TARGET].names)
        used = self.condition.expression.names(TARGET)
        return [name for name in self.sides[TARGET].names if name in used]

    def _values(self, names: list[str]) -> pa.RecordBatch | None:
        """Returns the distinct values that columns of the table are to have; None if the table has other types."""
        sources, own = self.condition.key_columns(), self.sides[TARGET]
        columns = [sources[n].evaluate({SOURCE: self.given}) for n in names]
        try:
            columns = [pc.cast(column, own.field(n).type) for n, column in zip(names, columns, strict=True)]
        except pa.ArrowException:
            return None
        table = pa.table(columns, names=names).drop_null()
        return _one_batch(table.group_by(names).aggregate([]).select(names))

    def _partition_terms(self) -> list[Term]:
        names = self.condition.key_columns()
        terms: list[Term] = []
        for name in self.native.partition_fields:
            values = self._values([name]) if name in names else None
            if values is not None and values.num_rows <= _MOST_PARTITIONS and _is_filtered(values.column(0).type):
                terms.append((name, "in", values.column(0).to_pylist()))
        return terms


def _column(value: Expression) -> str | None:
    found = value.plain_column()
    return None if found is None else found[1]


def _is_filtered(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_date(kind))


def _only(sides: Mapping[str, pa.RecordBatch], rows: pa.Array) -> dict[str, pa.RecordBatch]:
    return {side: batch.filter(rows) for side, batch in sides.items()}


def _rows_at_once(*sides: pa.RecordBatch) -> int:
    """Returns how many rows of these, beside each other, are of a sensible size."""
    row_bytes: int = sum(rows.nbytes // max(1, rows.num_rows) for rows in sides)
    return max(1, min(BATCH_ROWS, _BATCH_BYTES // max(1, row_bytes)))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        # Offsets of Arrow's strings have 31 bits: pyarrow leaves larger columns in several chunks.
        raise InvalidArgumentError("the rows of a merge have 2 GiB or more in one column; merge them in several parts")
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
