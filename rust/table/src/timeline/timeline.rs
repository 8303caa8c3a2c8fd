//! The active timeline and queries of its instants (`BaseHoodieTimeline`).
//!
//! An instant before the start of the active timeline has been archived, and only completed instants are archived. The
//! start is the first write, in any state (archiving never passes a pending one), that no savepoint retains: archiving
//! may continue past a savepoint and leave a gap after it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;

use super::instant::{Action, Instant};
use super::instant_filter::InstantFilter;
use mortice_base::error::Result;
use mortice_base::names::{CompletionTime, RequestedTime};
use mortice_merge::config::TimelineLayout;
use mortice_storage::Storage;

/// The active timeline of a table. Metadata is read when it is needed.
pub struct Timeline {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) folder: String,
    pub(super) layout: TimelineLayout,
    pub(super) archive_folder: Option<String>,
    pub(super) archived: OnceLock<Vec<Instant>>,
    /// Log files that compactions merged, for the compactions looked up so far.
    pub(super) compacted: Mutex<HashMap<RequestedTime, CompactedLogs>>,
    /// Files of completed instants, which never change, that were read from storage with round trips.
    pub(super) file_cache: Mutex<FileCache>,
    instants: Vec<Instant>,
    writes: BTreeMap<RequestedTime, Vec<usize>>,
    start: Option<RequestedTime>,
}

/// The names of the log files that a compaction merged; `None` if the instant is not a compaction, or its plan is
/// missing.
pub(super) type CompactedLogs = Option<Arc<HashSet<String>>>;

/// Files by name, and the sum of their sizes in bytes.
#[derive(Default)]
pub(super) struct FileCache {
    pub(super) files: HashMap<String, Bytes>,
    pub(super) bytes: usize,
}

/// The same instants. What was read of them is read again.
impl Clone for Timeline {
    fn clone(&self) -> Self {
        let (folder, archive_folder) = (self.folder.clone(), self.archive_folder.clone());
        Self::new(Arc::clone(&self.storage), folder, self.layout, archive_folder, self.instants.clone())
    }
}

/// When a write was completed, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionStatus<'a> {
    /// At this time.
    At(&'a CompletionTime),
    /// It is pending or unknown.
    Pending,
    /// It was completed before the start of the active timeline; the time is not stored.
    Archived,
}

