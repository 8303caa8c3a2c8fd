"""The exceptions of mortice: what went wrong, where, and a stable code that outlives the type.

The native module raises these by name. They are plain Python classes, so they pickle with everything they know, and
they can be caught by the built-in class that fits too (`FileNotFoundError`, `ValueError`, `OSError`).

    code                        class
    MORTICE-NOT-FOUND           TableNotFoundError
    MORTICE-ALREADY-EXISTS      TableExistsError
    MORTICE-CORRUPT-LOG         CorruptLogError
    MORTICE-UNSUPPORTED         UnsupportedError
    MORTICE-INVALID-TABLE       InvalidTableError
    MORTICE-FILE-CLEANED        FileCleanedError
    MORTICE-INVALID-ARGUMENT    InvalidArgumentError
    MORTICE-MEMORY-LIMIT        MemoryLimitError
    MORTICE-IO                  StorageError
    MORTICE-FORBIDDEN           StorageForbiddenError
    MORTICE-THROTTLED           StorageThrottledError
    MORTICE-UNREACHABLE         StorageUnreachableError
    MORTICE-FILE-CHANGED        FileChangedError
    MORTICE-INTERNAL            InternalError
"""

from __future__ import annotations

import errno
from typing import ClassVar

__all__ = [
    "CorruptLogError",
    "FileChangedError",
    "FileCleanedError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidTableError",
    "MemoryLimitError",
    "MorticeError",
    "StorageError",
    "StorageForbiddenError",
    "StorageThrottledError",
    "StorageUnreachableError",
    "TableExistsError",
    "TableNotFoundError",
    "UnsupportedError",
]


class MorticeError(Exception):
    """The parent of all errors of mortice.

    >>> str(UnsupportedError("no such thing yet", path="trips", offset=7))
    '[MORTICE-UNSUPPORTED] no such thing yet (file trips, offset 7)'
    """

    default_code: ClassVar[str] = "MORTICE-ERROR"

    path: str | None
    """The file or table concerned."""
    offset: int | None
    """The byte offset in that file."""
    block: int | None
    """The ordinal of the log block in that file, from 0."""
    instant: str | None
    """The instant concerned."""
    code: str
    """A stable code. It stands in the text too, for places where the type is lost (Spark's executors)."""

    def __init__(
        self,
        message: str = "",
        *,
        path: str | None = None,
        offset: int | None = None,
        block: int | None = None,
        instant: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.path = path
        self.offset = offset
        self.block = block
        self.instant = instant
        self.code = code or self.default_code

    @property
    def message(self) -> str:
        """What was expected and what was found, without code and place."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        place = {"file": self.path, "offset": self.offset, "block": self.block, "instant": self.instant}
        known = ", ".join(f"{name} {value}" for name, value in place.items() if value is not None)
        return f"[{self.code}] {self.message}" + (f" ({known})" if known else "")


class TableNotFoundError(MorticeError, FileNotFoundError):
    """There is no Hudi table, or no file, at the path."""

    default_code = "MORTICE-NOT-FOUND"

    def __init__(
        self,
        message: str = "",
        *,
        path: str | None = None,
        offset: int | None = None,
        block: int | None = None,
        instant: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, path=path, offset=offset, block=block, instant=instant, code=code)
        self.errno = errno.ENOENT


class TableExistsError(MorticeError, FileExistsError):
    """There is a Hudi table at the path where one was to be created."""

    default_code = "MORTICE-ALREADY-EXISTS"

    def __init__(
        self,
        message: str = "",
        *,
        path: str | None = None,
        offset: int | None = None,
        block: int | None = None,
        instant: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, path=path, offset=offset, block=block, instant=instant, code=code)
        self.errno = errno.EEXIST


class CorruptLogError(MorticeError):
    """Bytes of a log file cannot be what they claim to be."""

    default_code = "MORTICE-CORRUPT-LOG"


class UnsupportedError(MorticeError):
    """The table or the query needs something that this release does not have."""

    default_code = "MORTICE-UNSUPPORTED"


class InvalidTableError(MorticeError):
    """The table contradicts itself or the format."""

    default_code = "MORTICE-INVALID-TABLE"


class FileCleanedError(MorticeError):
    """Hudi's cleaner has removed a file that the query needs. Plan the query again, or ask for a later instant."""

    default_code = "MORTICE-FILE-CLEANED"


class InvalidArgumentError(MorticeError, ValueError):
    """What was asked for cannot be."""

    default_code = "MORTICE-INVALID-ARGUMENT"


class MemoryLimitError(MorticeError):
    """The merge would need more memory than allowed."""

    default_code = "MORTICE-MEMORY-LIMIT"


class StorageError(MorticeError, OSError):
    """The storage failed."""

    default_code = "MORTICE-IO"


class StorageForbiddenError(StorageError, PermissionError):
    """The object store refused the credentials, or they do not permit the request."""

    default_code = "MORTICE-FORBIDDEN"


class StorageThrottledError(StorageError):
    """The object store asked for fewer requests, and answered all retries so."""

    default_code = "MORTICE-THROTTLED"


class StorageUnreachableError(StorageError, ConnectionError):
    """The object store could not be reached, or did not answer within the time limits."""

    default_code = "MORTICE-UNREACHABLE"


class FileChangedError(StorageError):
    """A file has changed since the query was planned. Plan the query again."""

    default_code = "MORTICE-FILE-CHANGED"


class InternalError(MorticeError):
    """An invariant of mortice itself does not hold.

    The cause is a defect of mortice, not of the data or the arguments. The query stops, since going on could lose rows.
    Please report it with the whole message.
    """

    default_code = "MORTICE-INTERNAL"
