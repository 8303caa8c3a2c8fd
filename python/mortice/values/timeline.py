"""A table's timeline: active and archived instants, ordered by requested time."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, overload

from mortice._mortice import Instant
from mortice.display.markup import grid
from mortice.errors import InvalidArgumentError
from mortice.values.other_names import missing_attribute, names_of
from mortice.values.visible_text import visible_text

SHOWN = 20
"""The number of instants that a timeline shows of itself."""


class Timeline(Sequence[Instant]):
    """The instants of a table, active and archived, at the time when the table was opened.

    The archive is read on first use: by `archived`, by iteration and `len`, and by `metadata` and `plan` of an archived
    instant, but not by `active`, `pending` and `latest`.

    >>> commit = Instant("001", "002", "commit", "COMPLETED")
    >>> timeline = Timeline([commit, Instant("003", None, "deltacommit", "INFLIGHT")])
    >>> len(timeline), timeline[0].action, [instant.requested_time for instant in timeline.completed]
    (2, 'commit', ['001'])
    """

    def __init__(
        self,
        active: Iterable[Instant],
        archived: Callable[[], Iterable[Instant]] | None = None,
        read: Callable[[Instant, bool], str | None] | None = None,
    ) -> None:
        self._active = tuple(active)
        self._read_archive = archived
        self._read = read
        self._is_unpickled = False

    @property
    def active(self) -> Timeline:
        """The instants that have not been archived."""
        return Timeline(self._active, read=self._read)

    @cached_property
    def archived(self) -> Timeline:
        """The instants that have been archived."""
        return Timeline(self._read_archive() if self._read_archive else (), read=self._read)

    @property
    def completed(self) -> Timeline:
        """The completed instants."""
        active = (instant for instant in self._active if instant.is_completed)
        return Timeline(active, lambda: (one for one in self.archived if one.is_completed), self._read)

    @property
    def pending(self) -> Timeline:
        """The instants that have not completed. They are never archived."""
        return Timeline((instant for instant in self._active if not instant.is_completed), read=self._read)

    @property
    def latest(self) -> Instant | None:
        """The completed instant with the latest requested time."""
        active = [instant for instant in self._active if instant.is_completed]
        return max(active or self.archived.completed, key=lambda instant: instant.requested_time, default=None)

    def metadata(self, instant: Instant) -> dict[str, Any] | None:
        """Returns the metadata of a completed instant by Hudi's names: what it wrote, deleted or replaced.

            table.timeline.metadata(table.timeline.latest)["operationType"]

        For a pending instant, returns what its writer recorded at the beginning. None if nothing is stored.
        """
        return self._document(instant, plan=False)

    def plan(self, instant: Instant) -> dict[str, Any] | None:
        """Returns the plan of an instant: cleaning, compaction, clustering, rollback and restore record one.

        None if nothing is stored.
        """
        return self._document(instant, plan=True)

    def _document(self, instant: Instant, *, plan: bool) -> dict[str, Any] | None:
        if self._is_unpickled:
            raise InvalidArgumentError(
                "this timeline was unpickled and has no metadata; open the table, whose timeline reads it"
            )
        text = self._read(instant, plan) if self._read else None
        return None if text is None else json.loads(text)

    @cached_property
    def _all(self) -> tuple[Instant, ...]:
        archived = self.archived._active if self._read_archive else ()  # noqa: SLF001
        return tuple(heapq.merge(archived, self._active, key=lambda instant: instant.requested_time))

    @overload
    def __getitem__(self, index: int) -> Instant: ...
    @overload
    def __getitem__(self, index: slice) -> Timeline: ...
    def __getitem__(self, index: int | slice) -> Instant | Timeline:
        if isinstance(index, slice):
            return Timeline(self._all[index], read=self._read)
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)

    def __reduce__(self) -> tuple[Callable[..., Timeline], tuple[object, ...]]:
        """Pickles all instants. Metadata is read through the table, which a pickle does not contain."""
        return _unpickled, (self._active, tuple(self.archived) if self._read_archive else None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timeline) and self._all == other._all

    def __hash__(self) -> int:
        return hash(self._active)

    def _repr_html_(self) -> str:
        """The latest active instants as a table, for notebooks."""
        shown = [[i.requested_time, i.completion_time, i.action, i.state.lower()] for i in self._active[-SHOWN:]]
        return grid(["requested", "completed", "action", "state"], shown, f"{len(self._active):,} active instants")

    if not TYPE_CHECKING:  # which must go on to report unknown names

        def __getattr__(self, name: str) -> NoReturn:
            """Raises the error for a name that does not exist."""
            raise missing_attribute("a Timeline", name, names_of("Timeline"), dir(type(self)))

        def __call__(self, *_: object, **__: object) -> NoReturn:
            """Raises the error for `table.timeline()`, which is no method."""
            raise TypeError("timeline is no method: table.timeline[-1], table.timeline.latest, or a loop over it")

    def __repr__(self) -> str:
        shown = [f"  {i.requested_time}  {i.action}  {i.state.lower()}" for i in self._active[-SHOWN:]]
        hidden = len(self._active) - len(shown)
        if hidden:
            shown.insert(0, f"  … {hidden} before")
        kind = " active" if self._read_archive else ""
        return visible_text("\n".join([f"Timeline of {len(self._active)}{kind} instants", *shown]), keep="\n")


def _unpickled(active: tuple[Instant, ...], archived: tuple[Instant, ...] | None) -> Timeline:
    """Restores a timeline from a pickle."""
    timeline = Timeline(active, None if archived is None else lambda: archived)
    timeline._is_unpickled = True  # noqa: SLF001
    return timeline
