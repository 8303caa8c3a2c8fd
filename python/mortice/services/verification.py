"""Verification and repair of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from mortice import _mortice
from mortice._mortice import Finding, RepairResult, VerifyResult
from mortice.values.argument_types import Options
from mortice.values.native_types import TaskRunner
from mortice.values.observe import observed
from mortice.values.other_names import answering
from mortice.writing.writes import checked_options

__all__ = ["Finding", "RepairResult", "VerifyResult", "repair", "verify"]

answering(VerifyResult)


def verify(
    uri: str,
    storage_options: Mapping[str, str],
    *,
    contents: bool,
    keys: bool,
    global_keys: bool,
    spill_dir: str | None,
    runner: TaskRunner | None = None,
) -> VerifyResult:
    """Verifies the table at `uri`.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        contents: True decodes all files of the latest file slices.
        keys: True reads the record keys of all rows: finds those of several rows of a partition, and compares the rows
            with the record index, if the table has one.
        global_keys: True does the same, and finds record keys of several rows of the table.
        spill_dir: The directory of files in which the keys are sorted; None is the system's own for temporary files.
        runner: The engine whose tasks read and compare the keys; None is this process.

    Raises:
        MorticeError: The table cannot be opened or listed.
    """
    scope: Literal["partition", "table"] | None = "table" if global_keys else "partition" if keys else None
    if runner is None:
        return _mortice.verify(uri, storage_options, contents=contents, keys=scope, spill_dir=spill_dir)
    return _mortice.verify_by_tasks(uri, storage_options, runner, contents=contents, keys=scope, spill_dir=spill_dir)


def repair(
    uri: str,
    storage_options: Mapping[str, str],
    options: Options | None,
    *,
    dry_run: bool,
    merge_buckets: bool = False,
) -> RepairResult:
    """Repairs the table at `uri` as far as that is safe.

    Args:
        uri: The table's base path.
        storage_options: Options of the storage, checked.
        options: Options by Hudi's names.
        dry_run: True changes nothing.
        merge_buckets: True makes one file group of those of each bucket that has several, before the rest.

    Raises:
        MorticeError: The subclass that says what is wrong.
    """
    buckets: list[Finding] = []
    commit = None
    if merge_buckets:
        merged = _mortice.merge_buckets(uri, storage_options, checked_options(options), dry_run)
        buckets, commit = merged.buckets, merged.commit
    with observed("repair", uri, dry_run=dry_run) as observation:
        done = _mortice.repair(uri, storage_options, checked_options(options), dry_run)
        left = [one for one in done.left if one not in buckets]
        return observation.done(RepairResult(buckets + done.repaired, left, commit))
