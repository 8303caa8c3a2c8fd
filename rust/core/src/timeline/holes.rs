//! Holes in a span: writes under way that later ones have overtaken (`TimelineUtils.handleHollowCommitIfNeeded`).
//!
//! | layout | spans are compared with | what a write under way may do |
//! |---|---|---|
//! | 1 (table version 7 and below) | requested times | complete later inside a span that was read: a hole |
//! | 2 | completion times | nothing: it completes after whatever was read |

use super::instant::{Action, Instant};
use super::span::Span;
use super::timeline::Timeline;
use crate::config::TimelineLayout;
use crate::error::{Error, Result};
use crate::names::TimelinePosition;

/// What is done about holes: pending writes inside the span that later completed writes have overtaken
/// (`hoodie.read.timeline.holes.resolution.policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Holes {
    /// The query is refused.
    #[default]
    Fail,
    /// The span ends before the first.
    Block,
}

impl Holes {
    /// Hudi's names, in any case: `FAIL` or `BLOCK`.
    ///
    /// # Errors
    /// `Unsupported` for `USE_TRANSITION_TIME`; `InvalidArgument` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        match text.to_ascii_uppercase().as_str() {
            "FAIL" => Ok(Self::Fail),
            "BLOCK" => Ok(Self::Block),
            "USE_TRANSITION_TIME" => Err(Error::unsupported(
                "holes resolved by USE_TRANSITION_TIME: below table version 8 that is the modification time of a timeline file, which does not outlive a copy of the table; use FAIL or BLOCK, or upgrade the table to version 8, which stores completion times",
            )),
            _ => Err(Error::invalid_argument(format!("holes are resolved by FAIL or BLOCK, not {text:?}"))),
        }
    }
}

impl Timeline {
    /// The span as far as it holds no hole.
    ///
    /// # Errors
    /// `InvalidArgument` at the instant of the first hole, where holes fail; what reading plans may fail with.
    pub fn without_holes(&self, span: Span, holes: Holes) -> Result<Span> {
        let Some(hole) = self.first_hole(&span)? else { return Ok(span) };
        let time = &hole.requested_time;
        match holes {
            Holes::Fail => Err(Error::invalid_argument(format!(
                "the {} of {time} is not completed, and later ones are: rows that it completes with would never be seen by who goes on from the last of those; wait for it or its rollback, end the range before it, or let holes block",
                hole.action
            ))
            .at_instant(time)),
            Holes::Block => {
                // Completed instants before the hole: the last of them ends the span, or, where there is none, its begin.
                let before = self.completed_writes().rev().filter(|write| write.requested_time < *time);
                let last = before.map(|write| TimelinePosition::from(&write.requested_time)).find(|one| span.contains(one));
                let end = last.or_else(|| span.begin.clone()).unwrap_or_default();
                Ok(Span { end: Some(end), ..span })
            }
        }
    }

    /// The first write under way in the span that a completed one has overtaken. Table services write no rows of their own.
    fn first_hole(&self, span: &Span) -> Result<Option<&Instant>> {
        if self.layout == TimelineLayout::V2 {
            return Ok(None);
        }
        let Some(last) = self.completed_writes().next_back() else { return Ok(None) };
        let mut pending = self
            .pending_writes()
            .filter(|write| matches!(write.action, Action::Commit | Action::DeltaCommit | Action::ReplaceCommit))
            .filter(|write| {
                span.contains(&(&write.requested_time).into()) && write.requested_time < last.requested_time
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
    use crate::Kind;
    use crate::timeline::timeline::tests::timeline;

    fn span(begin: &str, end: &str) -> Span {
        Span { begin: Some(begin.into()), end: Some(end.into()) }
    }

    #[test]
    fn a_pending_write_that_others_overtook_is_a_hole() {
        let timeline = timeline(&["1.commit", "3.deltacommit.inflight", "5.deltacommit", "7.deltacommit.requested"]);
        for hole_free in [span("0", "2"), span("3", "9"), span("5", "9")] {
            assert_eq!(timeline.without_holes(hole_free.clone(), Holes::Fail).unwrap(), hole_free);
        }
        let error = timeline.without_holes(Span::default(), Holes::Fail).unwrap_err();
        assert_eq!((error.kind(), error.place().instant.as_deref()), (Kind::InvalidArgument, Some("3")));
        let blocked = timeline.without_holes(Span::default(), Holes::Block).unwrap();
        assert!(blocked.contains(&"1".into()) && !blocked.contains(&"3".into()) && !blocked.contains(&"5".into()));
        let empty = timeline.without_holes(span("2", "9"), Holes::Block).unwrap();
        assert!(!empty.contains(&"3".into()) && !empty.contains(&"5".into()));
    }

    #[test]
    fn table_services_and_completion_times_know_no_holes() {
        for names in [["1.compaction.requested", "5.deltacommit"], ["1.deltacommit.inflight", "5_6.deltacommit"]] {
            assert_eq!(timeline(&names).without_holes(Span::default(), Holes::Fail).unwrap(), Span::default());
        }
    }

    #[test]
    fn policies_go_by_hudis_names() {
        assert_eq!((Holes::parse("fail").unwrap(), Holes::parse("BLOCK").unwrap()), (Holes::Fail, Holes::Block));
        assert_eq!(Holes::parse("USE_TRANSITION_TIME").unwrap_err().kind(), Kind::Unsupported);
        assert_eq!(Holes::parse("skip").unwrap_err().kind(), Kind::InvalidArgument);
    }
}
