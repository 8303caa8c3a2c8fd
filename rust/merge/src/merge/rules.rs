//! Which record wins, by the table's merge mode and the release whose rules are followed. Newer and older refer to
//! commit order, the base row being oldest; ties go to the newer record.
//!
//! Hudi 1.x (`BufferedRecordMergerFactory`, 1.2):
//!
//! | mode | data over stored | delete block over stored | log over base |
//! |---|---|---|---|
//! | commit time | newer | newer | log |
//! | event time | newer if either is an unordered delete, or its ordering is not lower | a stored unordered delete stays; so does a stored record of a greater ordering, unless the new delete is unordered | log if it is an unordered delete or its ordering is not lower |
//!
//! A payload class under 1.x (`CustomPayloadRecordMerger`): a delete block always deletes; a row is the newer one, or
//! where the class compares the one of the greater ordering, unless the older has no row or either is an unordered
//! delete.
//!
//! Hudi 0.x (`HoodieMergedLogRecordScanner` and the payload classes, 0.15). A record without a row is one from a delete
//! block:
//!
//! | payload | data over stored | delete block over stored | log over base |
//! |---|---|---|---|
//! | overwrite with latest | newer if the stored one has no row, or its ordering is not lower | newer if it is unordered, or its ordering is not lower | log |
//! | default, event time | the same | the same | log if it has no row, or its ordering is not lower |
//! | first value | newer if the stored one has no row, or its ordering is higher | the same | log if it has no row, its ordering is higher, or the base row has none |
//!
//! An unordered delete has no ordering value: none, null, or the `Integer` 0, which on an int column looks like a real
//! value.

use std::cmp::Ordering;

use super::binlog_position;
use super::input::LogKind;
use super::ordering::OrderingValue;

/// The rules of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordMergeRules {
    /// COMMIT_TIME_ORDERING.
    CommitTime,
    /// EVENT_TIME_ORDERING; whether the ordering field is an int or a date, whose 0 is the default.
    EventTime {
        /// The ordering column is an int or a date.
        int_ordering: bool,
    },
    /// A payload class by the rules of Hudi 1.x: `combineAndGetUpdateValue` at each step.
    Payload1x {
        /// How the class decides between a newer and an older record.
        over_base: OverBase,
        /// The ordering column is an int or a date.
        int_ordering: bool,
    },
    /// The rules of Hudi 0.x.
    Payload0x {
        /// Which of a log record and a base row the payload class takes.
        over_base: OverBase,
        /// The ordering column is an int or a date.
        int_ordering: bool,
    },
}

/// Which of two rows a payload class takes (`combineAndGetUpdateValue`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverBase {
    /// The log record, regardless of its ordering value (`OverwriteWithLatestAvroPayload`).
    Always,
    /// The log record, unless its ordering value is lower (`DefaultHoodieRecordPayload`, `EventTimeAvroPayload`).
    UnlessLower,
    /// The log record, unless its ordering value, a position in a MySQL binlog, is lower (`MySqlDebeziumAvroPayload`).
    UnlessLowerPosition,
    /// The log record, only if its ordering value is higher: of equal ones the first stays (`FirstValueAvroPayload`, in
    /// Hudi 0.15 and 1.0).
    IfHigher,
}

impl OverBase {
    /// Returns true if the class prefers the newer of two rows with these ordering values. Binlog positions are
    /// compared here only; entries of delete blocks are compared as text.
    fn prefers_newer(self, newer: OrderingValue<'_>, older: OrderingValue<'_>) -> bool {
        match self {
            Self::UnlessLowerPosition => binlog_position::compare(&newer, &older) != Ordering::Less,
            Self::Always | Self::UnlessLower => newer.compare(&older) != Ordering::Less,
            Self::IfHigher => newer.compare(&older) == Ordering::Greater,
        }
    }

    /// The same for a base row as the older row. One without an ordering value is always replaced
    /// (`FirstValueAvroPayload.needUpdatingPersistedRecord`).
    fn prefers_log(self, log: OrderingValue<'_>, base: OrderingValue<'_>) -> bool {
        self == Self::IfHigher && base == OrderingValue::Default || self.prefers_newer(log, base)
    }
}

