"""The clauses of merges, as the native module takes them, and `Table.merge` as a builder of them."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError
from mortice.values.options import checked_columns
from mortice.values.other_names import answering

__all__ = [
    "ALL",
    "MERGE_ARGUMENTS",
    "Action",
    "Clauses",
    "MergeBuilder",
    "MergeClause",
    "NewValues",
    "Values",
    "clauses_of",
    "clauses_of_arguments",
    "matched_by",
    "new_values",
]

PLAIN = (bool, int, float, bytes, decimal.Decimal, dt.date, dt.datetime)

Values = Mapping[str, Any]
"""What columns get: expressions as strings, or other Python values."""
NewValues = list[tuple[str, "str | tuple[pa.RecordBatch, str]"]]
"""The same for the native module: of a Python value, a batch of it alone, and how messages show it."""


def new_values(values: Values | str) -> NewValues:
    """Returns what columns get.

    Args:
        values: The columns, and expressions as strings or other Python values.

    Raises `InvalidArgumentError` for anything else; the native module checks columns and expressions.
    """
    if not isinstance(values, Mapping) or not values:
        raise InvalidArgumentError(f"values must map columns to expressions, got {values!r}")
    return [(_name(name), _value(value)) for name, value in values.items()]


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidArgumentError(f"values name {name!r}, which the table does not have")
    return name


def _value(value: object) -> str | tuple[pa.RecordBatch, str]:
    return value if isinstance(value, str) else (_constant_rows(value), repr(value))


def _constant_rows(value: object) -> pa.RecordBatch:
    """Returns a batch of a Python value alone. Raises `InvalidArgumentError` for one that is not plain."""
    if isinstance(value, pa.Scalar):
        return pa.record_batch([pa.repeat(value, 1)], names=["value"])
    if value is not None and not isinstance(value, PLAIN):
        raise InvalidArgumentError(f"a value must be an expression as a string, or a plain value, got {value!r}")
    try:
        return pa.record_batch([pa.array([value])], names=["value"])
    except (pa.ArrowException, OverflowError) as error:
        raise InvalidArgumentError(f"{value!r} is no value of a column: {error}") from error


Clauses = tuple[list[str] | None, list[str] | None, str]
"""The columns that match, those that a matched row gets, and what happens to other rows."""


def clauses_of(
    on: str | Sequence[str] | None, when_matched_update: Sequence[str] | None, when_not_matched: str
) -> Clauses:
    """Returns the clauses of a merge.

    Args:
        on: As for `Table.merge_into`.
        when_matched_update: As for `Table.merge_into`.
        when_not_matched: As for `Table.merge_into`; the native module checks it.

    Raises `InvalidArgumentError` for names that are no lists of strings.
    """
    keys = checked_columns([on] if isinstance(on, str) else on)
    return keys, checked_columns(when_matched_update), str(when_not_matched)


ALL = "all"
"""All columns that rows and table have in common."""
Action = Literal["update", "delete", "insert"]
Side = Literal["matched", "not_matched", "not_matched_by_source"]


@dataclass(frozen=True)
class MergeClause:
    """A clause of a merge: the rows that it is for, what happens to them, and under which condition."""

    side: Side
    action: Action
    condition: str | None = None
    values: Values | str | None = None

    @property
    def name(self) -> str:
        """The name of the method that adds the clause."""
        return f"when_{self.side}_{self.action}"

    def native(self) -> tuple[str, str, str | None, str | NewValues]:
        """Returns the clause as the native module takes it: side, action, condition, and `"all"` or the values."""
        try:
            values = ALL if self.values == ALL else [] if self.values is None else new_values(self.values)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{self.name}: {error.message}") from error
        return self.side, self.action, self.condition, values


@answering
class MergeBuilder:
    """A merge that clauses are added to. Created by `Table.merge`; `execute` runs it.

        table.merge(rides, on="t.id = s.id").when_matched_delete("s.gone").when_matched_update(
            {"fare": "t.fare + s.fare"}
        ).when_not_matched_insert().execute()

    A row gets the first clause of its kind whose condition is true; rows without one stay as they are. Expressions name
    columns of the table as `t.fare` or `target.fare`, those of the rows as `s.fare` or `source.fare`, and by their name
    alone if only one side has them.
    """

    def __init__(self, run: Callable[[Sequence[MergeClause]], Commit], clauses: Sequence[MergeClause] = ()) -> None:
        self._run = run
        self._clauses = tuple(clauses)

    def when_matched_update(self, values: Values | str = ALL, condition: str | None = None) -> MergeBuilder:
        """Adds a clause: stored rows that a row matches get other values.

        Args:
            values: The columns and their expressions, or `"all"`: all columns that rows and table have in common.
            condition: A condition on both; none for all of them.
        """
        return self._with(MergeClause("matched", "update", condition, _values(values)))

    def when_matched_update_all(self, condition: str | None = None) -> MergeBuilder:
        """Adds `when_matched_update("all", condition)`."""
        return self.when_matched_update(ALL, condition)

    def when_matched_delete(self, condition: str | None = None) -> MergeBuilder:
        """Adds a clause: stored rows that a row matches are deleted, all of them or those of a condition on both."""
        return self._with(MergeClause("matched", "delete", condition))

    def when_not_matched_insert(self, values: Values | str = ALL, condition: str | None = None) -> MergeBuilder:
        """Adds a clause: rows that match no stored one are inserted.

        Args:
            values: The columns of the new row and their expressions over the given one; others are null. `"all"`: all
                columns that rows and table have in common.
            condition: A condition on the given row; none for all of them.
        """
        return self._with(MergeClause("not_matched", "insert", condition, _values(values)))

    def when_not_matched_insert_all(self, condition: str | None = None) -> MergeBuilder:
        """Adds `when_not_matched_insert("all", condition)`."""
        return self.when_not_matched_insert(ALL, condition)

    def when_not_matched_by_source_update(self, values: Values, condition: str | None = None) -> MergeBuilder:
        """Adds a clause: stored rows that no row matches get other values. The whole table is read.

        Args:
            values: The columns and their expressions over the stored row.
            condition: A condition on the stored row; none for all of them.
        """
        if not isinstance(values, Mapping):
            raise InvalidArgumentError("when_not_matched_by_source_update takes a mapping of columns to expressions")
        return self._with(MergeClause("not_matched_by_source", "update", condition, values))

    def when_not_matched_by_source_delete(self, condition: str | None = None) -> MergeBuilder:
        """Adds a clause: stored rows that no row matches are deleted, all of them or those of a condition."""
        return self._with(MergeClause("not_matched_by_source", "delete", condition))

    def execute(self) -> Commit:
        """Runs the merge, as one commit (`Table.merge`). Nothing is written if no row changes."""
        if not self._clauses:
            raise InvalidArgumentError("a merge needs a clause, such as when_matched_update()")
        return self._run(self._clauses)

    def __repr__(self) -> str:
        clauses = ", ".join(clause.name for clause in self._clauses) or "no clauses"
        return f"MergeBuilder({clauses}; nothing is written before execute())"

    def _with(self, clause: MergeClause) -> MergeBuilder:
        if clause.condition is not None and not isinstance(clause.condition, str):
            raise InvalidArgumentError(f"the condition of {clause.name} must be a string, got {clause.condition!r}")
        for other in self._clauses:
            if other.side == clause.side and other.condition is None:
                raise InvalidArgumentError(
                    f"{clause.name} is without effect behind {other.name}, which has no condition; give it one, or add "
                    "it first"
                )
        return MergeBuilder(self._run, (*self._clauses, clause))


def matched_by(on: str | Sequence[str]) -> str | list[str]:
    """Returns the condition by which rows match, or the columns that are equal, as the native module takes them."""
    if isinstance(on, str):
        return on
    names = list(on)
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"on must be a condition or a list of columns, got {names!r}")
    return names


def _values(values: Values | str) -> Values | str:
    if isinstance(values, str) and values != ALL:
        raise InvalidArgumentError(f'values must map columns to expressions, or be "all", got {values!r}')
    return values


MERGE_ARGUMENTS = (
    "when_matched_update",
    "when_matched_delete",
    "when_not_matched_insert",
    "when_not_matched_by_source_update",
    "when_not_matched_by_source_delete",
)
"""The clauses that are arguments of `Table.merge`."""


def clauses_of_arguments(builder: MergeBuilder, given: Mapping[str, Values | str | bool | None]) -> MergeBuilder:
    """Adds the clauses that are arguments of `Table.merge`. Deletes come first: they mostly have a condition.

    Args:
        builder: The merge.
        given: The arguments that are not None.
    """
    for name in sorted(given, key=lambda name: "delete" not in name):
        add, value = getattr(builder, name), given[name]
        if value is None or value is False:
            continue
        builder = add() if value is True else add(value)
    return builder
