"""Where a stream stands, as Spark writes it down in its checkpoint.

    {"version": 1, "layout": 2, "after": "20240101120000000", "instant": "20240101130000000"}

`instant` is the position: a completion time on a timeline of `layout` 2 (from table version 8 on), a requested time on
one of layout 1, or `earliest`. `after` is where the batch that ends there began: (after, instant] is the range of that
batch. It is missing where a query starts.

That it is written down matters for the first batch alone. Spark writes the ends of batches down and not their
beginnings, and asks anew where to start when a query was killed within its first batch; `latest` has moved on then.
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
    """The position where the batch that ends here began."""
    is_start: bool = True
    """Whether no batch ends here: a query starts."""

    def behind(self, instant: str, layout: int, after: str | None) -> Offset:
        """The end of a batch that begins here; `after` is this position on a timeline of that layout."""
        return Offset(instant, layout, after, is_start=False)

    def to_json(self) -> dict[str, Any]:
        """As Spark writes it down."""
        after = {} if self.is_start else {"after": self.after or EARLIEST}
        return {"version": VERSION, "layout": self.layout, **after, "instant": self.instant or EARLIEST}

    @classmethod
    def from_json(cls, told: Any) -> Offset:
        """What `to_json` wrote. Raises `InvalidArgumentError`, `UnsupportedError` for that of a later release."""
        if not isinstance(told, Mapping) or not isinstance(told.get("version"), int):
            raise InvalidArgumentError(f"an offset in the checkpoint that mortice has not written: {told!r}")
        if told["version"] != VERSION:
            raise UnsupportedError(
                f"an offset of version {told['version']} in the checkpoint; this release writes {VERSION}: {told!r}"
            )
        layout = told.get("layout")
        if layout not in (1, 2) or isinstance(layout, bool):
            raise InvalidArgumentError(f"an offset in the checkpoint without a timeline layout of 1 or 2: {told!r}")
        return cls(_position(told, "instant"), layout, _position(told, "after"), is_start="after" not in told)


def _position(told: Mapping[str, Any], name: str) -> str | None:
    text = told.get(name, EARLIEST if name == "after" else None)
    if text == EARLIEST:
        return None
    if not (isinstance(text, str) and text.isascii() and text.isdigit()):
        raise InvalidArgumentError(f"an offset in the checkpoint whose {name} is no instant: {dict(told)!r}")
    return text
