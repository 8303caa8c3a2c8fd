//! Files that have been removed from a table since its timeline was listed.
//!
//! Files are deleted by cleans, whose plan is on the timeline before the first file is deleted, and by rollbacks, which
//! remove the commit from the timeline first. So if one timeline is listed before the files and another one after them,
//! the second shows which of the files may be missing.

use std::collections::BTreeMap;

use super::instant::{Action, Instant};
use super::metadata_files::requested_file;
use super::service_plans::{self, FilesByPartition};
use super::timeline::Timeline;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;

/// Files that cleans have deleted or are about to delete: the instant of the clean by partition and file name.
#[derive(Debug, Default)]
pub struct RemovedFiles(pub BTreeMap<String, BTreeMap<String, RequestedTime>>);

impl RemovedFiles {
    /// Returns the instant of the clean that has deleted a file.
    #[must_use]
    pub fn by(&self, partition: &str, name: &str) -> Option<&RequestedTime> {
        self.0.get(partition)?.get(name)
    }
}

impl Timeline {
    /// Returns the files that cleans delete which are on the later timeline `now`, and were not completed in this one.
    ///
    /// # Errors
    /// `FileCleaned` if a completed commit has been rolled back, or if the two timelines have too little in common to
    /// decide; errors of reading plans.
    pub fn removed_since(&self, now: &Timeline) -> Result<RemovedFiles> {
        self.check_not_rolled_back(now)?;
        self.check_overlap(now)?;
        let was_done = |clean: &Instant| {
            let known = self.instants_at(&clean.requested_time).iter();
            known.filter(|one| one.is_same(clean)).any(Instant::is_completed)
        };
        let cleans = now.instants().iter().filter(|one| one.action == Action::Clean && !was_done(one));
        now.files_of(cleans)
    }

    /// The files that completed cleans after an instant have deleted. Earlier cleans kept its state: it had not been
    /// replaced yet.
    ///
    /// # Errors
    /// Errors of reading cleans.
    pub fn files_of_cleans_after(&self, instant: &RequestedTime) -> Result<RemovedFiles> {
        let is_later =
            |one: &&Instant| one.action == Action::Clean && one.is_completed() && one.requested_time > *instant;
        let later = || self.instants().iter().filter(is_later);
        self.prefetch(later().map(requested_file))?;
        self.files_of(later())
    }

    /// The files that all cleans on the active timeline have deleted or are about to delete.
    ///
    /// # Errors
    /// Errors of reading cleans.
    pub fn files_of_cleans(&self) -> Result<RemovedFiles> {
        self.files_of(self.instants().iter().filter(|one| one.action == Action::Clean))
    }

    /// The files that pending cleans are about to delete, and may have deleted.
    ///
    /// # Errors
    /// Errors of reading plans.
    pub fn files_of_pending_cleans(&self) -> Result<RemovedFiles> {
        self.files_of(self.instants().iter().filter(|one| one.action == Action::Clean && !one.is_completed()))
    }

