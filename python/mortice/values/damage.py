"""Warnings: of which line of the caller they are, and those of damaged files."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path

from mortice.values.visible_text import visible_text

__all__ = ["DamagedFileWarning", "caller_level", "warn_of_damage"]

_log = logging.getLogger("mortice")


_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def caller_level() -> int:
    """Returns the `stacklevel` of a warning that is about the line that called mortice."""
    # The level 1 is the function that calls this one.
    frame, level = sys._getframe(1), 1  # noqa: SLF001
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


class DamagedFileWarning(UserWarning):
    """A log file has lost bytes that a completed write wrote.

    It is shorter than the write recorded, or a block of it is corrupt. The rest of the file was read, and rows are
    missing or stale. The string has the code `[MORTICE-DAMAGED-LOG]`.

    Args:
        reason: What the write recorded, and what the file has.
        path: The file.
        offset: The offset of the first byte that is missing or cannot be read.
        instant: The write.
    """

    path: str
    """The file."""
    offset: int
    """The offset of the first byte that is missing or cannot be read."""
    instant: str
    """The requested time of the write whose bytes are lost."""

    def __init__(self, reason: str, path: str, offset: int, instant: str) -> None:
        super().__init__(reason, path, offset, instant)
        self.reason, self.path, self.offset, self.instant = reason, path, offset, instant

    def __str__(self) -> str:
        return visible_text(
            f"[MORTICE-DAMAGED-LOG] rows are missing or stale, as a log file is damaged: {self.reason} "
            f"(file {self.path}, offset {self.offset}, instant {self.instant}); restore the file from a copy"
        )


def warn_of_damage(reason: str, path: str, offset: int, instant: str) -> None:
    """Warns of a damaged file, at the line that called mortice, and logs it.

    Args:
        reason: What the write recorded, and what the file has.
        path: The file.
        offset: The offset of the first byte that is missing or cannot be read.
        instant: The write.
    """
    warning = DamagedFileWarning(reason, path, offset, instant)
    _log.warning("%s", warning)
    warnings.warn(warning, stacklevel=caller_level())
