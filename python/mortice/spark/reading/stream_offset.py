"""The offset of a stream, as Spark stores it in the checkpoint.

    {"version": 1, "layout": 2, "after": "20240101120000000", "instant": "20240101130000000"}

`instant` is the position: a completion time on a timeline of `layout` 2 (from table version 8 on), a requested time on
one of layout 1, or `earliest`. If writes were pending before it, their requested times follow, each after a `~`: a
commit of them that completes late is in the next batch. `after` is the beginning of the batch that ends there: the
batch has the range (after, instant]. It is missing in the offset at which a query starts.

`after` is needed for the first batch only. Spark stores the ends of batches but not their beginnings. If a query is
killed during its first batch, Spark requests the initial offset again, and `latest` would then be a later one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mortice.errors import InvalidArgumentError, UnsupportedError

VERSION = 1
EARLIEST = "earliest"


@dataclass(frozen=True)
class Offset:
    """A position on the timeline; `instant` None is before all commits."""

    instant: str | None
    layout: int
    after: str | None = None
    """The position at which the batch that ends here begins."""
    is_start: bool = True
    """True for the offset at which a query starts: no batch ends here."""

    def behind(self, instant: str, layout: int, after: str | None) -> Offset:
        """Returns the end of a batch that begins here; `after` is this position on a timeline of that layout."""
        return Offset(instant, layout, after, is_start=False)

    def to_json(self) -> dict[str, Any]:
        """Returns the form that Spark stores."""
        after = {} if self.is_start else {"after": self.after or EARLIEST}
        return {"version": VERSION, "layout": self.layout, **after, "instant": self.instant or EARLIEST}

    @classmethod
    def from_json(cls, stored: Any) -> Offset:
        """Parses the form that `to_json` returned.

        Raises `InvalidArgumentError` if it is invalid, `UnsupportedError` if a later release wrote it.
        """
        if not isinstance(stored, Mapping) or not isinstance(stored.get("version"), int):
            raise InvalidArgumentError(
                f"the offset {stored!r} in the checkpoint was not written by mortice; start with a new checkpoint"
            )
        if stored["version"] != VERSION:
            raise UnsupportedError(
                f"the offset {stored!r} in the checkpoint has version {stored['version']}, not {VERSION}; "
                "use the release that wrote it"
            )
        layout = stored.get("layout")
        if layout not in (1, 2) or isinstance(layout, bool):
            raise InvalidArgumentError(f"the offset {stored!r} in the checkpoint must have a timeline layout of 1 or 2")
        return cls(_position(stored, "instant"), layout, _position(stored, "after"), is_start="after" not in stored)


def _position(stored: Mapping[str, Any], name: str) -> str | None:
    text = stored.get(name, EARLIEST if name == "after" else None)
    if text == EARLIEST:
        return None
    if not (isinstance(text, str) and text.isascii() and text.replace("~", "").isdigit()):
        raise InvalidArgumentError(f"the offset {dict(stored)!r} in the checkpoint must have an instant in {name!r}")
    return text
