"""Errors of tasks, whose types Spark loses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from mortice import errors
from mortice.errors import MorticeError

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


@contextmanager
def typed_errors() -> Iterator[None]:
    """Raises errors of tasks with the types that Spark has lost."""
    try:
        yield
    except Exception as error:
        raised = typed_error(error)
        if raised is error:
            raise
        raise raised from error


class Abortable(Protocol):
    """What is rolled back if it cannot be completed."""

    def abort(self, reason: str) -> None:
        """Rolls it back. `reason` is why."""


@contextmanager
def aborted_on_error(native: Abortable) -> Iterator[None]:
    """Rolls `native` back if the block raises anything, and raises it with the type that Spark has lost."""
    try:
        yield
    except BaseException as error:
        raised = typed_error(error)
        native.abort(str(raised))
        if raised is error:
            raise
        raise raised from error
