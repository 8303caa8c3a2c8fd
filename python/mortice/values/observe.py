"""What an application sees of writes, services and reads: log lines, spans of OpenTelemetry, callbacks of commits.

| what | how |
|---|---|
| log lines | the logger `mortice`: INFO, failures WARNING or ERROR; or `MORTICE_LOG=INFO` in the environment |
| spans | the application imports `opentelemetry` and sets up a tracer provider: `pip install 'mortice[otel]'` |
| commits | `mortice.on_commit(function)` |
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from mortice import _mortice
from mortice._mortice import Commit, CommitEvent
from mortice.errors import InvalidArgumentError, MorticeError, UnsupportedError, WriteConflictError
from mortice.values.argument_types import OptionValue
from mortice.values.visible_text import visible_text

if TYPE_CHECKING:
    from opentelemetry import trace

LOG_LEVEL = "MORTICE_LOG"
"""The environment variable with the level of the logger `mortice`: `DEBUG`, `INFO`, `WARNING` or `ERROR`."""
ON_SPARK = "PYSPARK_SPARK_SESSION_UUID"
"""Set in workers whose logs Spark collects, by a handler of its own."""
LONGEST = 500
"""Characters of a result in a log line."""

MENDED = (InvalidArgumentError, UnsupportedError, WriteConflictError)
"""Errors after which the caller changes something, or tries again."""

logger = logging.getLogger("mortice")
# Without a handler Python would print warnings to standard error, beside the exception.
logger.addHandler(logging.NullHandler())
Result = TypeVar("Result")


CommitCallback = Callable[[CommitEvent], object]
_callbacks: list[CommitCallback] = []


def on_commit(function: CommitCallback) -> Callable[[], None]:
    """Has a function called after each commit of this process: of writes, compactions and clustering.

        remove = mortice.on_commit(lambda event: queue.put((event.uri, event.commit.instant)))

    It is Hudi's commit callback as a Python function. The commit has completed: an exception of the function is logged
    (logger `mortice`), and the write succeeds. Functions are called in the thread of the write, in the order in which
    they were given.

    Args:
        function: A function of a `CommitEvent`.

    Returns:
        A function that removes it.

    Raises `InvalidArgumentError` if it is not callable.
    """
    if not callable(function):
        raise InvalidArgumentError(f"on_commit needs a function of a CommitEvent, got {function!r}")
    _callbacks.append(function)

    def remove() -> None:
        with contextlib.suppress(ValueError):
            _callbacks.remove(function)

    return remove


class Operation:
    """A write or a service that runs."""

    def __init__(self) -> None:
        self.result: object = None

    def done(self, result: Result) -> Result:
        """Records the result, and returns it."""
        self.result = result
        return result


@contextlib.contextmanager
def observed(name: str, uri: str, *, dry_run: bool = False) -> Iterator[Operation]:
    """Observes a write or a service: logs what it did and how long it took, makes a span, calls the callbacks.

    What it did is logged at INFO. A failure is logged at ERROR; at WARNING if the caller can mend it (arguments, a
    conflict, what is not supported) or has interrupted it.

    Args:
        name: The operation: the name of the method of `Table`.
        uri: The table's base path.
        dry_run: True changes nothing, and is not observed.
    """
    operation = Operation()
    if dry_run:
        yield operation
        return
    started = time.perf_counter()
    with span(f"mortice.{name}", {"mortice.table": uri}) as attributes:
        try:
            yield operation
        except BaseException as error:
            log_failure(f"{name} of {uri}", started, error)
            raise
        commits = list(_commits(operation.result))
        for commit in commits:
            attributes |= {"mortice.instant": commit.instant, "mortice.bytes_written": commit.bytes_written}
    shown = visible_text(repr(operation.result))
    shown = shown if len(shown) <= LONGEST else shown[:LONGEST] + "…"
    logger.info("%s of %s: %s in %.3f s", name, visible_text(uri), shown, time.perf_counter() - started)
    for commit in commits:
        _notify(CommitEvent(uri, commit))


def log_failure(what: str, started: float, error: BaseException, to: logging.Logger = logger) -> None:
    """Logs an operation that has failed: at ERROR, or at WARNING if the caller can mend it or has interrupted it.

    Args:
        what: The operation and its table.
        started: When it began, by `time.perf_counter`.
        error: The error.
        to: The logger.
    """
    is_mended = isinstance(error, MENDED) or not isinstance(error, Exception)
    reason = str(error) if isinstance(error, MorticeError) else f"{type(error).__name__}: {error}"
    to.log(
        logging.WARNING if is_mended else logging.ERROR,
        "%s failed after %.3f s: %s",
        visible_text(what),
        time.perf_counter() - started,
        visible_text(reason),
    )


def _commits(result: object) -> Iterator[Commit]:
    if isinstance(result, Commit):
        yield result
    else:
        # Those of an erasure are instants: each of its writes has been observed.
        yield from (one for one in getattr(result, "commits", ()) if isinstance(one, Commit))
        merged = getattr(result, "merged", None)
        if isinstance(merged, Commit):
            yield merged


def _notify(event: CommitEvent) -> None:
    for function in _callbacks:
        try:
            function(event)
        except Exception:  # noqa: PERF203 — of each function by itself
            logger.exception("a function of on_commit failed for %s, commit %s", event.uri, event.commit.instant)


def _tracer() -> trace.Tracer | None:
    """Returns a tracer of OpenTelemetry, None if the application does not use it.

    Nothing is imported then: an application that has not imported `opentelemetry` has no tracer provider.
    """
    if "opentelemetry" not in sys.modules:
        return None
    from opentelemetry import trace

    return trace.get_tracer("mortice", _mortice.__version__)


@contextlib.contextmanager
def span(
    name: str, attributes: Mapping[str, OptionValue], *, is_current: bool = True
) -> Iterator[dict[str, OptionValue]]:
    """Makes a span of OpenTelemetry, if the application uses it. Attributes that are added until its end are set.

    A read that is left before its end has no error.

    Args:
        name: The name of the span.
        attributes: Its attributes.
        is_current: False for a read whose batches are yielded in between: what the consumer does with them is not part
            of the span.
    """
    more, tracer = dict(attributes), _tracer()
    if tracer is None:
        yield more
        return
    from opentelemetry import trace

    current = tracer.start_span(name)
    try:
        with trace.use_span(current, False, False, False) if is_current else contextlib.nullcontext():
            yield more
    except Exception as error:
        current.record_exception(error)
        current.set_status(trace.StatusCode.ERROR, f"{type(error).__name__}: {error}")
        raise
    finally:
        current.set_attributes(more)
        current.end()


def has_handlers(of: logging.Logger) -> bool:
    """Returns true if the application has set up logging: if there is a handler besides that of this module."""
    return logging.getLogger().hasHandlers() or any(not isinstance(one, logging.NullHandler) for one in of.handlers)


def set_log_level(environment: Mapping[str, str] = os.environ) -> None:
    """Sets the level of the logger `mortice` that the environment names, and prints its lines to standard error.

    If the application or Spark has set up logging, only the level is set: their handlers print the lines.
    """
    level = environment.get(LOG_LEVEL, "").strip().upper()
    if level not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
        return
    logger.setLevel(level)
    if ON_SPARK not in environment and not has_handlers(logger):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logger.addHandler(handler)


set_log_level()