impl Timeline {
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        folder: String,
        layout: TimelineLayout,
        archive_folder: Option<String>,
        mut instants: Vec<Instant>,
    ) -> Self {
        instants.sort_by(Instant::timeline_order);
        let mut writes: BTreeMap<RequestedTime, Vec<usize>> = BTreeMap::new();
        for (at, instant) in instants.iter().enumerate().filter(|(_, instant)| instant.action.is_write()) {
            writes.entry(instant.requested_time.clone()).or_default().push(at);
        }
        let savepoints: BTreeSet<&RequestedTime> = instants
            .iter()
            .filter(|instant| instant.action == Action::Savepoint)
            .map(|instant| &instant.requested_time)
            .collect();
        let start = writes.keys().find(|time| !savepoints.contains(time)).or(writes.keys().next()).cloned();
        let (archived, compacted, file_cache) = (OnceLock::new(), Mutex::default(), Mutex::default());
        Self { storage, folder, layout, archive_folder, archived, compacted, file_cache, instants, writes, start }
    }

    /// Returns this timeline with an instant in a state that it has reached since, as listing the timeline again would
    /// find it.
    #[must_use]
    pub fn with_instant(&self, reached: Instant) -> Self {
        let is_same = |instant: &Instant| {
            instant.requested_time == reached.requested_time
                && instant.action.completes_as() == reached.action.completes_as()
        };
        let mut instants: Vec<Instant> = self.instants.iter().filter(|instant| !is_same(instant)).cloned().collect();
        instants.push(reached);
        let (folder, archive_folder) = (self.folder.clone(), self.archive_folder.clone());
        Self::new(Arc::clone(&self.storage), folder, self.layout, archive_folder, instants)
    }

    /// Returns all instants, sorted by requested time.
    #[must_use]
    pub fn instants(&self) -> &[Instant] {
        &self.instants
    }

    /// Returns the active instants of a requested time, of any action.
    #[must_use]
    pub fn instants_at(&self, requested_time: &RequestedTime) -> &[Instant] {
        let from = self.instants.partition_point(|instant| instant.requested_time < *requested_time);
        let rest = self.instants.get(from..).unwrap_or_default();
        let len = rest.iter().take_while(|instant| instant.requested_time == *requested_time).count();
        rest.get(..len).unwrap_or_default()
    }

    /// Returns true if an instant of a requested time, of any action, is pending.
    #[must_use]
    pub fn has_pending_at(&self, requested_time: &RequestedTime) -> bool {
        self.instants_at(requested_time).iter().any(|instant| !instant.is_completed())
    }

    /// Returns true if an instant of a requested time, of any action, is completed, or the time is before the start of
    /// the active timeline.
    #[must_use]
    pub fn has_completed_at(&self, requested_time: &RequestedTime) -> bool {
        self.is_before_start(requested_time) || self.instants_at(requested_time).iter().any(Instant::is_completed)
    }

    /// Returns the writes of a requested time: one, unless a table service and a writer use the same time.
    pub fn writes_at(&self, requested_time: &RequestedTime) -> impl Iterator<Item = &Instant> {
        self.writes.get(requested_time).into_iter().flatten().filter_map(|at| self.instants.get(*at))
    }

    /// Returns the completed commits, delta commits and replace commits, sorted by requested time.
    pub fn completed_writes(&self) -> impl DoubleEndedIterator<Item = &Instant> {
        self.instants.iter().filter(|instant| instant.is_completed_write())
    }

    /// Returns the writes that are not completed, including table services, sorted by requested time.
    pub fn pending_writes(&self) -> impl DoubleEndedIterator<Item = &Instant> {
        self.instants.iter().filter(|instant| instant.action.is_write() && !instant.is_completed())
    }

    /// Returns the pending instants of one action.
    pub fn pending(&self, action: Action) -> impl Iterator<Item = &Instant> {
        self.instants.iter().filter(move |instant| instant.action == action && !instant.is_completed())
    }

    /// Returns the first write that no savepoint retains. All earlier writes are archived, hence completed.
    #[must_use]
    pub fn start(&self) -> Option<&RequestedTime> {
        self.start.as_ref()
    }

    /// Returns true if an instant is before the start of the active timeline.
    #[must_use]
    pub fn is_before_start(&self, requested_time: &RequestedTime) -> bool {
        self.start().is_some_and(|start| requested_time < start)
    }

    /// Returns true if a write is completed, on the active timeline or in the archive.
    #[must_use]
    pub fn is_completed(&self, requested_time: &RequestedTime) -> bool {
        if self.writes.contains_key(requested_time) {
            return self.writes_at(requested_time).any(Instant::is_completed);
        }
        self.is_before_start(requested_time)
    }

    /// Returns true if readers see slices of this base instant: completed ones, and those that a pending compaction has
    /// started.
    #[must_use]
    pub fn is_visible(&self, requested_time: &RequestedTime) -> bool {
        self.is_completed(requested_time) || self.writes_at(requested_time).any(is_pending_compaction)
    }

    /// Returns the instant of a query of the latest state: the requested time of the last completed write or pending
    /// compaction. Returns `None` for a table without writes.
    #[must_use]
    pub fn latest_visible(&self) -> Option<&RequestedTime> {
        let mut visible = self.instants.iter().rev().filter(|instant| {
            instant.is_completed_write() || instant.action.is_write() && is_pending_compaction(instant)
        });
        visible.next().map(|instant| &instant.requested_time)
    }

    /// Returns when a write was completed (layout 2). For archived writes the history is read, once.
    ///
    /// # Errors
    /// Errors of reading the history.
    pub fn completion_time(&self, requested_time: &RequestedTime) -> Result<CompletionStatus<'_>> {
        if self.writes.contains_key(requested_time) {
            let completed = self.writes_at(requested_time).find_map(|instant| instant.completion_time.as_ref());
            return Ok(completed.map_or(CompletionStatus::Pending, CompletionStatus::At));
        }
        if !self.is_before_start(requested_time) {
            return Ok(CompletionStatus::Pending);
        }
        let mut archived = self.archived_at(requested_time)?.filter(|instant| instant.action.is_write());
        let completed = archived.find_map(|instant| instant.completion_time.as_ref());
        Ok(completed.map_or(CompletionStatus::Archived, CompletionStatus::At))
    }

    /// Returns the filter with which a scan of logs selects the blocks that are visible at `latest`; without `latest`
    /// it selects none.
    #[must_use]
    pub fn instant_filter(&self, latest: Option<&RequestedTime>) -> InstantFilter {
        let times = |completed| {
            let writes = self.instants.iter().filter(|instant| instant.action.is_write());
            writes
                .filter(move |instant| instant.is_completed() == completed)
                .map(|instant| instant.requested_time.clone())
        };
        InstantFilter {
            completed: times(true).collect(),
            inflight: times(false).filter(|time| !self.is_completed(time)).collect(),
            timeline_start: self.start.clone(),
            latest: latest.cloned(),
        }
    }
}

