"""The history of a record: every version of it in base files and logs, and why one of them wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from mortice._mortice import FileSlice, Instant
from mortice.display.markup import grid, tag, value_cell
from mortice.errors import CorruptLogError, FileCleanedError, InvalidArgumentError, MorticeError, UnsupportedError
from mortice.insight.table_view import TableView
from mortice.reading.log_file import Block, LogFile
from mortice.values.other_names import answering

__all__ = ["RecordHistory", "RecordVersion", "history_of"]

KEY = "_hoodie_record_key"
PARTITION = "_hoodie_partition_path"
COMMIT = "_hoodie_commit_time"
SEQUENCE = "_hoodie_commit_seqno"
FILE = "_hoodie_file_name"
OPERATION = "_hoodie_operation"
META = frozenset({KEY, PARTITION, COMMIT, SEQUENCE, FILE, OPERATION})
WINS = "wins"
LOSES = "loses"


@dataclass(frozen=True)
class RecordVersion:
    """One version of a record: a row of a base file, or a record or a delete of a log block."""

    instant: str
    """The requested time of the write that made it."""
    completion_time: str | None
    """When that write completed; None if it has not, below table version 8, and for archived writes."""
    partition: str
    """The partition path."""
    source: str
    """`base row`, `log record` or `log delete`."""
    file: str
    """The name of the file."""
    offset: int | None
    """The offset of the log block."""
    ordering: list[object]
    """The ordering values, one for each ordering field; None where it has none."""
    values: dict[str, object] = field(repr=False)
    """The columns, without meta columns; of a delete none. Those of a log record are as the log has them."""
    state: str
    """`wins`; `loses` against another version of the latest file slice; `older slice`: a later base file replaces it;
    `replaced`: of a log compaction; `rolled back`; `not completed`: queries skip it."""
    reason: str
    """Why it has this state."""
    sequence: str | None = field(default=None, repr=False)
    """`_hoodie_commit_seqno`."""


@answering
@dataclass(frozen=True)
class RecordHistory:
    """The versions of a record."""

    key: str
    """The record key."""
    versions: list[RecordVersion]
    """The versions, in the order in which they were written."""
    row: dict[str, object] | None
    """The row that a snapshot returns, without meta columns; None if the record is deleted."""
    reason: str
    """Why a snapshot returns this row, or none."""
    damaged: list[str]
    """Parts of log files that cannot be decoded, which may have had further versions."""
    missing: list[str]
    """Instants whose file slices cannot be read any more, with the reason. Their versions are not in the list."""

    def _repr_html_(self) -> str:
        """The versions as a table, for notebooks."""
        columns = list(dict.fromkeys(name for one in self.versions for name in one.values))
        rows = [
            [one.instant, one.source, one.state, *(value_cell(one.values.get(name)) for name in columns), one.reason]
            for one in self.versions
        ]
        said = tag("p", f"{'A snapshot returns a row' if self.row is not None else 'There is no row'}: {self.reason}")
        notes = (tag("p", one) for one in (*self.damaged, *self.missing))
        return (
            grid(["instant", "source", "state", *columns, "reason"], rows, f"record key {self.key}")
            + said
            + "".join(notes)
        )


def history_of(table: TableView, key: str, partition: str | None) -> RecordHistory:
    """Returns the history of a record.

    Args:
        table: The table.
        key: The record key, as in `_hoodie_record_key`.
        partition: The partition that is searched; None searches all.

    Raises:
        InvalidArgumentError: No version has the key.
        UnsupportedError: The table has no meta columns.
    """
    if not isinstance(key, str) or not key:
        raise InvalidArgumentError(f"key must be a record key, a non-empty string, got {key!r}")
    if not table.has_meta_columns:
        raise UnsupportedError("history needs the meta columns, which this table does not have")
    search = _Search(table, key, partition)
    versions = _in_order(search.versions(), search.completed)
    if not versions:
        where = "" if partition is None else f" in partition {partition!r}"
        raise InvalidArgumentError(
            f"no version of the record key {key!r} is in the table{where}; a key of several columns is 'id:1,city:oslo'"
        )
    current = table.snapshot(filters=search.terms, emit_deletes=True).to_arrow().to_pylist()
    judged, reason = _judged(table, versions, current)
    rows = [one for one in current if one.get(OPERATION) != "D"]
    row = {name: value for name, value in rows[0].items() if name not in META} if rows else None
    return RecordHistory(key, judged, row, reason, search.damaged, search.missing)


class _Search:
    """Finds the versions of a key in the files of a table."""

    def __init__(self, table: TableView, key: str, partition: str | None) -> None:
        self.table, self.key = table, key
        self.terms: list[tuple[str, str, object]] = [(KEY, "=", key)]
        self.places: list[tuple[str, str, object]] | None = None
        if partition is not None:
            self.places = [(PARTITION, "=", partition)]
            self.terms += self.places
        self.damaged: list[str] = []
        self.missing: list[str] = []
        self.completed = {one.requested_time: one for one in table.timeline.active if one.is_completed}
        self.pending = {one.requested_time for one in table.timeline.pending}

    def versions(self) -> list[RecordVersion]:
        """Returns the versions, those of the latest file slices last."""
        latest = self.table.file_slices(filters=self.places)
        slices: dict[tuple[str, str, str], FileSlice] = {}
        found: dict[tuple[str, str | None], RecordVersion] = {}
        cleaned: list[str] = []
        for instant in [*self._instants_of_base_files(), None]:
            try:
                listed = self.table.file_slices(as_of=instant, filters=self.places)
                rows = self.table.read_optimized(filters=self.terms, as_of=instant).to_arrow().to_pylist()
            except FileCleanedError:
                cleaned.append(str(instant))
                continue
            except MorticeError as error:
                self.missing.append(f"{instant}: {error}")
                continue
            for one in listed:
                _add_logs(slices, one)
            for row in rows:
                found[row[FILE], row[SEQUENCE]] = self._version(row, "base row", row[FILE], None)
        if cleaned:
            self.missing.append(f"files of {len(cleaned)} instants were cleaned, those of {cleaned[-1]} as the latest")
        current = {(one.partition, one.file_id, one.base_instant) for one in latest}
        bases = {PurePosixPath(one.base_file.path).name for one in latest if one.base_file}
        versions = [
            one
            if one.file in bases
            else replace(one, state="older slice", reason="a later base file replaces this one")
            for one in found.values()
        ]
        for name, one in slices.items():
            versions += self._of_logs(one, is_latest=name in current)
        return versions

    def _instants_of_base_files(self) -> list[str]:
        """Returns the instants at which file slices are to be looked at: of writes that wrote base files, and of those
        before them, at which the older slices had their last log files.
        """
        found: list[str] = []
        before: str | None = None
        for instant in self.completed.values():
            metadata = self.table.timeline.metadata(instant) or {}
            stats = [one for group in (metadata.get("partitionToWriteStats") or {}).values() for one in group]
            if any(not PurePosixPath(one.get("path") or ".").name.startswith(".") for one in stats):
                found += [one for one in (before, instant.requested_time) if one is not None and one not in found]
            before = instant.requested_time
        return found

    def _version(self, row: dict[str, Any], source: str, file: str, offset: int | None) -> RecordVersion:
        instant = row.get(COMMIT) or ""
        completed = self.completed.get(instant)
        return RecordVersion(
            instant=instant,
            completion_time=None if completed is None else completed.completion_time,
            partition=row.get(PARTITION) or "",
            source=source,
            file=file,
            offset=offset,
            ordering=[row.get(name) for name in self.table.ordering_fields],
            values={name: value for name, value in row.items() if name not in META},
            state=LOSES,
            reason="",
            sequence=row.get(SEQUENCE),
        )

    def _of_logs(self, slice_: FileSlice, *, is_latest: bool) -> Iterator[RecordVersion]:
        blocks: list[tuple[Block, RecordVersion | None]] = []
        for file in slice_.log_files:
            log = LogFile(f"{self.table.uri.rstrip('/')}/{file.path}", self.table._storage_options)  # noqa: SLF001
            try:
                for block in log.blocks():
                    blocks += self._of_block(log, block, slice_.partition)
            except MorticeError as error:
                self.damaged.append(str(error))
        rolled_back = {one.header.get("TARGET_INSTANT_TIME") for one, _ in blocks if one.type == "COMMAND_BLOCK"}
        compacted = {
            instant for one, _ in blocks for instant in (one.header.get("COMPACTED_BLOCK_TIMES") or "").split(",")
        }
        for block, version in blocks:
            if version is None:
                continue
            instant = block.instant_time or ""
            if instant in rolled_back:
                yield replace(version, state="rolled back", reason="a rollback block names its write")
            elif instant in self.pending:
                yield replace(version, state="not completed", reason="its write is pending")
            elif instant in compacted:
                yield replace(version, state="replaced", reason="a log compaction has merged its block into another")
            elif not is_latest:
                yield replace(version, state="older slice", reason="a compaction has merged it into a later base file")
            else:
                yield version

    def _of_block(self, log: LogFile, block: Block, partition: str) -> list[tuple[Block, RecordVersion | None]]:
        """Returns the block with each version in it; with None if there is none."""
        name = PurePosixPath(log.path).name
        if block.damage is not None:
            self.damaged.append(f"{name}, offset {block.offset}: {block.damage}")
            return [(block, None)]
        try:
            if block.type == "DELETE_BLOCK":
                rows = [
                    self._delete(one, block, partition, name)
                    for one in log.deletes(block).to_pylist()
                    if one["record_key"] == self.key and one["partition_path"] in (partition, None)
                ]
            elif block.type.endswith("_DATA_BLOCK"):
                records = log.records(block, keys=[self.key]).to_pylist()
                rows = [
                    self._version(
                        {PARTITION: partition, COMMIT: block.instant_time} | one, "log record", name, block.offset
                    )
                    for one in records
                ]
            else:
                rows = []
        except CorruptLogError as error:
            self.damaged.append(str(error))
            rows = []
        return [(block, one) for one in rows] or [(block, None)]

    def _delete(self, row: dict[str, Any], block: Block, partition: str, name: str) -> RecordVersion:
        version = self._version({COMMIT: block.instant_time, PARTITION: partition}, "log delete", name, block.offset)
        value = row["ordering_value"]
        is_number = value is not None and str(value).lstrip("-").isdecimal()
        fields = len(self.table.ordering_fields)
        return replace(version, values={}, ordering=[int(value) if is_number else value] * min(1, fields))


def _add_logs(slices: dict[tuple[str, str, str], FileSlice], one: FileSlice) -> None:
    """Adds a file slice, or the log files that it has got since."""
    name = one.partition, one.file_id, one.base_instant
    known = slices.get(name)
    more = () if known is None else tuple(log for log in known.log_files if log not in one.log_files)
    slices[name] = one.__replace__(log_files=more + one.log_files)


def _in_order(versions: Iterable[RecordVersion], completed: dict[str, Instant]) -> list[RecordVersion]:
    # Base rows of a compaction keep the commit time of the write that they are of, and come after it.
    def position(one: RecordVersion) -> tuple[str, str, bool]:
        known = completed.get(one.instant)
        return (
            known.completion_time if known and known.completion_time else one.instant,
            one.instant,
            one.source == "base row" and one.state != "older slice",
        )

    return sorted(versions, key=position)


def _judged(
    table: TableView, versions: list[RecordVersion], current: list[dict[str, Any]]
) -> tuple[list[RecordVersion], str]:
    """Returns the versions with the winner among them, as a snapshot has merged them, and why it wins."""
    reasons = []
    judged = list(versions)
    for row in current:
        rivals = [one for one in judged if one.state == LOSES and one.partition == row[PARTITION]]
        winner = _winner(row, rivals)
        if winner is None:
            reasons.append(f"the row is merged of {len(rivals)} versions by {table.custom_merge or table.merge_mode}")
            continue
        why = _why_it_wins(table, winner, [one for one in rivals if one is not winner])
        reasons.append(f"{winner.source} of {winner.instant} wins: {why}")
        judged = [
            replace(one, state=WINS, reason=why)
            if one is winner
            else replace(one, reason=_why_it_loses(table, one, winner))
            if one in rivals
            else one
            for one in judged
        ]
    if not reasons:
        reasons.append("no version of it is in the latest file slices")
    return judged, "; ".join(reasons)


def _winner(row: dict[str, object], rivals: list[RecordVersion]) -> RecordVersion | None:
    if row.get(OPERATION) == "D" and row[SEQUENCE] is None:
        found = [one for one in rivals if one.source == "log delete" and one.instant == row[COMMIT]]
    else:
        found = [one for one in rivals if one.sequence == row[SEQUENCE] and one.instant == row[COMMIT]]
    return found[-1] if found else None


def _why_it_wins(table: TableView, winner: RecordVersion, others: list[RecordVersion]) -> str:
    if not others:
        return "it is the only version in the latest file slice"
    if table.merge_mode == "COMMIT_TIME_ORDERING" or not table.ordering_fields:
        return "it was written last, and the table merges by commit time"
    if table.merge_mode != "EVENT_TIME_ORDERING":
        return f"{table.custom_merge or table.merge_mode} chose it"
    if _always_wins(winner):
        return "a delete without an ordering value wins over all that was written before"
    mine = _shown(winner.ordering)
    best = _highest([one for one in others if not _always_wins(one)])
    name = ", ".join(table.ordering_fields)
    if best is None:
        return f"it was written after the deletes, with {name} = {mine}"
    if best.ordering == winner.ordering:
        return f"its ordering value {name} = {mine} is as high as that of {best.instant}, and it was written later"
    return f"its ordering value {name} = {mine} is the highest; the next is {_shown(best.ordering)}"


def _why_it_loses(table: TableView, one: RecordVersion, winner: RecordVersion) -> str:
    by_event_time = table.merge_mode == "EVENT_TIME_ORDERING" and table.ordering_fields
    if not by_event_time or _always_wins(winner) or one.ordering == winner.ordering:
        return f"it was written before {winner.instant}"
    return f"its ordering value {_shown(one.ordering)} is below {_shown(winner.ordering)}"


def _always_wins(one: RecordVersion) -> bool:
    return one.source == "log delete" and one.ordering in ([], [None], [0])


def _highest(versions: list[RecordVersion]) -> RecordVersion | None:
    known = [one for one in versions if one.ordering and None not in one.ordering]
    try:
        return max(known, key=lambda one: one.ordering, default=versions[-1] if versions else None)
    except TypeError:  # A delete block has its value as a string.
        return versions[-1]


def _shown(ordering: list[object]) -> str:
    return ", ".join(str(one) for one in ordering)
