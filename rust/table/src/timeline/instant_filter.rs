//! Selects log blocks by the instant in their header (`BaseHoodieLogRecordReader`).
//!
//! Up to table version 7, several delta commits may share a log file, so each block is tested by its own instant. From
//! version 8 on, uncommitted log files are not part of a slice, and the same test changes nothing. It applies to data
//! and delete blocks; command blocks are always read.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use mortice_base::names::RequestedTime;

/// The instants whose blocks are read. Part of a split.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstantFilter {
    /// Requested times of completed writes on the active timeline.
    pub completed: BTreeSet<RequestedTime>,
    /// Requested times of pending writes.
    pub inflight: BTreeSet<RequestedTime>,
    /// The start of the active timeline. Earlier instants are archived, hence completed.
    pub timeline_start: Option<RequestedTime>,
    /// The instant of the query. If `None`, no block is read.
    pub latest: Option<RequestedTime>,
}

impl InstantFilter {
    /// Returns true if blocks of this instant are read: it is completed, and not after the instant of the query.
    #[must_use]
    pub fn is_committed(&self, instant: &RequestedTime) -> bool {
        let archived = self.timeline_start.as_ref().is_some_and(|start| instant < start);
        self.latest.as_ref().is_some_and(|latest| instant <= latest)
            && !self.inflight.contains(instant)
            && (archived || self.completed.contains(instant))
    }

    /// Returns true if the timeline has an instant, or begins after it.
    #[must_use]
    pub fn is_known(&self, instant: &RequestedTime) -> bool {
        let archived = self.timeline_start.as_ref().is_some_and(|start| instant < start);
        archived || self.inflight.contains(instant) || self.completed.contains(instant)
    }
}

#[cfg(test)]
mod tests {
    use crate::timeline::timeline;

    #[test]
    fn blocks_are_selected_by_their_instant() {
        let filter = timeline(&["3.deltacommit.inflight", "4.deltacommit", "6.deltacommit", "8.commit"])
            .instant_filter(Some(&"6".into()));
        for (instant, committed) in
            [("1", true), ("3", false), ("4", true), ("5", false), ("6", true), ("8", false), ("9", false)]
        {
            assert_eq!(filter.is_committed(&instant.into()), committed, "{instant}");
        }
        let known = |instant: &str| filter.is_known(&instant.into());
        assert!(["1", "3", "4", "6", "8"].into_iter().all(known) && !["5", "9"].into_iter().any(known));
        let json = serde_json::to_string(&filter).unwrap();
        assert_eq!(serde_json::from_str::<super::InstantFilter>(&json).unwrap(), filter);
    }
}
