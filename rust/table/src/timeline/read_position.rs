//! How far a reader of a table's commits has come.
//!
//! From table version 8 on commits are read in the order of their completion times. A writer generates its completion
//! time before it puts its completed file, and the put may arrive late: after another writer, which took the lock over,
//! has completed a commit with a later time. So a position also has the writes that were pending before it: if one of
//! them is completed with an earlier time, it has not been read.

use std::collections::BTreeSet;
use std::fmt;

use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, TimelinePosition, TimelineZone};

/// Separates the bound and the requested times of pending writes: `20240101120000000~20240101115900000`.
const SEPARATOR: char = '~';

/// A bound, and the writes before it that may still be completed before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadPosition {
    /// All commits up to this position have been read, but for those of `open`.
    pub bound: TimelinePosition,
    /// The requested times of writes that were pending. Most positions have none.
    pub open: BTreeSet<RequestedTime>,
}

impl ReadPosition {
    /// Parses a position that is named `argument`, or an instant in any format of
    /// [`mortice_base::names::query_instant`].
    ///
    /// # Errors
    /// `InvalidArgument` for anything else.
    pub fn from_query(argument: &str, text: &str, zone: TimelineZone) -> Result<Self> {
        let mut parts = text.split(SEPARATOR);
        let bound = TimelinePosition::from_query(argument, parts.next().unwrap_or_default(), zone)?;
        let open = parts.map(|time| {
            RequestedTime::parse(time).ok_or_else(|| {
                Error::invalid_argument(format!("invalid position {text:?}: {time:?} is not the time of an instant"))
            })
        });
        Ok(Self { bound, open: open.collect::<Result<_>>()? })
    }
}

impl From<TimelinePosition> for ReadPosition {
    fn from(bound: TimelinePosition) -> Self {
        Self { bound, open: BTreeSet::new() }
    }
}

impl fmt::Display for ReadPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bound)?;
        self.open.iter().try_for_each(|time| write!(f, "{SEPARATOR}{time}"))
    }
}

impl From<ReadPosition> for String {
    fn from(position: ReadPosition) -> Self {
        position.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{TimelineRange, timeline};
    use mortice_base::ErrorKind;

    #[test]
    fn a_position_is_an_instant_unless_writes_are_pending_before_it() {
        let timeline =
            timeline(&["1_4.commit", "2.deltacommit.inflight", "3.compaction.requested", "5.commit.requested"]);
        assert_eq!(timeline.position_after("4".into()).to_string(), "4~2");
        assert_eq!(timeline.position_after("2".into()).to_string(), "2");
        assert_eq!(timeline.position_after("9".into()).to_string(), "9~2~5");
        let position = "20240101120000000~20240101110000000~20240101110000001";
        assert_eq!(ReadPosition::from_query("start", position, TimelineZone::Utc).unwrap().to_string(), position);
        assert_eq!(
            ReadPosition::from_query("start", "2024-01-01 12:00:00", TimelineZone::Utc).unwrap().to_string(),
            "20240101120000999"
        );
        for wrong in ["20240101120000000~", "20240101120000000~x", "~20240101110000000"] {
            assert_eq!(
                ReadPosition::from_query("start", wrong, TimelineZone::Utc).unwrap_err().kind(),
                ErrorKind::InvalidArgument,
                "{wrong}"
            );
        }
    }

    #[test]
    fn before_version_8_no_write_is_pending_before_a_position() {
        let timeline = timeline(&["1.commit", "2.deltacommit.inflight", "3.commit"]);
        assert_eq!(timeline.position_after("3".into()).to_string(), "3");
    }

    #[test]
    fn a_range_has_the_writes_that_were_open_at_its_begin_and_not_those_that_are_open_at_its_end() {
        let begin = ReadPosition { bound: "5".into(), open: ["1".into(), "2".into(), "3".into()].into() };
        let end = ReadPosition { bound: "8".into(), open: ["3".into(), "6".into()].into() };
        let range = TimelineRange::between(Some(begin), Some(end));
        let has = |bound: &str, requested: &str| range.contains_write(&bound.into(), &requested.into());
        assert!(has("4", "1") && has("5", "2") && has("7", "2"), "late, and in time");
        assert!(!has("4", "3") && !has("4", "0"), "still open, and read before");
        assert!(has("8", "4") && !has("7", "6") && !has("9", "7"), "in the range, open at its end, after it");
    }

    #[test]
    fn late_writes_are_those_that_were_completed_before_the_position() {
        let timeline = timeline(&["1_4.commit", "2_9.commit", "3.inflight", "0_3.commit", "5_6.commit"]);
        let position =
            ReadPosition { bound: "6".into(), open: ["0".into(), "1".into(), "2".into(), "3".into()].into() };
        let late = timeline.late_writes(&position, false).unwrap();
        assert_eq!(late.iter().map(|write| write.requested_time.as_str()).collect::<Vec<_>>(), ["0", "1"]);
    }
}
