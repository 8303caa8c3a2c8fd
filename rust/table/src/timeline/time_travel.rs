//! Validation of time-travel instants (`TimelineUtils.validateTimestampAsOf`).

use super::instant::{Action, Instant};
use super::service_plans;
use super::timeline::Timeline;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{RequestedTime, TimelinePosition};

impl Timeline {
    /// Checks that the state as of an instant is known. If the instant is older than what the cleaner retains, only the
    /// files of a savepoint are left of it: then the savepoint is returned.
    ///
    /// # Errors
    /// `InvalidArgument` for the time of a pending write, or a later one; `FileCleaned` for a time before the earliest
    /// that the last clean retained, unless it is the time of a savepoint. Files may be missing for later times, too.
    pub fn check_as_of(&self, as_of: &RequestedTime) -> Result<Option<&Instant>> {
        if let Some(pending) = self.first_incomplete(None)?
            && *as_of >= pending.requested_time
        {
            return Err(Error::invalid_argument(format!(
                "as_of={as_of}: the {} of {} is not completed, so the state of the table from then on is not final; use an earlier instant, or read the latest state",
                pending.action, pending.requested_time
            ))
            .at_instant(&pending.requested_time));
        }
        let Some((clean, retained)) = self.last_clean_before(as_of)? else { return Ok(None) };
        // A restore has undone the writes that the clean retained: its files, which a query looks for, tell what is
        // left.
        let retained = retained.filter(|floor| self.completed_writes().any(|write| write.requested_time >= *floor));
        let first = || self.completed_writes().next().map(|instant| instant.requested_time.clone());
        let Some(floor) = retained.or_else(first).filter(|floor| as_of < floor) else { return Ok(None) };
        let savepoint = self.savepoints().find(|savepoint| savepoint.requested_time == *as_of);
        savepoint.map(Some).ok_or_else(|| {
            let kept: Vec<&str> = self.savepoints().map(|savepoint| savepoint.requested_time.as_str()).collect();
            let kept = if kept.is_empty() { String::new() } else { format!(", or a savepoint ({})", kept.join(", ")) };
            let message = format!(
                "as_of={as_of}: the cleaner has removed files from before {floor}; use that or a later instant{kept}"
            );
            Error::new(ErrorKind::FileCleaned, message).at_instant(&clean.requested_time)
        })
    }

    /// Returns the last completed clean. The archive is searched only if the instant is before the start of the active
    /// timeline.
    fn last_clean_before(&self, as_of: &RequestedTime) -> Result<Option<(&Instant, Option<RequestedTime>)>> {
        let active = self.last_clean()?;
        if active.is_some() || !self.is_before_start(as_of) {
            return Ok(active);
        }
        let is_clean = |instant: &&Instant| instant.action == Action::Clean && instant.is_completed();
        let Some(clean) = self.archived()?.iter().rev().find(is_clean) else { return Ok(None) };
        let metadata = self.metadata(clean)?;
        let retained = metadata.as_ref().and_then(|metadata| metadata.get("earliestCommitToRetain")?.as_str());
        let retained = retained.map_or(Ok(None), service_plans::parse_retained);
        Ok(Some((clean, retained.map_err(|error| error.at_instant(&clean.requested_time))?)))
    }

    /// Returns the first pending commit, delta commit or insert overwrite that was requested after a position of layout
    /// 1. Table services are not considered: they change no rows.
    ///
    /// # Errors
    /// Errors of reading plans.
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
    use super::*;
    use crate::timeline::MemoryStorage;
    use crate::timeline::metadata::{HoodieCleanMetadata, TimelineMetadata};
    use crate::timeline::timeline;
    use mortice_merge::config::{Properties, TableConfig};

    #[test]
    fn instants_from_a_pending_write_on_are_rejected() {
        let timeline = timeline(&["1.commit", "2.compaction.requested", "3.deltacommit.inflight", "4.deltacommit"]);
        timeline.check_as_of(&"2".into()).unwrap();
        timeline.check_as_of(&"0".into()).unwrap();
        for as_of in ["3", "4", "9"] {
            let error = timeline.check_as_of(&as_of.into()).unwrap_err();
            assert_eq!((error.kind(), error.location().instant.as_deref()), (ErrorKind::InvalidArgument, Some("3")));
        }
    }

    #[test]
    fn a_floor_that_a_restore_has_undone_does_not_count() {
        let check = |names: &[&str], as_of: &str| {
            let clean = HoodieCleanMetadata { earliest_commit_to_retain: "3".into(), ..HoodieCleanMetadata::default() };
            let bytes = clean.to_avro().unwrap();
            let files: Vec<_> = names
                .iter()
                .map(|name| (format!(".hoodie/{name}"), if name.ends_with("clean") { bytes.as_slice() } else { b"" }))
                .collect();
            let storage = MemoryStorage::holding(files.iter().map(|(path, bytes)| (path.as_str(), *bytes)));
            let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", "6")];
            let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
            let timeline = Timeline::load(&storage, &config).unwrap();
            timeline.check_as_of(&as_of.into()).map(|_| ()).map_err(|error| error.kind())
        };
        let cleaned = Err(ErrorKind::FileCleaned);
        assert_eq!(check(&["1.commit", "2.commit", "3.commit", "4.clean"], "2"), cleaned);
        for as_of in ["1", "2", "5"] {
            assert_eq!(check(&["1.commit", "2.commit", "4.clean", "5.restore"], as_of), Ok(()), "{as_of}");
        }
        // Its state was archived, and cleans with it.
        assert_eq!(check(&["1.commit", "2.commit", "4.clean", "5.restore"], "0"), cleaned);
    }

    #[test]
    fn pending_clustering_is_ignored() {
        timeline(&["1_2.commit", "3.clustering.requested"]).check_as_of(&"4".into()).unwrap();
    }
}
