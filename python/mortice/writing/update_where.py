"""`Table.update_where`: expressions over the rows that a condition selects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError
from mortice.expressions.expression import Columns, Expression, pushed_terms
from mortice.expressions.filters import Filters, Term, normal_form
from mortice.reading.scan import Scan
from mortice.writing.row_changes import KEYS, ChangedRows, Values, assignments, own_columns
from mortice.writing.validators import CommitCheck

__all__ = ["Snapshot", "update_where"]

Snapshot = Callable[[Sequence[str], Sequence[Sequence[Term]] | None], Scan]
"""Plans a query of columns and filters, in the state in which the table was opened."""


def update_where(  # noqa: PLR0917
    native: _mortice.Table,
    snapshot: Snapshot,
    values: Values,
    filters: Filters | str,
    options: Mapping[str, str],
    check: CommitCheck | None,
) -> Commit:
    """Updates the rows that a condition selects.

    Args:
        native: The table, opened.
        snapshot: Queries of it.
        values: The columns and what they get.
        filters: The condition.
        options: Options of the write, checked.
        check: Checks the table before the write is completed.
    """
    columns = Columns({"row": own_columns(pa.schema(native.schema()))})
    condition, terms = _condition(filters, columns)
    made = assignments(values, columns.sides["row"], columns)
    _mortice.check_changes(native, list(made), dict(options))
    changed = ChangedRows(native, list(made))
    scan = snapshot([*changed.own.names, *KEYS], terms)

    def rows() -> Iterator[pa.RecordBatch]:
        for batch in scan.to_reader():
            found = batch if condition is None else batch.filter(condition.selected({"row": batch}))
            if found.num_rows:
                row = {"row": found}
                yield changed.updates(found, {n: e.assigned(row, changed.own.field(n)) for n, e in made.items()})

    return changed.write(rows(), options, check)


def _condition(filters: Filters | str, columns: Columns) -> tuple[Expression | None, list[list[Term]] | None]:
    if isinstance(filters, str):
        condition = Expression.condition(filters, columns)
        terms = pushed_terms(condition, columns, "row")
        return condition, [terms] if terms else None
    terms_of = normal_form(filters, lambda: columns.sides["row"])
    if not terms_of:
        raise InvalidArgumentError("filters must select rows; the condition 'true' selects all of them")
    return None, terms_of
