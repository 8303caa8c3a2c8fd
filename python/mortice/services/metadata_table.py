"""Metadata tables: built, changed, deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mortice import _mortice
from mortice._mortice import MetadataResult
from mortice.errors import InvalidArgumentError
from mortice.values.argument_types import Options
from mortice.values.native_types import TaskRunner
from mortice.values.observe import observed
from mortice.values.options import checked_bool
from mortice.writing.writes import checked_options

__all__ = ["MetadataResult", "build_metadata", "delete_metadata"]


def build_metadata(
    uri: str,
    storage_options: Mapping[str, str],
    options: Options | None,
    *,
    add: Sequence[str] = (),
    drop: Sequence[str] = (),
    rebuild: bool = False,
    dry_run: bool = False,
    runner: TaskRunner | None = None,
) -> MetadataResult:
    """Builds or changes the metadata table of the table at `uri`.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        add: Indexes to add.
        drop: Indexes to drop.
        rebuild: Whether it is deleted before.
        dry_run: Whether nothing is to be done but to say what would be.
        runner: The engine whose tasks build a record index, if it is not a dry run; None is this process.

    Raises:
        MorticeError: The subclass that says what is wrong.
    """
    checked, rebuild = checked_options(options), checked_bool("rebuild", rebuild)
    add, drop = _names("add", add), _names("drop", drop)
    with observed("build_metadata", uri, dry_run=dry_run) as observation:
        if runner is None or dry_run:
            done = _mortice.build_metadata(
                uri, storage_options, checked, add=add, drop=drop, rebuild=rebuild, dry_run=dry_run
            )
        else:
            done = _mortice.build_metadata_by_tasks(
                uri, storage_options, checked, runner, add=add, drop=drop, rebuild=rebuild
            )
        return observation.done(done)


def delete_metadata(
    uri: str, storage_options: Mapping[str, str], options: Options | None, *, dry_run: bool = False
) -> MetadataResult:
    """Deletes the metadata table of the table at `uri`.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        dry_run: Whether nothing is to be done but to say what would be.

    Raises:
        MorticeError: The subclass that says what is wrong.
    """
    return _mortice.delete_metadata(uri, storage_options, checked_options(options), dry_run=dry_run)


def _names(argument: str, names: Sequence[str]) -> list[str]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"{argument} must be a list of names of indexes, got {names!r}")
    return list(names)
