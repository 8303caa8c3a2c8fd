"""Stops Python 3.10 to 3.12 from reading the directories of unchanged zip archives before each Spark task.

PySpark's worker calls `importlib.invalidate_caches()` before each task, so that modules of a later `addPyFile` are
found (`pyspark.worker.main` in Spark 3.5, `pyspark.worker_util.setup_spark_files` in 4.0 and later; from 4.3 on only if
`sys.path` has changed, which is the case in the first task of a worker). Workers import PySpark from `pyspark.zip`, and
`sys.path_importer_cache` then has an importer for each package in it. Up to Python 3.12, each of these importers reads
the whole directory of the archive again (`zipimport.zipimporter.invalidate_caches`): 20 to 35 times 5 ms. Python 3.13
reads it once, and only if something is imported from the archive (CPython issue 103200).

`keep_unchanged` replaces that method by one that reads an archive again only if the file has changed.
"""

from __future__ import annotations

import time
import zipimport
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["keep_unchanged"]

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


def _if_changed(read: Callable[[Any], None]) -> Callable[[Any], None]:
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