fn is_pending_compaction(instant: &Instant) -> bool {
    !instant.is_completed() && matches!(instant.action, Action::Compaction | Action::LogCompaction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::timeline;

    #[test]
    fn archived_instants_are_completed() {
        let timeline = timeline(&["3.deltacommit.inflight", "5_6.deltacommit", "7_8.clean"]);
        assert_eq!(timeline.start().unwrap(), "3");
        for (instant, completed) in [("1", true), ("3", false), ("4", false), ("5", true), ("7", false), ("9", false)] {
            assert_eq!(timeline.is_completed(&instant.into()), completed, "{instant}");
        }
        assert_eq!(timeline.latest_visible().unwrap(), "5");
    }

    #[test]
    fn archiving_continues_past_a_savepoint() {
        let timeline = timeline(&["1.deltacommit", "1.savepoint", "5.deltacommit"]);
        assert_eq!(timeline.start().unwrap(), "5");
        assert!(timeline.is_completed(&"1".into()) && timeline.is_completed(&"3".into()));
        let kept = crate::timeline::timeline(&["4.commit", "4.savepoint"]);
        assert!(kept.is_completed(&"3".into()) && !kept.is_completed(&"5".into()));
    }

    #[test]
    fn a_pending_compaction_is_visible_but_not_completed() {
        let timeline = timeline(&["1.deltacommit", "2.compaction.requested", "3.clustering.requested", "4.inflight"]);
        assert!(timeline.is_visible(&"2".into()) && !timeline.is_completed(&"2".into()));
        assert!(!timeline.is_visible(&"3".into()) && !timeline.is_visible(&"4".into()));
        assert_eq!(timeline.latest_visible().unwrap(), "2");
    }

    #[test]
    fn completion_times_are_known_pending_or_archived() {
        let timeline = timeline(&["3_9.deltacommit", "5.deltacommit.inflight"]);
        assert_eq!(timeline.completion_time(&"3".into()).unwrap(), CompletionStatus::At(&"9".into()));
        assert_eq!(timeline.completion_time(&"5".into()).unwrap(), CompletionStatus::Pending);
        assert_eq!(timeline.completion_time(&"4".into()).unwrap(), CompletionStatus::Pending);
        assert_eq!(timeline.completion_time(&"2".into()).unwrap(), CompletionStatus::Archived);
    }

    #[test]
    fn an_empty_timeline_has_nothing() {
        let timeline = timeline(&[]);
        assert!(
            !timeline.is_completed(&"1".into()) && timeline.latest_visible().is_none() && timeline.start().is_none()
        );
    }
}
