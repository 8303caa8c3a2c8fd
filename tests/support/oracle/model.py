"""The table's settings, the slice, and a record on its way through the merge."""

from dataclasses import dataclass, replace
from typing import Any

COMMIT_TIME, EVENT_TIME, CUSTOM = "COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING", "CUSTOM"
IGNORE_DEFAULTS, FILL_UNAVAILABLE = "IGNORE_DEFAULTS", "FILL_UNAVAILABLE"
META = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
KEY = "_hoodie_record_key"


@dataclass(frozen=True)
class Field:
    """A column of the table."""

    name: str
    kind: str
    """boolean, int, long, float, double, string, bytes, date, timestamp or decimal."""
    default: Any = None
    """Null, or of a field that is never null."""
    scale: int = 0
    """Of a decimal."""


@dataclass(frozen=True)
class Merging:
    """How the table merges: what `hoodie.properties` and the caller's choice of a release amount to."""

    fields: tuple[Field, ...]
    """The table's schema, without the meta columns."""
    mode: str = EVENT_TIME
    ordering: tuple[str, ...] = ()
    """The ordering fields, as the table stores them."""
    payload: str | None = None
    """The payload class, without its package; it counts in mode CUSTOM and under Hudi 0.x."""
    partial_update: str | None = None
    unavailable: str | None = None
    """The marker of FILL_UNAVAILABLE."""
    delete_field: str | None = None
    delete_marker: str | None = None
    semantics: str = "1.x"

    def field(self, name):
        return next(field for field in self.fields if field.name == name)

    def has(self, name):
        return any(field.name == name for field in self.fields)

    @property
    def ordering_in_force(self):
        """Commit-time ordering knows no ordering values, whatever the table stores. Hudi 0.x knows no modes."""
        return () if self.semantics == "1.x" and self.mode == COMMIT_TIME else self.ordering


@dataclass(frozen=True)
class DataBlock:
    """Rows, each a dict of the columns that the block's schema has: all of one block have the same."""

    rows: tuple[dict, ...]
    partial: bool = False
    """IS_PARTIAL: the columns that the block lacks are unchanged, not null."""
    narrowed: tuple[str, ...] = ()
    """Columns in the type that they had before they were widened. Values and rules are the same."""

    @property
    def columns(self):
        """What the block's schema has beside the meta columns."""
        return tuple(name for name in self.rows[0] if name not in META)


@dataclass(frozen=True)
class DeleteBlock:
    """Keys and what they are ordered by, as the block's wrappers have it: a `Value`, a tuple of them, or None."""

    deletes: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Record:
    """`BufferedRecord`: what the merge knows of a key so far."""

    ordering: Any
    """A `Value`, or a tuple of them with several ordering fields."""
    row: dict | None
    """None: a key of a delete block."""
    deleted: bool = False

    def with_row(self, row):
        return replace(self, row=row)
