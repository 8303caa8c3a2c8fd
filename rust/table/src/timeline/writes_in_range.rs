//! The completed writes of a range, active and archived, each with its metadata.
//!
//! The archive is read only if the range may reach into it. In layout 1 an archived instant was requested before the
//! start of the active timeline, and ranges are compared with requested times. In layout 2 it may have been requested
//! before the start and completed after it: like Hudi's view of completion times, this code assumes that a write takes
//! less than a day.

use chrono::{NaiveDateTime, TimeDelta};

use super::commit_metadata::{CommitMetadata, MetadataPart};
use super::instant::Instant;
use super::range::{TimelineRange, WriteVisitor};
use super::timeline::Timeline;
use super::{archived_v1, history_v2};
use mortice_base::error::Result;
use mortice_base::names::{RequestedTime, TimelinePosition};
use mortice_merge::config::TimelineLayout;

/// The format of an instant's time to the second.
const SECONDS: &str = "%Y%m%d%H%M%S";

impl Timeline {
    /// Visits every completed write of a range once, archived ones first.
    ///
    /// # Errors
    /// Errors of `visit`; errors of reading commit metadata and the archive.
    pub fn visit_writes_in(&self, range: &TimelineRange, visit: &mut WriteVisitor<'_>) -> Result<()> {
        if self.may_reach_archive(range) {
            self.visit_archived_writes_in(range, visit)?;
        }
        let writes = || {
            self.completed_writes()
                .filter(move |write| range.contains_write(&self.bound_of(write), &write.requested_time))
        };
        self.prefetch(writes().map(|write| write.file_name.clone()))?;
        for write in writes() {
            visit(write, self.commit_metadata(write, MetadataPart::All)?.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Returns the position of a write that bounds are compared with: the requested time in layout 1, the completion
    /// time in layout 2.
    #[must_use]
    pub fn bound_of(&self, write: &Instant) -> TimelinePosition {
        match self.layout {
            TimelineLayout::V1 => (&write.requested_time).into(),
            TimelineLayout::V2 => {
                write.completion_time.as_ref().map_or_else(|| (&write.requested_time).into(), TimelinePosition::from)
            }
        }
    }

    /// Returns true if a write of the range may have been archived.
    #[must_use]
    pub fn may_reach_archive(&self, range: &TimelineRange) -> bool {
        let (Some(begin), Some(start)) = (&range.begin, self.start()) else { return true };
        match self.layout {
            TimelineLayout::V1 => *begin < TimelinePosition::from(start),
            TimelineLayout::V2 => requested_from(range, begin).is_none_or(|first| first < *start),
        }
    }

    /// Visits the archived writes of a range once, in no particular order.
    ///
    /// # Errors
    /// Errors of `visit`; errors of reading the archive.
    pub fn visit_archived_writes_in(&self, range: &TimelineRange, visit: &mut WriteVisitor<'_>) -> Result<()> {
        let Some(folder) = &self.archive_folder else { return Ok(()) };
        let mut unless_active = |instant: &Instant, metadata: CommitMetadata| {
            if self.was_archived(instant) { visit(instant, metadata) } else { Ok(()) }
        };
        match self.layout {
            TimelineLayout::V1 => archived_v1::visit_writes(&*self.storage, folder, range, &mut unless_active),
            TimelineLayout::V2 => {
                let requested_from = range.begin.as_ref().and_then(|begin| requested_from(range, begin));
                history_v2::visit_writes(&*self.storage, folder, range, requested_from.as_ref(), &mut unless_active)
            }
        }
    }
}

/// Returns the first time at which a write of a range may have been requested, `None` if that is not known.
fn requested_from(range: &TimelineRange, begin: &TimelinePosition) -> Option<RequestedTime> {
    let day_before = day_before(begin)?;
    Some(range.open_at_begin.first().map_or(day_before.clone(), |open| day_before.min(open.clone())))
}

/// Returns the time a day before a position, to the second; `None` if the position is not a time of the calendar.
fn day_before(position: &TimelinePosition) -> Option<RequestedTime> {
    let seconds = NaiveDateTime::parse_from_str(position.as_str().get(..14)?, SECONDS).ok()?;
    RequestedTime::parse(&seconds.checked_sub_signed(TimeDelta::days(1))?.format(SECONDS).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::timeline;

    fn visited(names: &[&str], begin: Option<&str>, end: Option<&str>) -> Vec<String> {
        // The files of commits are empty, so no metadata is visited.
        let timeline = timeline(names);
        let range = TimelineRange {
            begin: begin.map(TimelinePosition::from),
            end: end.map(TimelinePosition::from),
            ..TimelineRange::default()
        };
        let mut visited = Vec::new();
        let mut visit = |write: &Instant, _: CommitMetadata| {
            visited.push(write.requested_time.to_string());
            Ok(())
        };
        timeline.visit_writes_in(&range, &mut visit).unwrap();
        visited
    }

    #[test]
    fn before_version_8_requested_times_are_compared() {
        let names =
            ["1.commit", "2.clean", "3.deltacommit", "4.deltacommit.inflight", "5.replacecommit", "5.savepoint"];
        assert_eq!(visited(&names, None, None), ["1", "3", "5"]);
        assert_eq!(visited(&names, Some("1"), Some("3")), ["3"]);
        assert_eq!(visited(&names, Some("2"), Some("9")), ["3", "5"]);
        assert!(visited(&names, Some("5"), None).is_empty() && visited(&names, Some("3"), Some("1")).is_empty());
    }

    #[test]
    fn from_version_8_completion_times_are_compared() {
        let names = ["1_9.deltacommit", "2_3.deltacommit", "4_5.commit", "6.deltacommit.inflight"];
        assert_eq!(visited(&names, Some("3"), None), ["1", "4"]);
        assert_eq!(visited(&names, Some("1"), Some("5")), ["2", "4"]);
        assert!(visited(&names, Some("9"), None).is_empty());
    }

    #[test]
    fn the_look_back_is_a_day() {
        assert_eq!(day_before(&"20240301120000123".into()).unwrap(), "20240229120000");
        assert!(day_before(&"000".into()).is_none() && day_before(&"20241301000000".into()).is_none());
    }
}