    fn files_of<'a>(&self, cleans: impl Iterator<Item = &'a Instant>) -> Result<RemovedFiles> {
        let mut removed = RemovedFiles::default();
        for clean in cleans {
            for (partition, names) in self.files_of_clean(clean)? {
                let times = names.into_iter().map(|name| (name, clean.requested_time.clone()));
                removed.0.entry(partition).or_default().extend(times);
            }
        }
        Ok(removed)
    }

    fn files_of_clean(&self, clean: &Instant) -> Result<FilesByPartition> {
        let name = requested_file(clean);
        let planned = self.read_if_stored(clean, &name, service_plans::files_to_clean)?;
        let files = match planned {
            // Archival deletes the plan first. If it stops then, the completed file is left, which has the files as
            // well.
            None if clean.is_completed() => {
                self.read_if_stored(clean, &clean.file_name, service_plans::cleaned_files)?.flatten()
            }
            planned => planned,
        };
        files.ok_or_else(|| self.missing_file(clean, &name))
    }

    fn check_not_rolled_back(&self, now: &Timeline) -> Result<()> {
        let Some(lost) = self.completed_writes().find(|write| !now.is_completed(&write.requested_time)) else {
            return Ok(());
        };
        let message = format!(
            "the {} of {} has been rolled back, or undone by a restore, since the table was opened; open the table again",
            lost.action, lost.requested_time
        );
        Err(Error::new(ErrorKind::FileCleaned, message).at_instant(&lost.requested_time))
    }

    /// Fails if a clean may have been executed and archived between the two listings.
    fn check_overlap(&self, now: &Timeline) -> Result<()> {
        // A savepoint can be deleted, and a pending instant rolled back, without a trace.
        let completed = || {
            let known = self.instants().iter().rev();
            known.filter(|one| one.is_completed() && one.action != Action::Savepoint)
        };
        let known = completed().find(|one| one.action == Action::Clean).or(completed().next());
        let Some(known) =
            known.filter(|known| !now.instants_at(&known.requested_time).iter().any(|one| one.is_same(known)))
        else {
            return Ok(());
        };
        let message = "too many instants have been archived since the table was opened to know which of its files have been cleaned; open the table again";
        Err(Error::new(ErrorKind::FileCleaned, message).at_instant(&known.requested_time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::timeline;

    fn removed(before: &[&str], now: &[&str]) -> std::result::Result<usize, (ErrorKind, Option<String>)> {
        let removed = timeline(before).removed_since(&timeline(now));
        removed.map(|removed| removed.0.len()).map_err(|error| (error.kind(), error.location().instant.clone()))
    }

    #[test]
    fn only_plans_of_new_cleans_are_read() {
        let known = ["1_2.commit", "3_4.clean", "5_6.deltacommit"];
        assert_eq!(removed(&known, &known), Ok(0));
        assert_eq!(removed(&known, &["1_2.commit", "3_4.clean", "5_6.deltacommit", "7_8.deltacommit"]), Ok(0));
        // The plan of the new clean is missing.
        let now = ["1_2.commit", "3_4.clean", "5_6.deltacommit", "7_8.clean"];
        assert_eq!(removed(&known, &now), Err((ErrorKind::FileCleaned, Some("7".into()))));
        // A pending clean may have been executed meanwhile.
        let pending = ["1_2.commit", "7.clean.inflight"];
        assert_eq!(removed(&pending, &["1_2.commit", "7_8.clean"]), Err((ErrorKind::FileCleaned, Some("7".into()))));
    }

    #[test]
    fn completed_instants_must_stay_completed() {
        let known = ["1_2.commit", "3_4.deltacommit", "5.deltacommit.inflight", "3_9.savepoint"];
        assert_eq!(removed(&known, &["1_2.commit", "3_4.deltacommit"]), Ok(0));
        assert_eq!(
            removed(&known, &["1_2.commit", "3.deltacommit.inflight"]),
            Err((ErrorKind::FileCleaned, Some("3".into())))
        );
        assert_eq!(removed(&known, &["1_2.commit"]), Err((ErrorKind::FileCleaned, Some("3".into()))));
        // Archived, except for the newest.
        assert_eq!(removed(&known, &["3_4.deltacommit", "6_7.deltacommit"]), Ok(0));
    }

    #[test]
    fn timelines_must_overlap() {
        let far = ["8_9.deltacommit", "10_11.clean"];
        assert_eq!(removed(&["1_2.commit", "3_4.deltacommit"], &far), Err((ErrorKind::FileCleaned, Some("3".into()))));
        assert_eq!(
            removed(&["1_2.clean", "3_4.deltacommit"], &["3_4.deltacommit"]),
            Err((ErrorKind::FileCleaned, Some("1".into())))
        );
        assert_eq!(removed(&[], &far), Err((ErrorKind::FileCleaned, Some("10".into()))));
    }
}
