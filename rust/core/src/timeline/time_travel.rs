//! Which instants may still be asked for (`TimelineUtils.validateTimestampAsOf`).

use super::instant::{Action, Instant};
use super::timeline::Timeline;
use crate::error::{Error, Kind, Result};

impl Timeline {
    /// Whether the state as of an instant can be told.
    ///
    /// # Errors
    /// `InvalidArgument` for the time of a write that is still under way, or later; `FileCleaned` for a time before the
    /// oldest that the last clean kept.
    pub fn check_as_of(&self, as_of: &str) -> Result<()> {
        if let Some(pending) = self.first_incomplete()?
            && as_of >= pending.requested_time.as_str()
        {
            return Err(Error::invalid_argument(format!(
                "as of {as_of}: the {} of {} is not completed, so what holds from then on is not known; ask for an earlier instant, or for the latest state",
                pending.action, pending.requested_time
            ))
            .at_instant(&pending.requested_time));
        }
        let Some((clean, retained)) = self.last_clean()? else { return Ok(()) };
        let first = || self.completed_writes().next().map(|instant| instant.requested_time.clone());
        match retained.or_else(first) {
            Some(retained) if as_of < retained.as_str() => Err(Error::new(
                Kind::FileCleaned,
                format!("as of {as_of}: the cleaner has removed files from before {retained}; ask for that or a later instant"),
            )
            .at_instant(&clean.requested_time)),
            _ => Ok(()),
        }
    }

    /// The first commit, delta commit or overwrite under way; table services change no rows.
    fn first_incomplete(&self) -> Result<Option<&Instant>> {
        let clustering = self.pending_clustering()?;
        let mut pending = self.pending_writes().filter(|instant| {
            matches!(instant.action, Action::Commit | Action::DeltaCommit | Action::ReplaceCommit)
                && !clustering.contains(instant)
        });
        Ok(pending.next())
    }
}

#[cfg(test)]
mod tests {
    use crate::Kind;
    use crate::timeline::timeline::tests::timeline;

    #[test]
    fn nothing_is_known_from_an_incomplete_write_on() {
        let timeline = timeline(&["1.commit", "2.compaction.requested", "3.deltacommit.inflight", "4.deltacommit"]);
        timeline.check_as_of("2").unwrap();
        timeline.check_as_of("0").unwrap();
        for as_of in ["3", "4", "9"] {
            let error = timeline.check_as_of(as_of).unwrap_err();
            assert_eq!((error.kind(), error.place().instant.as_deref()), (Kind::InvalidArgument, Some("3")));
        }
    }

    #[test]
    fn clustering_under_way_is_no_hindrance() {
        timeline(&["1_2.commit", "3.clustering.requested"]).check_as_of("4").unwrap();
    }
}
