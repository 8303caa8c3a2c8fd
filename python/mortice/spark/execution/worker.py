"""Prepares Python workers of Spark for tasks of mortice.

**Garbage collection.** `pyspark.daemon` calls `gc.collect()` after each task of a worker that it reuses. The collection
visits all objects of the process, most of which belong to modules of PySpark, pyarrow and mortice: 15 to 20 ms of CPU
time. `freeze_until_collected` moves the objects that exist when a task begins to the permanent generation
(`gc.freeze`), which a collection does not visit. After the next full collection, a callback moves them back
(`gc.unfreeze`). Nothing is frozen when a task of another function runs, so all garbage of other functions is collected.
Every 16th task of mortice in a worker is followed by a complete collection, which finds garbage that arises between
tasks.

**Directories of zip archives.** PySpark's worker calls `importlib.invalidate_caches()` before each task, so that
modules of a later `addPyFile` are found (`pyspark.worker.main` in Spark 3.5, `pyspark.worker_util.setup_spark_files` in
4.0 and later; from 4.3 on only if `sys.path` has changed, which is the case in the first task of a worker). Workers
import PySpark from `pyspark.zip`, and `sys.path_importer_cache` then has an importer for each package in it. Up to
Python 3.12, each of these importers reads the whole directory of the archive again
(`zipimport.zipimporter.invalidate_caches`): 20 to 35 times 5 ms. Python 3.13 reads it once, and only if something is
imported from the archive (CPython issue 103200). `keep_unchanged` replaces that method by one that reads an archive
again only if the file has changed.
"""

from __future__ import annotations

import gc
import time
import zipimport
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class WorkerOptions:
    """Options of Python workers."""

    zip_cache: bool = True
    """`mortice.zip.cache`: whether workers keep the directories of unchanged zip archives."""
    gc_freeze: bool = True
    """`mortice.gc.freeze`: whether the collection after a task visits only objects of the task."""

    def prepare(self) -> None:
        """Applies the options to this process, once for each task. Does nothing if it is not a worker."""
        if not is_worker():
            return
        if self.zip_cache:
            keep_unchanged()
        if self.gc_freeze:
            freeze_until_collected()


def is_worker() -> bool:
    """Returns true if this process is a Python worker of Spark: it runs tasks, or plans the query of a data source.

    A driver that reads a partition itself is not one.
    """
    from pyspark import SparkFiles, TaskContext

    # The latter is set by `setup_spark_files`, and before Spark 4.0 by `pyspark.worker.main`.
    return TaskContext.get() is not None or getattr(SparkFiles, "_is_running_on_worker", False)


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


def _unfreeze(phase: str, info: dict[str, int]) -> None:
    """For `gc.callbacks`."""
    if phase == "stop" and info["generation"] == _OLDEST_GENERATION:
        gc.callbacks.remove(_unfreeze)
        gc.unfreeze()


_Stamp = tuple[int, int, int, int]

_TRUSTED_AGE_NS = 2_000_000_000
"""The minimum age of a change. A file that changed more recently may change again without a change of its times: they
are as coarse as a clock tick, on some file systems two seconds."""


def keep_unchanged() -> bool:
    """Replaces `zipimport.zipimporter.invalidate_caches` in this process; returns true if it is replaced.

    Nothing is replaced if Python reads directories lazily, or if other code has replaced the method before. A second
    call has no effect.
    """
    current = zipimport.zipimporter.invalidate_caches
    if current.__module__ == __name__:
        return True
    is_lazy = hasattr(zipimport.zipimporter, "_get_files")
    if is_lazy or current.__module__ != zipimport.__name__:
        return False
    zipimport.zipimporter.invalidate_caches = _if_changed(current)  # type: ignore[assignment, method-assign]
    return True


def _if_changed(read: Callable[[zipimport.zipimporter], None]) -> Callable[[zipimport.zipimporter], None]:
    """`zipimporter.invalidate_caches` that calls `read`, the original, only if the archive has changed."""
    known: dict[str, tuple[_Stamp, object]] = {}

    def invalidate_caches(importer: Any) -> None:
        """Reads the directory of the archive again if its file has changed since it was last read."""
        archive = importer.archive
        # Read before the directory: a change during the read is noticed the next time.
        stamp = _stamp(archive)
        before = known.get(archive)
        if before is not None and before[0] == stamp:
            # All importers of an archive share one directory, as after reading it.
            importer._files = before[1]  # noqa: SLF001
            return
        read(importer)
        if stamp is None:
            known.pop(archive, None)
        else:
            known[archive] = (stamp, importer._files)  # noqa: SLF001

    return invalidate_caches


def _stamp(archive: str) -> _Stamp | None:
    """Returns the attributes that change with the file: size, times and inode. None if the file is missing or changed
    just now."""
    try:
        now = Path(archive).stat()
    except OSError:
        return None
    if time.time_ns() - max(now.st_mtime_ns, now.st_ctime_ns) < _TRUSTED_AGE_NS:
        return None
    return now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino
