"""The table's settings, the slice, and a record during the merge."""

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
    """The default value. If it is not None, the field is not nullable."""
    scale: int = 0
    """The scale of a decimal."""


@dataclass(frozen=True)
class Merging:
    """How the table merges: the contents of `hoodie.properties` and the semantics that the caller chose."""

    fields: tuple[Field, ...]
    """The table's schema, without the meta columns."""
    mode: str = EVENT_TIME
    ordering: tuple[str, ...] = ()
    """The ordering fields in the table's configuration."""
    payload: str | None = None
    """The payload class, without its package; used in mode CUSTOM and under Hudi 0.x."""
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
    def used_ordering(self):
        """The ordering fields that are used: none with commit-time ordering. Hudi 0.x has no merge modes."""
        return () if self.semantics == "1.x" and self.mode == COMMIT_TIME else self.ordering


@dataclass(frozen=True)
class DataBlock:
    """A data block. Each row is a dict of the columns of the block's schema, the same for all rows of a block."""

    rows: tuple[dict, ...]
    partial: bool = False
    """IS_PARTIAL: the columns that the block lacks are unchanged, not null."""
    narrowed: tuple[str, ...] = ()
    """Columns in the type that they had before they were widened. Values and rules are unchanged."""

    @property
    def columns(self):
        """The columns of the block's schema, without meta columns."""
        return tuple(name for name in self.rows[0] if name not in META)


@dataclass(frozen=True)
class DeleteBlock:
    """A delete block: keys and ordering values as in the block's wrappers: a `Value`, a tuple of them, or None."""

    deletes: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Record:
    """`BufferedRecord`: the merge result of a key so far."""

    ordering: Any
    """A `Value`, or a tuple of them for several ordering fields."""
    row: dict | None
    """None for a key of a delete block."""
    deleted: bool = False

    def with_row(self, row):
        return replace(self, row=row)
