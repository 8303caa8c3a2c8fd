"""What happened to a table, in the order of the requested times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True)
class Instant:
    """One action on the timeline."""

    requested_time: str
    """When it was asked for; the name of the instant."""
    completion_time: str | None
    """When it completed; None while it has not (and for tables whose timeline does not tell)."""
    action: str
    """Hudi's word: `deltacommit`, `commit`, `compaction`, `replacecommit`, `clean`, `rollback`, …"""
    state: str
    """`REQUESTED`, `INFLIGHT` or `COMPLETED`."""

    @property
    def is_completed(self) -> bool:
        """Whether the action has completed."""
        return self.state.upper() == "COMPLETED"


class Timeline(Sequence[Instant]):
    """The instants of a table, active and archived, as they stood when the table was opened.

    >>> commit = Instant("001", "002", "commit", "COMPLETED")
    >>> timeline = Timeline([commit, Instant("003", None, "deltacommit", "INFLIGHT")])
    >>> len(timeline), timeline[0].action, [instant.requested_time for instant in timeline.completed]
    (2, 'commit', ['001'])
    """

    def __init__(self, instants: Iterable[Instant]) -> None:
        self._instants = tuple(instants)

    @property
    def completed(self) -> Timeline:
        """Only the completed instants."""
        return Timeline(instant for instant in self._instants if instant.is_completed)

    @property
    def latest(self) -> Instant | None:
        """The completed instant with the latest requested time."""
        return max(self.completed, key=lambda instant: instant.requested_time, default=None)

    @overload
    def __getitem__(self, index: int) -> Instant: ...
    @overload
    def __getitem__(self, index: slice) -> Timeline: ...
    def __getitem__(self, index: int | slice) -> Instant | Timeline:
        if isinstance(index, slice):
            return Timeline(self._instants[index])
        return self._instants[index]

    def __len__(self) -> int:
        return len(self._instants)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timeline) and self._instants == other._instants

    def __hash__(self) -> int:
        return hash(self._instants)

    def __repr__(self) -> str:
        shown = [f"  {i.requested_time}  {i.action}  {i.state.lower()}" for i in self._instants[-20:]]
        hidden = len(self._instants) - len(shown)
        if hidden:
            shown.insert(0, f"  … {hidden} before")
        return "\n".join([f"Timeline of {len(self._instants)} instants", *shown])
