//! The range of an incremental query on a timeline: after `begin`, up to and including `end`.

use super::commit_metadata::CommitMetadata;
use super::instant::Instant;
use mortice_base::error::Result;
use mortice_base::names::{RequestedTime, TimelinePosition, TimelineZone};
use std::collections::BTreeSet;

use super::read_position::ReadPosition;

/// Name of a `begin` before all instants (`START_COMMIT_EARLIEST`).
const EARLIEST: &str = "earliest";

/// A range of a timeline. A bound of `None` does not limit the range; a bound need not be the time of an instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimelineRange {
    /// Exclusive.
    pub begin: Option<TimelinePosition>,
    /// Inclusive.
    pub end: Option<TimelinePosition>,
    /// Writes that were pending at the begin: they are in the range even if they are completed before it.
    pub open_at_begin: BTreeSet<RequestedTime>,
    /// Writes that were pending at the end: they are not in the range even if they are completed before it.
    pub open_at_end: BTreeSet<RequestedTime>,
}

/// Receives a write of a range and its metadata. Writes with an empty file are not visited.
pub type WriteVisitor<'v> = dyn FnMut(&Instant, CommitMetadata) -> Result<()> + 'v;

impl TimelineRange {
    /// Returns the range between two positions.
    #[must_use]
    pub fn between(begin: Option<ReadPosition>, end: Option<ReadPosition>) -> Self {
        let (begin, open_at_begin) = begin.map(|begin| (begin.bound, begin.open)).unzip();
        let (end, open_at_end) = end.map(|end| (end.bound, end.open)).unzip();
        let (open_at_begin, open_at_end) = (open_at_begin.unwrap_or_default(), open_at_end.unwrap_or_default());
        Self { begin, end, open_at_begin, open_at_end }
    }

    /// Parses positions, or bounds in any format of [`mortice_base::names::query_instant`]; `begin` may be `earliest`.
    ///
    /// # Errors
    /// `InvalidArgument` for strings that are not instants.
    pub fn from_query(begin: &str, end: Option<&str>, zone: TimelineZone) -> Result<Self> {
        let begin = Some(begin.trim()).filter(|begin| !begin.eq_ignore_ascii_case(EARLIEST));
        let begin = begin.map(|begin| ReadPosition::from_query("begin", begin, zone)).transpose()?;
        Ok(Self::between(begin, end.map(|end| ReadPosition::from_query("end", end, zone)).transpose()?))
    }

    /// Returns true if the range contains a write, given its position and its requested time.
    #[must_use]
    pub fn contains_write(&self, bound: &TimelinePosition, requested: &RequestedTime) -> bool {
        let is_after = self.begin.as_ref().is_none_or(|begin| begin < bound) || self.open_at_begin.contains(requested);
        let is_before = self.end.as_ref().is_none_or(|end| bound <= end) && !self.open_at_end.contains(requested);
        is_after && is_before
    }

    /// Returns true if the range contains a position.
    #[must_use]
    pub fn contains(&self, time: &TimelinePosition) -> bool {
        self.begin.as_ref().is_none_or(|begin| begin < time) && self.end.as_ref().is_none_or(|end| time <= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    fn range(begin: &str, end: &str) -> TimelineRange {
        TimelineRange { begin: Some(begin.into()), end: Some(end.into()), ..TimelineRange::default() }
    }

    #[test]
    fn bounds_are_instants_in_any_format() {
        assert_eq!(TimelineRange::from_query("earliest", None, TimelineZone::Utc).unwrap(), TimelineRange::default());
        let given = TimelineRange::from_query("000", Some("2024-01-02 03:04:05"), TimelineZone::Utc).unwrap();
        assert_eq!(given, range("000", "20240102030405999"));
        assert!(
            given.contains(&"20240102030405999".into())
                && given.contains(&"001".into())
                && !given.contains(&"000".into())
        );
        assert!(!given.contains(&"20240102030406000".into()));
        for (begin, end) in [("yesterday", None), ("000", Some("earliest")), ("", None)] {
            assert_eq!(
                TimelineRange::from_query(begin, end, TimelineZone::Utc).unwrap_err().kind(),
                ErrorKind::InvalidArgument,
                "{begin}"
            );
        }
    }
}
