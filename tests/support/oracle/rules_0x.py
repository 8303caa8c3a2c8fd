"""Merge rules of Hudi 0.x (merge semantics, section 4; `HoodieMergedLogRecordScanner` and the payloads of 0.15)."""

from support.oracle import payloads
from support.oracle.model import Record
from support.oracle.ordering import compare, is_default, of_row, same_class


def log_row(newer, existing, merging, _partial):
    """`newer.preCombine(existing)`."""
    return newer if existing is None else payloads.pre_combined(existing, newer, merging)


def log_delete(delete, existing, _merging):
    """The only comparison of classes: an ordering value of another class deletes."""
    if existing is None:
        return delete
    stays = (
        not is_default(delete.ordering)
        and same_class(delete.ordering, existing.ordering)
        and compare(existing.ordering, delete.ordering) > 0
    )
    return existing if stays else delete


def over_base(base, log, merging, _partial):
    """`combineAndGetUpdateValue`."""
    outcome = payloads.combined(base.row, log, merging)
    if outcome == payloads.OLDER:
        return base
    if outcome == payloads.NEWER:
        return log
    if outcome == payloads.DELETE:
        return Record(log.ordering, None, deleted=True)
    return Record(of_row(outcome, merging), outcome)


def insert(log, merging):
    """`getInsertValue`: returns nothing for a delete."""
    is_deleted = log.row is None or merging.payload == "EmptyHoodieRecordPayload" or payloads.deletes(log.row, merging)
    return Record(log.ordering, None, deleted=True) if is_deleted else log
