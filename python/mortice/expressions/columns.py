"""The columns that the names of an expression stand for."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.expressions.tokens import Text

__all__ = ["Columns", "Found"]

MOST_LISTED = 20
Found = tuple[str, tuple[str, ...]]
"""The side of a column, and its names, outermost first."""


class Columns:
    """The columns of one or two sides, such as the rows of a table and those that are merged into it.

    Args:
        sides: The schema of each side, by its name.
        aliases: Other names of the sides, in lower case.
    """

    def __init__(self, sides: Mapping[str, pa.Schema], aliases: Mapping[str, str] | None = None) -> None:
        self.sides = dict(sides)
        self.aliases = dict(aliases or {})

    def find(self, path: Sequence[str], text: Text, at: int) -> Found:
        """Returns the column that a name stands for.

        Args:
            path: The names, outermost first: an alias of a side, a column, fields.
            text: The expression, for errors.
            at: The place of the name in it.

        Raises `InvalidArgumentError` if there is none, or one on each side.
        """
        side = self.aliases.get(path[0].lower()) if len(path) > 1 else None
        if side is not None and side in self.sides:
            return self._of_side(side, tuple(path[1:]), text, at)
        found = [side for side, schema in self.sides.items() if path[0] in schema.names]
        if len(found) > 1:
            names = " or ".join(f"{alias}.{path[0]}" for alias in self._short())
            raise text.refused(at, f"names {path[0]!r}, which both sides have, so write {names}:")
        if not found:
            raise self._unknown(path[0], [name for schema in self.sides.values() for name in schema.names], text, at)
        return self._of_side(found[0], tuple(path), text, at)

    def _short(self) -> list[str]:
        return [next(alias for alias, name in self.aliases.items() if name == side) for side in self.sides]

    def _of_side(self, side: str, path: tuple[str, ...], text: Text, at: int) -> Found:
        schema = self.sides[side]
        if path[0] not in schema.names:
            raise self._unknown(path[0], schema.names, text, at)
        kind = schema.field(path[0]).type
        for name in path[1:]:
            if not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
                raise text.refused(at, f"names {'.'.join(path)!r}, where {kind} has no field {name!r},")
            kind = kind.field(name).type
        return side, path

    def _unknown(self, name: str, known: Sequence[str], text: Text, at: int) -> InvalidArgumentError:
        more = f" and {len(known) - MOST_LISTED:,} more" if len(known) > MOST_LISTED else ""
        lower = {other.lower(): other for other in known}
        near = [lower[name.lower()]] if name.lower() in lower else difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else f" (columns: {', '.join(known[:MOST_LISTED])}{more})"
        return text.refused(at, f"names {name!r}, which is no column{hint},")
