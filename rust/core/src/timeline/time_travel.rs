//! Which instants may still be asked for (`TimelineUtils.validateTimestampAsOf`).

use super::instant::{Action, Instant};
use super::service_plans;
use super::timeline::Timeline;
use crate::error::{Error, Kind, Result};
use crate::names::{RequestedTime, TimelinePosition};

impl Timeline {
    /// Whether the state as of an instant can be told: the savepoint whose files alone are left of it, where it is older than
    /// what the cleaner keeps.
    ///
    /// # Errors
    /// `InvalidArgument` for the time of a write that is still under way, or later; `FileCleaned` for a time before the
    /// oldest that the last clean kept, unless it is that of a savepoint.
    pub fn check_as_of(&self, as_of: &RequestedTime) -> Result<Option<&Instant>> {
        if let Some(pending) = self.first_incomplete(None)?
            && *as_of >= pending.requested_time
        {
            return Err(Error::invalid_argument(format!(
                "as of {as_of}: the {} of {} is not completed, so what holds from then on is not known; ask for an earlier instant, or for the latest state",
                pending.action, pending.requested_time
            ))
            .at_instant(&pending.requested_time));
        }
        let Some((clean, retained)) = self.last_clean_before(as_of)? else { return Ok(None) };
        let first = || self.completed_writes().next().map(|instant| instant.requested_time.clone());
        let Some(floor) = retained.or_else(first).filter(|floor| as_of < floor) else { return Ok(None) };
        let savepoint = self.savepoints().find(|savepoint| savepoint.requested_time == *as_of);
        savepoint.map(Some).ok_or_else(|| {
            let kept: Vec<&str> = self.savepoints().map(|savepoint| savepoint.requested_time.as_str()).collect();
            let kept = if kept.is_empty() { String::new() } else { format!(", or for a savepoint ({})", kept.join(", ")) };
            let message = format!(
                "as of {as_of}: the cleaner has removed files from before {floor}; ask for that or a later instant{kept}"
            );
            Error::new(Kind::FileCleaned, message).at_instant(&clean.requested_time)
        })
    }

    /// The last completed clean, also where it is archived and the instant lies so far back that it matters.
    fn last_clean_before(&self, as_of: &RequestedTime) -> Result<Option<(&Instant, Option<RequestedTime>)>> {
        let active = self.last_clean()?;
        if active.is_some() || !self.is_before_start(as_of) {
            return Ok(active);
        }
        let is_clean = |instant: &&Instant| instant.action == Action::Clean && instant.is_completed();
        let Some(clean) = self.archived()?.iter().rev().find(is_clean) else { return Ok(None) };
        let told = self.metadata(clean)?;
        let retained = told.as_ref().and_then(|told| told.get("earliestCommitToRetain")?.as_str());
        let retained = retained.map_or(Ok(None), service_plans::retained);
        Ok(Some((clean, retained.map_err(|error| error.at_instant(&clean.requested_time))?)))
    }

    /// The first commit, delta commit or overwrite under way that was requested after a position of layout 1; table services change
    /// no rows.
    ///
    /// # Errors
    /// What reading plans may fail with.
    pub fn first_incomplete(&self, after: Option<&TimelinePosition>) -> Result<Option<&Instant>> {
        let mut pending = self
            .pending_writes()
            .filter(|instant| {
                matches!(instant.action, Action::Commit | Action::DeltaCommit | Action::ReplaceCommit)
                    && after.is_none_or(|after| *after < TimelinePosition::from(&instant.requested_time))
            })
            .peekable();
        if pending.peek().is_none() {
            return Ok(None);
        }
        let clustering = self.pending_clustering()?;
        Ok(pending.find(|instant| !clustering.contains(instant)))
    }
}

#[cfg(test)]
mod tests {
    use crate::Kind;
    use crate::timeline::timeline::tests::timeline;

    #[test]
    fn nothing_is_known_from_an_incomplete_write_on() {
        let timeline = timeline(&["1.commit", "2.compaction.requested", "3.deltacommit.inflight", "4.deltacommit"]);
        timeline.check_as_of(&"2".into()).unwrap();
        timeline.check_as_of(&"0".into()).unwrap();
        for as_of in ["3", "4", "9"] {
            let error = timeline.check_as_of(&as_of.into()).unwrap_err();
            assert_eq!((error.kind(), error.place().instant.as_deref()), (Kind::InvalidArgument, Some("3")));
        }
    }

    #[test]
    fn clustering_under_way_is_no_hindrance() {
        timeline(&["1_2.commit", "3.clustering.requested"]).check_as_of(&"4".into()).unwrap();
    }
}