/// What the rules need of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergeSide<'a> {
    pub(super) ordering: OrderingValue<'a>,
    /// Whether the ordering value is of another class than the column's.
    pub(super) is_foreign: bool,
    pub(super) deleted: DeleteState,
}

impl MergeSide<'_> {
    /// The same, with the number 0 for a missing ordering value if the column holds `Integer`s.
    pub(super) const fn null_is_zero(self, int_ordering: bool) -> Self {
        match self.ordering {
            OrderingValue::Default if int_ordering => Self { ordering: OrderingValue::Fixed(0), ..self },
            _ => self,
        }
    }

    /// Returns true if an entry of a delete block replaces a stored record whose ordering value it is compared with.
    /// Only here Hudi compares classes: a value of another class than the stored one deletes, regardless of the value.
    pub(super) fn deletes(self, stored: MergeSide<'_>) -> bool {
        self.is_foreign != stored.is_foreign || not_lower(self, stored)
    }
}

/// Whether, and how, a record is a delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeleteState {
    /// It is not a delete.
    No,
    /// By a delete mark in its row.
    ByRow,
    /// By a delete block: there is no row.
    ByBlock,
    /// It is not a delete, but has a delete mark in its row: a base row, or a row whose mark was filled from another.
    /// Only payload classes that read both rows regard it.
    Flagged,
}

impl RecordMergeRules {
    /// Returns true if a newer log record replaces a stored one.
    #[inline]
    pub(super) fn replaces(self, kind: LogKind, newer: MergeSide<'_>, stored: MergeSide<'_>) -> bool {
        match (self, kind) {
            (Self::CommitTime, _) => true,
            (Self::EventTime { .. }, LogKind::Data) => {
                self.unordered_delete(newer) || self.unordered_delete(stored) || not_lower(newer, stored)
            }
            (Self::EventTime { .. }, LogKind::Delete) => {
                !self.unordered_delete(stored) && (self.unordered_delete(newer) || newer.deletes(stored))
            }
            (Self::Payload1x { .. }, LogKind::Delete) => true,
            (Self::Payload1x { over_base, .. }, LogKind::Data) => {
                stored.deleted == DeleteState::ByBlock
                    || over_base == OverBase::Always
                    || self.unordered_delete(newer)
                    || self.unordered_delete(stored)
                    || over_base.prefers_newer(newer.ordering, stored.ordering)
            }
            (Self::Payload0x { over_base, .. }, LogKind::Data) => {
                stored.deleted == DeleteState::ByBlock || over_base.prefers_newer(newer.ordering, stored.ordering)
            }
            (Self::Payload0x { .. }, LogKind::Delete) => self.unordered_delete(newer) || newer.deletes(stored),
        }
    }

    /// Returns true if the log record replaces the base row.
    #[inline]
    pub(super) fn wins_over_base(self, log: MergeSide<'_>, base: OrderingValue<'_>) -> bool {
        match self {
            Self::CommitTime
            | Self::Payload1x { over_base: OverBase::Always, .. }
            | Self::Payload0x { over_base: OverBase::Always, .. } => true,
            Self::EventTime { .. } => self.unordered_delete(log) || log.ordering.compare(&base) != Ordering::Less,
            Self::Payload1x { over_base, .. } | Self::Payload0x { over_base, .. } => {
                log.deleted == DeleteState::ByBlock || over_base.prefers_log(log.ordering, base)
            }
        }
    }

    fn unordered_delete(self, side: MergeSide<'_>) -> bool {
        let zero_is_none =
            matches!(self, Self::EventTime { int_ordering: true } | Self::Payload0x { int_ordering: true, .. });
        side.deleted != DeleteState::No
            && match side.ordering {
                OrderingValue::Default => true,
                OrderingValue::Fixed(0) => zero_is_none && !side.is_foreign,
                _ => false,
            }
    }
}

