"""The arguments of a merge (`Table.merge_into`, `mortice.spark.merge_into`), as the native module takes them."""

from __future__ import annotations

from collections.abc import Sequence

from mortice.values.options import checked_columns

__all__ = ["Clauses", "clauses_of"]

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
