"""Copies of tables that are put back after each case: a case changes a few files of about a hundred."""

from __future__ import annotations

import os
import re
import shutil
import stat
from functools import cache
from pathlib import Path

Entry = tuple[int, int, int, int]
"""Type, inode, size and time of change of a file; links are not followed."""
FILE_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def entries_below(folder: Path | str, inside: str = "") -> dict[str, Entry]:
    """Returns what is below a folder by its relative path, folders before what is in them. Links are not followed."""
    with os.scandir(f"{folder}/{inside}") as entries:
        here = list(entries)
    found = {}
    for entry in here:
        path = inside + entry.name
        status = entry.stat(follow_symlinks=False)
        found[path] = (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns)
        if stat.S_ISDIR(status.st_mode):
            found.update(entries_below(folder, f"{path}/"))
    return found


def files_among(folder: Path, entries: dict[str, Entry]) -> list[str]:
    """Returns what is no folder, nor a link to one, in an order that does not depend on random file ids."""
    found = []
    for path, (mode, *_) in entries.items():
        is_folder = os.path.isdir(f"{folder}/{path}") if stat.S_ISLNK(mode) else stat.S_ISDIR(mode)
        if not is_folder:
            found.append(path)
    return sorted(found, key=without_file_ids)


@cache
def without_file_ids(path: str) -> tuple[str, str]:
    """Returns the place of a file among others: by its name without random parts first."""
    return FILE_ID.sub("", path), path


class TableCopy:
    """A copy of a table, and what it has before a case."""

    def __init__(self, template: Path, root: Path) -> None:
        self.template, self.root = template, root
        self.entries: dict[str, Entry] = {}
        self.files: list[str] = []
        self._copy()

    def _copy(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.template, self.root)
        self.entries = entries_below(self.root)
        self.files = files_among(self.root, self.entries)

    def is_changed(self) -> bool:
        """Whether anything was made, changed or deleted."""
        return not self.root.is_dir() or entries_below(self.root) != self.entries

    def put_back(self) -> None:
        """Makes it what it was, by copying what is not."""
        if not self.root.is_dir():
            self._copy()
            return
        kept = set()
        for path, entry in entries_below(self.root).items():
            if self._is_kept(path, entry):
                kept.add(path)
            else:
                self._remove(path)
        for path, (mode, *_) in self.entries.items():
            if path not in kept:
                self._copy_again(path, mode)

    def _copy_again(self, path: str, mode: int) -> None:
        to = self.root / path
        if stat.S_ISDIR(mode):
            to.mkdir()
        else:
            shutil.copy2(self.template / path, to)
        made = to.lstat()
        self.entries[path] = (made.st_mode, made.st_ino, made.st_size, made.st_mtime_ns)

    def _is_kept(self, path: str, entry: Entry) -> bool:
        before = self.entries.get(path)
        if before is not None and stat.S_ISDIR(before[0]):
            return before[0] == entry[0]
        return before == entry

    def _remove(self, path: str) -> None:
        gone = self.root / path
        if gone.is_dir() and not gone.is_symlink():
            shutil.rmtree(gone)
        else:
            gone.unlink(missing_ok=True)
