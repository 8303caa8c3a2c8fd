"""Hudi's meta columns, which most people do not want to see."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["META_COLUMNS", "without_meta"]

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
"""The columns that Hudi adds to each row: its commit, its key, its partition and its file."""


def without_meta(names: Iterable[str]) -> list[str]:
    """Returns the names that are not those of meta columns."""
    return [name for name in names if name not in META_COLUMNS]
