"""The engine that runs the tasks of a service."""

from __future__ import annotations

from typing import Protocol

__all__ = ["TaskRunner"]


class TaskRunner(Protocol):
    """An engine that runs stages as tasks. Its methods return what the tasks report."""

    @property
    def parallelism(self) -> int:
        """How many tasks run at once, as far as it is known."""

    def run(self, stage: bytes, tasks: int) -> list[bytes]:
        """Runs a stage whose tasks read files.

        Args:
            stage: The stage, serialised.
            tasks: The number of tasks.
        """

    def exchange(self, read: bytes, tasks: int, then: bytes, partitions: int) -> list[bytes]:
        """Runs a stage whose tasks read files, and one that gets what they send. Returns what the latter reports.

        Args:
            read: The stage that reads.
            tasks: The number of its tasks.
            then: The stage that gets the chunks.
            partitions: Partitions of the shuffled chunks.
        """