fn not_lower(newer: MergeSide<'_>, stored: MergeSide<'_>) -> bool {
    newer.ordering.compare(&stored.ordering) != Ordering::Less
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: RecordMergeRules = RecordMergeRules::EventTime { int_ordering: false };

    fn row(ordering: i64) -> MergeSide<'static> {
        MergeSide { ordering: OrderingValue::Fixed(ordering), is_foreign: false, deleted: DeleteState::No }
    }

    fn delete(ordering: i64) -> MergeSide<'static> {
        MergeSide { ordering: OrderingValue::Fixed(ordering), is_foreign: false, deleted: DeleteState::ByBlock }
    }

    const UNORDERED: MergeSide<'static> =
        MergeSide { ordering: OrderingValue::Default, is_foreign: false, deleted: DeleteState::ByBlock };

    #[test]
    fn commit_time_takes_the_newer() {
        assert!(RecordMergeRules::CommitTime.replaces(LogKind::Data, row(1), row(2)));
        assert!(RecordMergeRules::CommitTime.replaces(LogKind::Delete, delete(1), row(2)));
        assert!(RecordMergeRules::CommitTime.wins_over_base(row(1), OrderingValue::Fixed(2)));
    }

    #[test]
    fn event_time_data_over_stored() {
        for (newer, stored, replaces) in [
            (row(15), row(20), false),
            (row(20), row(20), true),
            (row(15), delete(20), false),
            (row(20), delete(20), true),
            (row(1), UNORDERED, true),
            (UNORDERED, row(9), true),
        ] {
            assert_eq!(EVENT.replaces(LogKind::Data, newer, stored), replaces, "{newer:?} {stored:?}");
        }
    }

    #[test]
    fn event_time_delete_over_stored() {
        for (newer, stored, replaces) in [
            (delete(15), row(20), false),
            (delete(20), row(20), true),
            (UNORDERED, row(20), true),
            (delete(99), UNORDERED, false),
            (UNORDERED, UNORDERED, false),
        ] {
            assert_eq!(EVENT.replaces(LogKind::Delete, newer, stored), replaces, "{newer:?} {stored:?}");
        }
    }

    #[test]
    fn event_time_log_over_base() {
        assert!(!EVENT.wins_over_base(row(5), OrderingValue::Fixed(10)));
        assert!(EVENT.wins_over_base(row(10), OrderingValue::Fixed(10)));
        assert!(!EVENT.wins_over_base(delete(5), OrderingValue::Fixed(10)));
        assert!(EVENT.wins_over_base(UNORDERED, OrderingValue::Fixed(10)));
    }

    #[test]
    fn zero_is_unordered_on_int_columns_only() {
        let int = RecordMergeRules::EventTime { int_ordering: true };
        assert!(int.wins_over_base(delete(0), OrderingValue::Fixed(10)));
        assert!(!EVENT.wins_over_base(delete(0), OrderingValue::Fixed(10)));
    }

    fn marked(ordering: i64) -> MergeSide<'static> {
        MergeSide { ordering: OrderingValue::Fixed(ordering), is_foreign: false, deleted: DeleteState::ByRow }
    }

    const LATEST: RecordMergeRules = RecordMergeRules::Payload0x { over_base: OverBase::Always, int_ordering: false };
    const DEFAULT: RecordMergeRules =
        RecordMergeRules::Payload0x { over_base: OverBase::UnlessLower, int_ordering: false };

    /// What Hudi 0.15 was seen to do.
    #[test]
    fn log_over_stored_of_0_x() {
        for rules in [LATEST, DEFAULT] {
            for (newer, stored, replaces) in [
                (row(15), row(20), false),
                (row(20), row(20), true),
                (row(1), delete(20), true),
                (row(1), UNORDERED, true),
                (row(15), marked(20), false),
                (marked(20), row(20), true),
            ] {
                assert_eq!(rules.replaces(LogKind::Data, newer, stored), replaces, "{newer:?} {stored:?}");
            }
            for (newer, stored, replaces) in [
                (delete(3), row(5), false),
                (delete(5), row(5), true),
                (delete(0), row(5), false),
                (UNORDERED, row(5), true),
                (delete(9), UNORDERED, true),
            ] {
                assert_eq!(rules.replaces(LogKind::Delete, newer, stored), replaces, "{newer:?} {stored:?}");
            }
        }
        let int = RecordMergeRules::Payload0x { over_base: OverBase::Always, int_ordering: true };
        assert!(int.replaces(LogKind::Delete, delete(0), row(5)));
    }

    /// As Hudi 0.15 reads `FirstValueAvroPayload`: rows replace others only with a higher ordering value, deletes with
    /// an equal one.
    #[test]
    fn first_value() {
        let rules = RecordMergeRules::Payload0x { over_base: OverBase::IfHigher, int_ordering: false };
        for (newer, stored, replaces) in [
            (row(5), row(10), false),
            (row(10), row(10), false),
            (row(20), row(10), true),
            (row(5), delete(20), true),
            (row(5), UNORDERED, true),
        ] {
            assert_eq!(rules.replaces(LogKind::Data, newer, stored), replaces, "{newer:?} {stored:?}");
        }
        assert!(!rules.replaces(LogKind::Delete, delete(5), row(10)));
        assert!(rules.replaces(LogKind::Delete, delete(10), row(10)));
        for (log, base, wins) in [
            (row(10), OrderingValue::Fixed(10), false),
            (row(11), OrderingValue::Fixed(10), true),
            (row(-1), OrderingValue::Default, true),
            (delete(5), OrderingValue::Fixed(10), true),
        ] {
            assert_eq!(rules.wins_over_base(log, base), wins, "{log:?} {base:?}");
        }
    }

    /// Rows compare by number, delete blocks as text.
    #[test]
    fn binlog_places() {
        let at = |text: &'static str, deleted| MergeSide {
            ordering: OrderingValue::Bytes(text.as_bytes()),
            is_foreign: false,
            deleted,
        };
        let (low, high) = (at("9.5", DeleteState::No), at("10.1", DeleteState::No));
        for of in [
            |over_base| RecordMergeRules::Payload0x { over_base, int_ordering: false },
            |over_base| RecordMergeRules::Payload1x { over_base, int_ordering: false },
        ] {
            let rules = of(OverBase::UnlessLowerPosition);
            assert!(rules.replaces(LogKind::Data, high, low) && !rules.replaces(LogKind::Data, low, high));
            assert!(rules.wins_over_base(high, low.ordering) && !rules.wins_over_base(low, high.ordering));
            assert!(rules.replaces(LogKind::Delete, at("9.5", DeleteState::ByBlock), high));
            let late = rules.replaces(LogKind::Delete, at("10.1", DeleteState::ByBlock), low);
            assert_eq!(late, matches!(rules, RecordMergeRules::Payload1x { .. }));
        }
    }

    /// A delete that is ordered by a value of another class: not compared, and yet not unordered.
    #[test]
    fn foreign_classes() {
        let foreign = MergeSide { ordering: OrderingValue::Foreign, is_foreign: true, deleted: DeleteState::ByBlock };
        let widened = MergeSide { ordering: OrderingValue::Fixed(5), ..foreign };
        for (newer, stored, replaces) in [
            (foreign, row(20), true),
            (foreign, delete(20), true),
            (foreign, UNORDERED, false),
            (widened, row(20), true),
            (delete(5), widened, true),
            (delete(5), foreign, true),
            (UNORDERED, foreign, true),
        ] {
            assert_eq!(EVENT.replaces(LogKind::Delete, newer, stored), replaces, "{newer:?} {stored:?}");
        }
        assert!(EVENT.wins_over_base(foreign, OrderingValue::Fixed(10)));
        assert!(EVENT.wins_over_base(foreign, OrderingValue::Default));
        assert!(EVENT.wins_over_base(widened, OrderingValue::Fixed(5)));
        assert!(!EVENT.wins_over_base(widened, OrderingValue::Fixed(6)));
        let null = MergeSide { ordering: OrderingValue::Default, is_foreign: false, deleted: DeleteState::No };
        assert!(!EVENT.replaces(LogKind::Data, null, foreign) && EVENT.replaces(LogKind::Data, row(1), foreign));
    }

    #[test]
    fn log_over_base_of_0_x() {
        for (log, over_latest, over_default) in [
            (row(5), true, false),
            (row(10), true, true),
            (marked(5), true, false),
            (delete(5), true, true),
            (UNORDERED, true, true),
        ] {
            assert_eq!(LATEST.wins_over_base(log, OrderingValue::Fixed(10)), over_latest, "{log:?}");
            assert_eq!(DEFAULT.wins_over_base(log, OrderingValue::Fixed(10)), over_default, "{log:?}");
        }
        assert!(DEFAULT.wins_over_base(row(5), OrderingValue::Default));
    }
}
