"""The streams of the command line: text of a table cannot control the terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, cast

from mortice.values.visible_text import visible_text

__all__ = ["exact", "visible_output"]

LINES = "\n\t"


class _VisibleStream:
    """A stream that shows control characters as escapes, except ends of lines and tabs.

    Args:
        stream: The stream that it writes to.
    """

    def __init__(self, stream: TextIO) -> None:
        self.exact = stream

    def write(self, text: str) -> int:
        """Writes text."""
        self.exact.write(visible_text(text, LINES))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes several strings."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.exact, name)


@contextlib.contextmanager
def visible_output() -> Iterator[None]:
    """While it runs, what is written to standard output and standard error has no control characters."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", _VisibleStream(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def exact(stream: TextIO) -> TextIO:
    """Returns the stream that takes every character: for the command line's own control sequences, and for data."""
    return stream.exact if isinstance(stream, _VisibleStream) else stream
