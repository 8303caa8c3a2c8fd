"""Limits the garbage collection after a Spark task to objects of the task.

`pyspark.daemon` calls `gc.collect()` after each task of a worker that it reuses. The collection visits all objects of
the process, most of which belong to modules of PySpark, pyarrow and mortice: 15 to 20 ms of CPU time.

`freeze_until_collected` moves the objects that exist when a task begins to the permanent generation (`gc.freeze`),
which a collection does not visit. After the next full collection, a callback moves them back (`gc.unfreeze`). Nothing
is frozen when a task of another function runs, so all garbage of other functions is collected. Every 16th task of
mortice in a worker is followed by a complete collection, which finds garbage that arises between tasks.
"""

from __future__ import annotations

import gc
from typing import Any

__all__ = ["freeze_until_collected"]

COMPLETE_EVERY = 16
"""One of this number of tasks freezes nothing."""
_FROZEN_BY_PYTHON = 1_000
"""Python 3.12 freezes some 400 objects when it starts. Other code that freezes objects has many times more."""
_OLDEST_GENERATION = 2

_tasks = 0


def freeze_until_collected() -> bool:
    """Exempts all existing objects from the next full collection; returns true if they are exempt.

    Nothing is frozen in every 16th call, nor if other code has frozen objects, which would be unfrozen.
    """
    global _tasks  # noqa: PLW0603
    _tasks += 1
    if _tasks % COMPLETE_EVERY == 0 or gc.get_freeze_count() > _FROZEN_BY_PYTHON or not gc.isenabled():
        return False
    gc.freeze()
    gc.callbacks.append(_unfreeze)
    return True


def _unfreeze(phase: str, info: dict[str, Any]) -> None:
    """For `gc.callbacks`."""
    if phase == "stop" and info["generation"] == _OLDEST_GENERATION:
        gc.callbacks.remove(_unfreeze)
        gc.unfreeze()
