"""Where the code is that called mortice, for warnings."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["caller_level"]

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def caller_level() -> int:
    """Returns the `stacklevel` of a warning that is about the line that called mortice."""
    # The level 1 is the function that calls this one.
    frame, level = sys._getframe(1), 1  # noqa: SLF001
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level
