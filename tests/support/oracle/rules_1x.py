"""Merge rules of Hudi 1.x (merge semantics, sections 3 and 7; `BufferedRecordMergerFactory`, `HoodieAvroRecordMerger`).

`partial` is true from the first IS_PARTIAL block of the slice on.
"""

from support.oracle import filling, payloads
from support.oracle.model import COMMIT_TIME, CUSTOM, EVENT_TIME, IGNORE_DEFAULTS, Record
from support.oracle.ordering import HudiFails, compare, is_default, of_row, same_class


def log_row(newer, existing, merging, partial):
    """deltaMerge: merges a row of a data block with the previous log record of its key."""
    if existing is None:
        return newer
    if partial:
        return _partial_merge(existing, newer, merging)
    return _merge(existing, newer, merging)


def log_delete(delete, existing, merging):
    """deltaMerge of a delete block's entry. It does not depend on partial blocks."""
    if existing is None or merging.mode == COMMIT_TIME:
        return delete
    if merging.mode == CUSTOM:
        return _merge(existing, delete, merging)
    if is_unordered_delete(existing):
        return existing
    stays = (
        not is_default(delete.ordering)
        and same_class(delete.ordering, existing.ordering)
        and compare(existing.ordering, delete.ordering) > 0
    )
    return existing if stays else delete


def over_base(base, log, merging, partial):
    """finalMerge: merges the log record of a key with the base row."""
    return _partial_merge(base, log, merging) if partial else _merge(base, log, merging)


def insert(log, merging):
    """Returns the log record of a key without a base row, unless it is a delete. The payload class is not called."""
    by_payload = merging.mode == CUSTOM and log.row is not None and not log.deleted
    if by_payload and merging.payload == "EmptyHoodieRecordPayload":
        # Hudi expects a row of the payload here and fails. mortice treats it as a delete, as elsewhere.
        return Record(log.ordering, None, deleted=True)
    if by_payload and payloads.deletes(log.row, merging):
        raise HudiFails("NoSuchElementException: the payload has no row where the reader expects one")
    return log


def is_unordered_delete(record):
    """Whether a record is a delete by commit time: its ordering value is the `Integer` 0, like a real 0 of an int
    column."""
    return record.deleted and is_default(record.ordering)


def _merge(older, newer, merging):
    if merging.mode == CUSTOM:
        return _by_payload(older, newer, merging)
    if _newer_wins(older, newer, merging):
        return _filled(newer, older, merging)
    return _filled(older, newer, merging)


def _newer_wins(older, newer, merging):
    if merging.mode == COMMIT_TIME or is_unordered_delete(newer) or is_unordered_delete(older):
        return True
    assert merging.mode == EVENT_TIME
    return compare(newer.ordering, older.ordering) >= 0


def _filled(high, low, merging):
    """The table's partial update mode (section 7.1)."""
    if merging.partial_update is None or high.deleted or low.deleted:
        return high
    if merging.partial_update == IGNORE_DEFAULTS:
        is_filled = filling.is_same_object_as_default(merging)
    else:
        is_filled = filling.is_marker(merging.unavailable, merging)
    return high.with_row(filling.filled(high.row, low.row, is_filled))


def _partial_merge(older, newer, merging):
    """Merges records that may lack columns (section 7.2)."""
    if merging.mode == COMMIT_TIME:
        if newer.deleted or older.row is None:
            return newer
        if older.deleted:
            raise HudiFails("ArrayIndexOutOfBoundsException: the partial record lacks the column that marked the row")
        return newer.with_row(filling.overlay(newer.row, older.row, merging))
    high, low = (newer, older) if _newer_wins(older, newer, merging) else (older, newer)
    if high.deleted or low.deleted:
        return high
    row = filling.overlay(high.row, low.row, merging)
    return Record(of_row(row, merging), row)


def _by_payload(older, newer, merging):
    if is_unordered_delete(older) or is_unordered_delete(newer) or older.row is None:
        return newer
    outcome = payloads.combined(older.row, newer, merging)
    if outcome == payloads.OLDER:
        return older
    if outcome == payloads.NEWER:
        return newer
    if outcome == payloads.DELETE:
        if newer.deleted or older.deleted:
            return newer if newer.deleted else older
        greater = older if compare(older.ordering, newer.ordering) > 0 else newer
        return Record(greater.ordering, None, deleted=True)
    return Record(of_row(outcome, merging), outcome)
