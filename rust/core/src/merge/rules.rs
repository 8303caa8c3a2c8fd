//! Who wins, by merge mode (`BufferedRecordMergerFactory`, Hudi 1.2). Ties go to the newer record; newer and older mean
//! places in the log, the base being oldest.
//!
//! | mode | data over stored | delete over stored | log over base |
//! |---|---|---|---|
//! | commit time | newer | newer | log |
//! | event time | newer if either is an unordered delete, or its ordering is not lower | a stored unordered delete stays; so does a stored record of a greater ordering, unless the new delete is unordered | log if it is an unordered delete or its ordering is not lower |
//!
//! An unordered delete has no ordering value: none, null, or the `Integer` 0, which on an int column no real value can be
//! told from.

use std::cmp::Ordering;

use super::input::LogKind;
use super::ordering::OrderingValue;

/// The rules of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// COMMIT_TIME_ORDERING.
    CommitTime,
    /// EVENT_TIME_ORDERING; whether the ordering field is an int, whose 0 is the default.
    EventTime {
        /// The ordering column is a 32-bit int.
        int_ordering: bool,
    },
}

/// A record as the rules see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) ordering: OrderingValue<'a>,
    pub(super) deleted: bool,
}

impl Rules {
    /// Whether a newer log record takes the place of a stored one.
    #[inline]
    pub(super) fn replaces(self, kind: LogKind, newer: Side<'_>, stored: Side<'_>) -> bool {
        match (self, kind) {
            (Self::CommitTime, _) => true,
            (Self::EventTime { .. }, LogKind::Data) => {
                self.unordered_delete(newer) || self.unordered_delete(stored) || not_lower(newer, stored)
            }
            (Self::EventTime { .. }, LogKind::Delete) => {
                !self.unordered_delete(stored) && (self.unordered_delete(newer) || not_lower(newer, stored))
            }
        }
    }

    /// Whether the log's record takes the place of the base row.
    #[inline]
    pub(super) fn wins_over_base(self, log: Side<'_>, base: OrderingValue<'_>) -> bool {
        match self {
            Self::CommitTime => true,
            Self::EventTime { .. } => self.unordered_delete(log) || log.ordering.compare(&base) != Ordering::Less,
        }
    }

    fn unordered_delete(self, side: Side<'_>) -> bool {
        side.deleted
            && match side.ordering {
                OrderingValue::Default => true,
                OrderingValue::Fixed(0) => self == Self::EventTime { int_ordering: true },
                _ => false,
            }
    }
}

fn not_lower(newer: Side<'_>, stored: Side<'_>) -> bool {
    newer.ordering.compare(&stored.ordering) != Ordering::Less
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: Rules = Rules::EventTime { int_ordering: false };

    fn row(ordering: i64) -> Side<'static> {
        Side { ordering: OrderingValue::Fixed(ordering), deleted: false }
    }

    fn delete(ordering: i64) -> Side<'static> {
        Side { ordering: OrderingValue::Fixed(ordering), deleted: true }
    }

    const UNORDERED: Side<'static> = Side { ordering: OrderingValue::Default, deleted: true };

    #[test]
    fn commit_time_takes_the_newer() {
        assert!(Rules::CommitTime.replaces(LogKind::Data, row(1), row(2)));
        assert!(Rules::CommitTime.replaces(LogKind::Delete, delete(1), row(2)));
        assert!(Rules::CommitTime.wins_over_base(row(1), OrderingValue::Fixed(2)));
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
        let int = Rules::EventTime { int_ordering: true };
        assert!(int.wins_over_base(delete(0), OrderingValue::Fixed(10)));
        assert!(!EVENT.wins_over_base(delete(0), OrderingValue::Fixed(10)));
    }
}
