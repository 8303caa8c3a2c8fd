"""What an application sees of writes, services and reads: log lines, spans of OpenTelemetry, callbacks of commits.

| what | how |
|---|---|
| log lines | the logger `mortice`, level INFO; or `MORTICE_LOG=INFO` in the environment |
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
from dataclasses import dataclass
from typing import TypeVar

from mortice import _mortice
from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError, MorticeError
from mortice.values.argument_types import OptionValue
from mortice.values.visible_text import visible_text

__all__ = ["CommitCallback", "CommitEvent", "Operation", "observed", "on_commit", "set_log_level", "span"]

LOG_LEVEL = "MORTICE_LOG"
"""The environment variable with the level of the logger `mortice`: `DEBUG`, `INFO`, `WARNING` or `ERROR`."""
ON_SPARK = "PYSPARK_SPARK_SESSION_UUID"
"""Set in workers whose logs Spark collects, by a handler of its own."""
LONGEST = 500
"""Characters of a result in a log line."""

logger = logging.getLogger("mortice")
Result = TypeVar("Result")


@dataclass(frozen=True)
class CommitEvent:
    """A commit that has completed."""

    uri: str
    """The table's base path."""
    commit: Commit
    """What it did."""


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
        except MorticeError as error:
            logger.info(
                "%s of %s failed after %.3f s: %s", name, visible_text(uri), time.perf_counter() - started, error
            )
            raise
        commits = list(_commits(operation.result))
        for commit in commits:
            attributes |= {"mortice.instant": commit.instant, "mortice.bytes_written": commit.bytes_written}
    shown = visible_text(repr(operation.result))
    shown = shown if len(shown) <= LONGEST else shown[:LONGEST] + "…"
    logger.info("%s of %s: %s in %.3f s", name, visible_text(uri), shown, time.perf_counter() - started)
    for commit in commits:
        _notify(CommitEvent(uri, commit))


def _commits(result: object) -> Iterator[Commit]:
    if isinstance(result, Commit):
        yield result
    else:
        yield from getattr(result, "commits", ())
        merged = getattr(result, "merged", None)
        if isinstance(merged, Commit):
            yield merged


def _notify(event: CommitEvent) -> None:
    for function in _callbacks:
        try:
            function(event)
        except Exception:  # noqa: PERF203 — of each function by itself
            logger.exception("a function of on_commit failed for %s, commit %s", event.uri, event.commit.instant)


@contextlib.contextmanager
def span(name: str, attributes: Mapping[str, OptionValue]) -> Iterator[dict[str, OptionValue]]:
    """Makes a span of OpenTelemetry, if the application uses it. Attributes that are added until its end are set.

    Nothing is imported: an application that has not imported `opentelemetry` has no tracer provider.

    Args:
        name: The name of the span.
        attributes: Its attributes.
    """
    more = dict(attributes)
    if "opentelemetry" not in sys.modules:
        yield more
        return
    from opentelemetry import trace

    with trace.get_tracer("mortice", _mortice.__version__).start_as_current_span(name) as current:
        try:
            yield more
        finally:
            current.set_attributes(more)


def set_log_level(environment: Mapping[str, str] = os.environ) -> None:
    """Sets the level of the logger `mortice` that the environment names, and prints its lines to standard error.

    If the application or Spark has set up logging, only the level is set: their handlers print the lines.
    """
    level = environment.get(LOG_LEVEL, "").strip().upper()
    if level not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
        return
    logger.setLevel(level)
    if ON_SPARK not in environment and not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logger.addHandler(handler)


set_log_level()
