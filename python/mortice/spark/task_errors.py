"""Errors of tasks, whose types Spark loses."""

from __future__ import annotations

import re

from mortice import errors
from mortice.errors import MorticeError

__all__ = ["typed_error"]

_ERROR_IN_TEXT = re.compile(r"mortice\.errors\.(\w+): \[(MORTICE-[A-Z-]+)\] (.*)")


def typed_error(error: BaseException) -> BaseException:
    """Returns the error of mortice that ended a task, whose type Spark has lost; other errors unchanged."""
    if isinstance(error, (MorticeError, KeyboardInterrupt)):
        return error
    found = _ERROR_IN_TEXT.findall(str(error))
    if not found:
        return error
    name, code, message = found[-1]
    kind = getattr(errors, name, MorticeError)
    return kind(message, code=code) if issubclass(kind, MorticeError) else error
