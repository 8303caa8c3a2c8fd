//! Positions on a timeline, for those who take its commits one after the other: requested times in layout 1, completion times in
//! layout 2.

use std::collections::BTreeSet;

use super::instant::Instant;
use super::span::Span;
use super::timeline::Timeline;
use crate::config::TimelineLayout;
use crate::error::Result;
use crate::names::TimelinePosition;

impl Timeline {
    /// The positions of the completed writes in a span. In layout 1 those that a write under way in the span may yet precede are
    /// left out.
    ///
    /// # Errors
    /// What reading plans, and the archive where it is wanted, may fail with.
    pub fn bounds_in(&self, span: &Span, with_archive: bool) -> Result<BTreeSet<TimelinePosition>> {
        let pending = match self.layout {
            TimelineLayout::V1 => self
                .first_incomplete(span.begin.as_ref())?
                .map(|pending| TimelinePosition::from(&pending.requested_time)),
            TimelineLayout::V2 => None,
        };
        let archived = if with_archive { self.archived()? } else { &[] };
        let writes = archived.iter().filter(|instant| instant.is_completed_write()).chain(self.completed_writes());
        let bounds = writes.map(|write| self.bound_of(write)).filter(|bound| span.contains(bound));
        let unblocked = |bound: &TimelinePosition| pending.as_ref().is_none_or(|pending| bound < pending);
        Ok(bounds.filter(unblocked).collect())
    }

    /// The position behind all completed writes, but for those that a write under way may yet precede; none where there is none.
    ///
    /// # Errors
    /// As for [`Timeline::bounds_in`].
    pub fn newest_bound(&self) -> Result<Option<TimelinePosition>> {
        let all = Span::default();
        match self.bounds_in(&all, false)?.pop_last() {
            Some(newest) => Ok(Some(newest)),
            // Every active write may be under way, or behind one that is.
            None => Ok(self.bounds_in(&all, true)?.pop_last()),
        }
    }

    /// A position on the timeline that the table had in the other layout, before or after it was upgraded. This one, which has
    /// both times of each write, translates: requested into completion times, or back. No write behind the position comes before
    /// the new one; where the two orders differ, some may come again.
    ///
    /// # Errors
    /// What reading the archive may fail with.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::timeline::tests::timeline;

    fn bounds(names: &[&str], begin: &str) -> Vec<String> {
        let span = Span { begin: Some(begin.into()), end: None };
        timeline(names).bounds_in(&span, true).unwrap().into_iter().map(String::from).collect()
    }

    #[test]
    fn a_write_under_way_holds_back_what_was_requested_after_it() {
        let names = ["1.commit", "2.deltacommit", "3.deltacommit.inflight", "4.deltacommit", "5.compaction.requested"];
        assert_eq!(bounds(&names, "0"), ["1", "2"]);
        assert_eq!(bounds(&names, "3"), ["4"]);
        assert_eq!(timeline(&names).newest_bound().unwrap(), Some("2".into()));
    }

    #[test]
    fn completion_times_wait_for_nobody() {
        let names = ["1_7.commit", "2.deltacommit.inflight", "3_5.deltacommit", "4_7.deltacommit", "6_8.clean"];
        assert_eq!(bounds(&names, "0"), ["5", "7"]);
        assert_eq!(bounds(&names, "5"), ["7"]);
        assert_eq!(timeline(&names).newest_bound().unwrap(), Some("7".into()));
        assert_eq!(timeline(&["1.inflight"]).newest_bound().unwrap(), None);
    }

    #[test]
    fn positions_of_the_other_layout_lose_no_write() {
        // The second was requested before the third, and completed after it.
        let told = timeline(&["1_2.commit", "3_9.commit", "4_5.commit", "6_7.commit"]);
        let completion = |position: &str| told.translated(&position.into(), true).unwrap().map(String::from);
        assert_eq!((completion("1").as_deref(), completion("3").as_deref()), (Some("2"), Some("2")));
        assert_eq!((completion("4").as_deref(), completion("6").as_deref()), (Some("5"), Some("9")));
        assert_eq!(completion("0"), None);
        let requested = |position: &str| told.translated(&position.into(), false).unwrap().map(String::from);
        assert_eq!((requested("2").as_deref(), requested("7").as_deref()), (Some("1"), Some("1")));
        assert_eq!(requested("9").as_deref(), Some("6"));
    }
}
