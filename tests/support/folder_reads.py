"""Counts listings of directories, and opened files in them, of all processes, as inotify reports them."""

import ctypes
import os
import struct
import sys
from pathlib import Path

_OPEN, _CLOSE, _IS_FOLDER, _ONLY_FOLDERS, _OVERFLOW = 0x20, 0x10, 0x40000000, 0x01000000, 0x4000
_HEADER = struct.Struct("iIII")

AVAILABLE = sys.platform.startswith("linux")


class FolderReads:
    """Counts listings since it was created, or since the last call of `take`."""

    def __init__(self, folders: list[Path]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._queue = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._queue < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._folders: dict[int, Path] = {}
        for folder in folders:
            # Closing is watched too: identical consecutive events would be reported as one.
            watch = libc.inotify_add_watch(self._queue, os.fsencode(folder), _OPEN | _CLOSE | _ONLY_FOLDERS)
            if watch < 0:
                raise OSError(ctypes.get_errno(), f"inotify_add_watch {folder}")
            self._folders[watch] = folder

    def take(self) -> dict[Path, int]:
        """Returns the number of listings of each directory that was listed."""
        counts: dict[Path, int] = {}
        for watch, mask, name in self._events():
            if mask & _OVERFLOW:
                raise AssertionError("the inotify queue overflowed")
            # An event with a name is about a file in the directory.
            if mask & _OPEN and mask & _IS_FOLDER and not name:
                counts[self._folders[watch]] = counts.get(self._folders[watch], 0) + 1
        return counts

    def take_files(self) -> dict[Path, int]:
        """Returns how often each file in the directories was opened since the creation, or since the last call."""
        counts: dict[Path, int] = {}
        for watch, mask, name in self._events():
            if mask & _OVERFLOW:
                raise AssertionError("the inotify queue overflowed")
            if mask & _OPEN and not mask & _IS_FOLDER and name:
                path = self._folders[watch] / os.fsdecode(name)
                counts[path] = counts.get(path, 0) + 1
        return counts

    def _events(self):
        while True:
            try:
                data = os.read(self._queue, 1 << 16)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, length = _HEADER.unpack_from(data, at)
                at += _HEADER.size + length
                yield watch, mask, data[at - length : at].rstrip(b"\0")

    def close(self) -> None:
        os.close(self._queue)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
