"""The exceptions of mortice: what is wrong, where, and a stable code.

The native module raises these by name. They are plain Python classes, so they pickle with all their attributes, and
they can also be caught by a built-in class (`FileNotFoundError`, `ValueError`, `OSError`). docs/errors.md is generated
from this file: the first paragraph of a docstring is the meaning of the code, the second what to do.
"""

from __future__ import annotations

from errno import EEXIST, ENOENT
from typing import ClassVar

from mortice.values.visible_text import visible_text

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
    "TableServiceError",
    "UnsupportedError",
    "WriteConflictError",
]


class MorticeError(Exception):
    """The base class of all errors of mortice. Errors of this class itself are not raised.

    >>> str(UnsupportedError("block type 9 is not supported", path="trips.log", offset=7))
    '[MORTICE-UNSUPPORTED] block type 9 is not supported (file trips.log, offset 7)'

    Args:
        message: What is wrong and what to do, without code and location.
        path: The file or table.
        offset: The byte offset in the file.
        block: The ordinal of the log block in the file, from 0.
        instant: The instant.
        code: The code, if it is not that of the class.
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
    """A stable code. It is also part of the string, since Spark's executors report errors as strings."""

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
        """The message without code and location. Control characters of names and values are escaped."""
        return visible_text(str(self.args[0]), keep="\n") if self.args else ""

    def __str__(self) -> str:
        location = {"file": self.path, "offset": self.offset, "block": self.block, "instant": self.instant}
        known = ", ".join(f"{name} {visible_text(str(value))}" for name, value in location.items() if value is not None)
        return f"[{self.code}] {self.message}" + (f" ({known})" if known else "")


class TableNotFoundError(MorticeError, FileNotFoundError):
    """There is no Hudi table, or no file, at the path.

    Check the path: it must be the table's base path, the directory that contains `.hoodie`.
    """

    default_code = "MORTICE-NOT-FOUND"
    errno = ENOENT


class TableExistsError(MorticeError, FileExistsError):
    """There is already a Hudi table at the path where one was to be created.

    Open the table with `mortice.Table`, or choose another path.
    """

    default_code = "MORTICE-ALREADY-EXISTS"
    errno = EEXIST


class WriteConflictError(MorticeError):
    """Another writer changed the same file groups, or inserted the same keys, while this write was under way, and
    committed first. Or this write stalled for longer than its heartbeat or its lock is valid, so that other writers
    took it for dead.

    The write was rolled back, and nothing of it is in the table. The message names the other commit and the file
    groups or key, or what the write lost. Write again: a new write reads the table as the other one left it.
    """

    default_code = "MORTICE-WRITE-CONFLICT"


class TableServiceError(MorticeError):
    """The write is part of the table, and a table service after it failed.

    Do not write again: `instant` is that of the completed write, and the message has the reason of the failure. The
    next write or a job of the service (`Table.compact`, `Table.clean`) takes the service up. With
    `hoodie.fail.writes.on.inline.table.service.exception=false` such a failure is a warning.
    """

    default_code = "MORTICE-TABLE-SERVICE"


class CorruptLogError(MorticeError):
    """A log file is damaged.

    `mortice log --verify FILE` lists the damage. With `on_corrupt="skip"`, the default, corrupt blocks are skipped as
    Hudi does; damage within an intact block is always an error. If a completed write wrote the bytes, queries warn, and
    writes and services that merge logs raise this error and change nothing, unless `on_damage` says otherwise. Restore
    the file, or roll back its commit (`Table.rollback`), if it is the latest one.
    """

    default_code = "MORTICE-CORRUPT-LOG"


class UnsupportedError(MorticeError):
    """The table, the query or the write needs a feature that this release does not have.

    The message names the feature and, if there is one, the alternative.
    """

    default_code = "MORTICE-UNSUPPORTED"


class InvalidTableError(MorticeError):
    """The table is inconsistent or violates the format.

    The message names the file. `mortice verify TABLE` lists what is wrong, and `mortice repair TABLE` deletes what
    stopped writers left. `mortice metadata build TABLE --rebuild` replaces a damaged metadata table.

    "Non UTF-8 data" is no damage: Spark writes such strings where they are cast from binary, and Arrow cannot have
    them. The other columns of the table can be read; in Spark, `decode(column, 'ISO-8859-1')` makes text of them.
    """

    default_code = "MORTICE-INVALID-TABLE"


class FileCleanedError(MorticeError):
    """The cleaner has removed a file that the query needs.

    Open the table and plan the query again, or query a later instant. Let the cleaner retain more commits
    (`hoodie.clean.commits.retained`) if queries take longer than that.
    """

    default_code = "MORTICE-FILE-CLEANED"


class InvalidArgumentError(MorticeError, ValueError):
    """An argument or option is invalid.

    The message names the argument, the values that it accepts, and the value that it got.
    """

    default_code = "MORTICE-INVALID-ARGUMENT"


class MemoryLimitError(MorticeError):
    """The merge needs more memory than `memory_limit` allows.

    Raise `memory_limit` (`hoodie.memory.merge.max.size`), or project fewer columns.
    """

    default_code = "MORTICE-MEMORY-LIMIT"


class StorageError(MorticeError, OSError):
    """A storage request failed.

    The message has the reason that the operating system or the object store gave. Retry if it is temporary.
    """

    default_code = "MORTICE-IO"


class StorageForbiddenError(StorageError, PermissionError):
    """The object store rejected the credentials, or they do not permit the request.

    Check credentials, region and permissions (docs/storage.md). Credentials that expire can be supplied by a function.
    """

    default_code = "MORTICE-FORBIDDEN"


class StorageThrottledError(StorageError):
    """The object store throttles requests, and has rejected all retries.

    Run fewer tasks at the same time (`threads`, fewer Spark executors), and try again later.
    """

    default_code = "MORTICE-THROTTLED"


class StorageUnreachableError(StorageError, ConnectionError):
    """The object store could not be reached, or did not answer within the time limits.

    Check the endpoint, the network and proxies; `connect_timeout` and `timeout` set the limits (docs/storage.md).
    """

    default_code = "MORTICE-UNREACHABLE"


class FileChangedError(StorageError):
    """A file has changed since the query was planned.

    Open the table and plan the query again.
    """

    default_code = "MORTICE-FILE-CHANGED"


class InternalError(MorticeError):
    """An invariant of mortice does not hold: the cause is a defect of mortice, not of the data or the arguments.

    The query stops, since continuing could lose rows. Report it with the complete message.
    """

    default_code = "MORTICE-INTERNAL"
