//! Hollow commits: pending writes in a range that later writes have overtaken
//! (`TimelineUtils.handleHollowCommitIfNeeded`).
//!
//! | layout | ranges are compared with | effect of a pending write |
//! |---|---|---|
//! | 1 (table version 7 and below) | requested times | it may complete later, within a range that has been read |
//! | 2 | completion times | none: it completes after every range that has been read |

use super::instant::{Action, Instant};
use super::range::TimelineRange;
use super::timeline::Timeline;
use mortice_base::error::{Error, Result};
use mortice_base::names::TimelinePosition;
use mortice_merge::config::TimelineLayout;

/// The handling of hollow commits: pending writes in the range that later completed writes have overtaken
/// (`hoodie.read.timeline.holes.resolution.policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HollowCommitPolicy {
    /// The query fails.
    #[default]
    Fail,
    /// The range ends before the first hollow commit.
    Block,
}

impl HollowCommitPolicy {
    /// Parses Hudi's names in any case: `FAIL` or `BLOCK`.
    ///
    /// # Errors
    /// `Unsupported` for `USE_TRANSITION_TIME`; `InvalidArgument` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        match text.to_ascii_uppercase().as_str() {
            "FAIL" => Ok(Self::Fail),
            "BLOCK" => Ok(Self::Block),
            "USE_TRANSITION_TIME" => Err(Error::unsupported(
                "unsupported holes policy USE_TRANSITION_TIME: below table version 8 the transition time is the modification time of a timeline file, which a copy of the table does not keep; use FAIL or BLOCK, or upgrade the table to version 8, which stores completion times",
            )),
            _ => Err(Error::invalid_argument(format!("invalid holes policy {text:?} (supported: FAIL, BLOCK)"))),
        }
    }
}

impl Timeline {
    /// Returns the part of the range before the first hollow commit.
    ///
    /// # Errors
    /// `InvalidArgument` with the instant of the first hollow commit, if the policy is to fail; errors of reading
    /// plans.
    pub fn without_hollow_commits(&self, range: TimelineRange, policy: HollowCommitPolicy) -> Result<TimelineRange> {
        let Some(hollow) = self.first_hollow_commit(&range)? else { return Ok(range) };
        let time = &hollow.requested_time;
        match policy {
            HollowCommitPolicy::Fail => Err(Error::invalid_argument(format!(
                "the {} of {time} is pending, but later writes are completed: a reader that continues after the last of them would never read its rows; wait until it is completed or rolled back, end the range before it, or set the holes policy to BLOCK",
                hollow.action
            ))
            .at_instant(time)),
            HollowCommitPolicy::Block => {
                // The last completed write before the hollow commit ends the range. Without one, the range is empty.
                let before = self.completed_writes().rev().filter(|write| write.requested_time < *time);
                let last = before.map(|write| TimelinePosition::from(&write.requested_time)).find(|one| range.contains(one));
                let end = last.or_else(|| range.begin.clone()).unwrap_or_default();
                Ok(TimelineRange { end: Some(end), ..range })
            }
        }
    }

    /// Returns the first pending write of the range that a completed one has overtaken. Table services are not
    /// considered: they do not add or change rows.
    fn first_hollow_commit(&self, range: &TimelineRange) -> Result<Option<&Instant>> {
        if self.layout == TimelineLayout::V2 {
            return Ok(None);
        }
        let Some(last) = self.completed_writes().next_back() else { return Ok(None) };
        let mut pending = self
            .pending_writes()
            .filter(|write| matches!(write.action, Action::Commit | Action::DeltaCommit | Action::ReplaceCommit))
            .filter(|write| {
                range.contains(&(&write.requested_time).into()) && write.requested_time < last.requested_time
            })
            .peekable();
        if pending.peek().is_none() {
            return Ok(None);
        }
        let clustering = self.pending_clustering()?;
        Ok(pending.find(|write| !clustering.contains(write)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::timeline;
    use mortice_base::ErrorKind;

    fn range(begin: &str, end: &str) -> TimelineRange {
        TimelineRange { begin: Some(begin.into()), end: Some(end.into()), ..TimelineRange::default() }
    }

    #[test]
    fn a_pending_write_that_others_overtook_is_a_hollow_commit() {
        let timeline = timeline(&["1.commit", "3.deltacommit.inflight", "5.deltacommit", "7.deltacommit.requested"]);
        for hole_free in [range("0", "2"), range("3", "9"), range("5", "9")] {
            assert_eq!(
                timeline.without_hollow_commits(hole_free.clone(), HollowCommitPolicy::Fail).unwrap(),
                hole_free
            );
        }
        let error = timeline.without_hollow_commits(TimelineRange::default(), HollowCommitPolicy::Fail).unwrap_err();
        assert_eq!((error.kind(), error.location().instant.as_deref()), (ErrorKind::InvalidArgument, Some("3")));
        let blocked = timeline.without_hollow_commits(TimelineRange::default(), HollowCommitPolicy::Block).unwrap();
        assert!(blocked.contains(&"1".into()) && !blocked.contains(&"3".into()) && !blocked.contains(&"5".into()));
        let empty = timeline.without_hollow_commits(range("2", "9"), HollowCommitPolicy::Block).unwrap();
        assert!(!empty.contains(&"3".into()) && !empty.contains(&"5".into()));
    }

    #[test]
    fn table_services_and_completion_times_have_no_hollow_commits() {
        for names in [["1.compaction.requested", "5.deltacommit"], ["1.deltacommit.inflight", "5_6.deltacommit"]] {
            assert_eq!(
                timeline(&names).without_hollow_commits(TimelineRange::default(), HollowCommitPolicy::Fail).unwrap(),
                TimelineRange::default()
            );
        }
    }

    #[test]
    fn policies_have_the_names_of_hudi() {
        assert_eq!(
            (HollowCommitPolicy::parse("fail").unwrap(), HollowCommitPolicy::parse("BLOCK").unwrap()),
            (HollowCommitPolicy::Fail, HollowCommitPolicy::Block)
        );
        assert_eq!(HollowCommitPolicy::parse("USE_TRANSITION_TIME").unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(HollowCommitPolicy::parse("skip").unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
