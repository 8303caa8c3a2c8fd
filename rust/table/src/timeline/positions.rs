//! Positions on a timeline, for readers that process its commits in order: requested times in layout 1, completion
//! times in layout 2.

use std::collections::BTreeSet;

use super::instant::{Action, Instant};
use super::range::TimelineRange;
use super::read_position::ReadPosition;
use super::timeline::Timeline;
use mortice_base::error::Result;
use mortice_base::names::TimelinePosition;
use mortice_merge::config::TimelineLayout;

impl Timeline {
    /// Returns the positions of the completed writes in a range. In layout 1, positions are omitted if a pending write
    /// in the range may still complete before them.
    ///
    /// # Errors
    /// Errors of reading plans, and the archive if `with_archive` is set.
    pub fn bounds_in(&self, range: &TimelineRange, with_archive: bool) -> Result<BTreeSet<TimelinePosition>> {
        let pending = match self.layout {
            TimelineLayout::V1 => self
                .first_incomplete(range.begin.as_ref())?
                .map(|pending| TimelinePosition::from(&pending.requested_time)),
            TimelineLayout::V2 => None,
        };
        let archived = if with_archive { self.archived()? } else { &[] };
        let writes = archived.iter().filter(|instant| instant.is_completed_write()).chain(self.completed_writes());
        let bounds = writes.map(|write| self.bound_of(write)).filter(|bound| range.contains(bound));
        let unblocked = |bound: &TimelinePosition| pending.as_ref().is_none_or(|pending| bound < pending);
        Ok(bounds.filter(unblocked).collect())
    }

    /// Returns the position of the last completed write that no pending write can precede, `None` if there is no such
    /// write.
    ///
    /// # Errors
    /// As for [`Timeline::bounds_in`].
    pub fn newest_bound(&self) -> Result<Option<TimelinePosition>> {
        let all = TimelineRange::default();
        match self.bounds_in(&all, false)?.pop_last() {
            Some(newest) => Ok(Some(newest)),
            // Every active write may be pending or later than a pending one.
            None => Ok(self.bounds_in(&all, true)?.pop_last()),
        }
    }

    /// Translates a position of the other timeline layout, from before or after an upgrade of the table. This timeline
    /// has both times of each write, so requested times are translated to completion times or back. All writes after
    /// the position are after the new one; where the two orders differ, some writes may be read twice.
    ///
    /// # Errors
    /// Errors of reading the archive.
    pub fn translated(&self, position: &TimelinePosition, to_completion: bool) -> Result<Option<TimelinePosition>> {
        let writes = self.archived()?.iter().filter(|instant| instant.is_completed_write());
        let both = |write: &Instant| {
            let (requested, completion) = (TimelinePosition::from(&write.requested_time), self.bound_of(write));
            if to_completion { (requested, completion) } else { (completion, requested) }
        };
        let pairs: Vec<(TimelinePosition, TimelinePosition)> =
            writes.chain(self.completed_writes()).map(both).collect();
        let next = pairs.iter().filter(|(from, _)| from > position).map(|(_, to)| to).min();
        let passed = pairs.iter().filter(|(from, to)| from <= position && next.is_none_or(|next| to < next));
        Ok(passed.map(|(_, to)| to.clone()).max())
    }

    /// Returns the position after all commits up to a bound.
    #[must_use]
    pub fn position_after(&self, bound: TimelinePosition) -> ReadPosition {
        let is_of_rows =
            |write: &&Instant| matches!(write.action, Action::Commit | Action::DeltaCommit | Action::ReplaceCommit);
        let open = match self.layout {
            // No commit is read while an earlier one is pending.
            TimelineLayout::V1 => BTreeSet::new(),
            TimelineLayout::V2 => {
                let times = self.pending_writes().filter(is_of_rows).map(|write| write.requested_time.clone());
                times.filter(|time| TimelinePosition::from(time) < bound).collect()
            }
        };
        ReadPosition { bound, open }
    }

    /// Returns the writes that were open at a position and were completed before its bound, in the order of their
    /// completion. Writes that were archived are left out unless `with_archive` is set.
    ///
    /// # Errors
    /// Errors of reading the archive.
    pub fn late_writes(&self, position: &ReadPosition, with_archive: bool) -> Result<Vec<Instant>> {
        let mut late = Vec::new();
        for time in &position.open {
            let active = self.writes_at(time).next().is_some();
            let writes: Vec<&Instant> = match !active && with_archive && self.is_before_start(time) {
                true => self.archived_at(time)?.collect(),
                false => self.writes_at(time).collect(),
            };
            let is_late = |write: &&&Instant| write.is_completed_write() && self.bound_of(write) <= position.bound;
            late.extend(writes.iter().filter(is_late).map(|write| Instant::clone(write)));
        }
        late.sort_by_key(|write| self.bound_of(write));
        Ok(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::timeline;

    fn bounds(names: &[&str], begin: &str) -> Vec<String> {
        let range = TimelineRange { begin: Some(begin.into()), ..TimelineRange::default() };
        timeline(names).bounds_in(&range, true).unwrap().into_iter().map(String::from).collect()
    }

    #[test]
    fn a_pending_write_holds_back_later_requests() {
        let names = ["1.commit", "2.deltacommit", "3.deltacommit.inflight", "4.deltacommit", "5.compaction.requested"];
        assert_eq!(bounds(&names, "0"), ["1", "2"]);
        assert_eq!(bounds(&names, "3"), ["4"]);
        assert_eq!(timeline(&names).newest_bound().unwrap(), Some("2".into()));
    }

    #[test]
    fn completion_times_do_not_wait_for_pending_writes() {
        let names = ["1_7.commit", "2.deltacommit.inflight", "3_5.deltacommit", "4_7.deltacommit", "6_8.clean"];
        assert_eq!(bounds(&names, "0"), ["5", "7"]);
        assert_eq!(bounds(&names, "5"), ["7"]);
        assert_eq!(timeline(&names).newest_bound().unwrap(), Some("7".into()));
        assert_eq!(timeline(&["1.inflight"]).newest_bound().unwrap(), None);
    }

    #[test]
    fn positions_of_the_other_layout_lose_no_write() {
        // The second was requested before the third, and completed after it.
        let timeline = timeline(&["1_2.commit", "3_9.commit", "4_5.commit", "6_7.commit"]);
        let completion = |position: &str| timeline.translated(&position.into(), true).unwrap().map(String::from);
        assert_eq!((completion("1").as_deref(), completion("3").as_deref()), (Some("2"), Some("2")));
        assert_eq!((completion("4").as_deref(), completion("6").as_deref()), (Some("5"), Some("9")));
        assert_eq!(completion("0"), None);
        let requested = |position: &str| timeline.translated(&position.into(), false).unwrap().map(String::from);
        assert_eq!((requested("2").as_deref(), requested("7").as_deref()), (Some("1"), Some("1")));
        assert_eq!(requested("9").as_deref(), Some("6"));
    }
}
