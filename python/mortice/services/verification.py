"""Verification and repair of tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mortice import _mortice
from mortice.commit import Commit
from mortice.display.markup import byte_size, grid
from mortice.observe import observed
from mortice.other_names import answering
from mortice.task_runner import TaskRunner
from mortice.writes import checked_options, commit_of

__all__ = ["Finding", "RepairResult", "VerifyResult", "repair", "verify"]


BRING_BACK = "bring the file back from a copy, or restore a savepoint"
REMEDIES = {
    "repair": {"orphan_file", "temporary_file", "stale_markers", "dead_heartbeat", "undone_instant"},
    "repair, then metadata build --rebuild": {"listed_uncommitted"},
    "metadata build --rebuild": {
        "index_missing_key",
        "index_wrong_location",
        "index_stale_key",
        "listed_not_stored",
        "stored_not_listed",
        "listed_length",
        "unreadable_metadata_table",
    },
    "repair --merge-buckets": {"duplicate_bucket"},
    "keep the file, and find out which write it is of": {"unaccounted_file"},
    "downgrade the table with the release of Hudi that wrote it": {"unsupported_file"},
    "choose which rows are right, and delete the others": {"duplicate_key", "uncommitted_file", "live_replaced_group"},
}
"""What to do about findings, by their kinds; about all others `BRING_BACK`."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a table.

    Attributes:
        kind: `missing_file`, `wrong_length`, `unreadable_instant`, `undone_instant`, `unreadable_metadata_table`,
            `listed_not_stored`, `stored_not_listed`, `listed_length`, `listed_uncommitted`, `uncommitted_file`,
            `unaccounted_file`, `unreadable_file`, `unsupported_file`, `damaged_log`, `duplicate_key`,
            `duplicate_bucket`, `index_missing_key`, `index_wrong_location`, `index_stale_key`, `live_replaced_group`,
            `orphan_file`, `temporary_file`, `stale_markers` or `dead_heartbeat`.
        path: Where, relative to the table.
        message: In words.
        bytes: The bytes of the file, if there is one.
    """

    kind: str
    path: str
    message: str
    bytes: int | None

    @property
    def remedy(self) -> str:
        """What to do, in a few words; docs/writing.md has the rest."""
        return next((remedy for remedy, kinds in REMEDIES.items() if self.kind in kinds), BRING_BACK)


@answering
@dataclass(frozen=True)
class VerifyResult:
    """What a verification found.

    Attributes:
        findings: What is wrong; empty if nothing is.
        pending: Writes that are pending on the timeline, which is not wrong in itself.
        files: The number of data files in storage.
        bytes: Their bytes.
        rows: The rows of the latest file slices; None if their contents were not decoded.
    """

    findings: list[Finding]
    pending: list[str]
    files: int
    bytes: int
    rows: int | None

    def _repr_html_(self) -> str:
        """The findings as a table, for notebooks."""
        rows = [[one.kind, one.path, one.message, one.remedy] for one in self.findings]
        return grid(
            ["what", "path", "message", "what to do"],
            rows,
            f"{self.files:,} data files, {byte_size(self.bytes)}; {len(rows):,} findings",
        )


@dataclass(frozen=True)
class RepairResult:
    """What was repaired, or would be, and what is wrong besides.

    Attributes:
        repaired: What was deleted or merged, or would be.
        left: What is wrong besides, and stays.
        merged: The commit that made one file group of those of each bucket; None if there was nothing to merge, it
            was not asked for, or nothing was changed.
    """

    repaired: list[Finding]
    left: list[Finding]
    merged: Commit | None = None


def verify(
    uri: str,
    storage_options: Mapping[str, Any],
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
        done = _mortice.verify(uri, storage_options, contents=contents, keys=scope, spill_dir=spill_dir)
    else:
        done = _mortice.verify_by_tasks(
            uri, storage_options, runner, contents=contents, keys=scope, spill_dir=spill_dir
        )
    return VerifyResult(_findings(done.findings), done.pending, done.files, done.bytes, done.rows)


def repair(
    uri: str,
    storage_options: Mapping[str, Any],
    options: Mapping[str, Any] | None,
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
        buckets = _findings(merged.buckets)
        commit = None if merged.commit is None else commit_of(merged.commit)
    with observed("repair", uri, dry_run=dry_run) as observation:
        done = _mortice.repair(uri, storage_options, checked_options(options), dry_run)
        left = [one for one in _findings(done.left) if one not in buckets]
        return observation.done(RepairResult(buckets + _findings(done.repaired), left, commit))


def _findings(found: list[_mortice.Finding]) -> list[Finding]:
    return [Finding(one.kind, one.path, one.message, one.bytes) for one in found]
