//! What has been taken from a table since its timeline was listed.
//!
//! Files are taken away by cleans, whose plan stands on the timeline before the first is deleted, and with commits that are
//! rolled back, which leave the timeline first. So of two timelines, listed before and after the files, the second tells which
//! files may be missing among them.

use std::collections::BTreeMap;

use super::instant::{Action, Instant};
use super::service_plans;
use super::timeline::Timeline;
use crate::error::{Error, Kind, Result};
use crate::names::RequestedTime;

/// Files that cleans have taken, or are about to take: the clean's instant by partition and name.
#[derive(Debug, Default)]
pub struct Taken(pub BTreeMap<String, BTreeMap<String, RequestedTime>>);

impl Taken {
    /// The clean that has taken a file.
    #[must_use]
    pub fn by(&self, partition: &str, name: &str) -> Option<&RequestedTime> {
        self.0.get(partition)?.get(name)
    }
}

impl Timeline {
    /// Files that were or are taken by cleans which had not been completed in this timeline, by a later one.
    ///
    /// # Errors
    /// `FileCleaned` where a commit that was completed has been taken back, and where so much has happened that it cannot be
    /// told; what reading plans may fail with.
    pub fn taken_since(&self, now: &Timeline) -> Result<Taken> {
        self.check_not_taken_back(now)?;
        self.check_overlap(now)?;
        let was_done = |clean: &Instant| {
            let known = self.instants_at(&clean.requested_time).iter();
            known.filter(|one| one.is_same(clean)).any(Instant::is_completed)
        };
        let cleans = now.instants().iter().filter(|one| one.action == Action::Clean && !was_done(one));
        let mut taken = Taken::default();
        for clean in cleans {
            let plan = format!("{}.{}.requested", clean.requested_time, clean.action);
            for (partition, names) in now.read(clean, &plan, service_plans::files_to_clean)? {
                let times = names.into_iter().map(|name| (name, clean.requested_time.clone()));
                taken.0.entry(partition).or_default().extend(times);
            }
        }
        Ok(taken)
    }

    fn check_not_taken_back(&self, now: &Timeline) -> Result<()> {
        let Some(lost) = self.completed_writes().find(|write| !now.is_completed(&write.requested_time)) else {
            return Ok(());
        };
        let message = format!(
            "the {} of {} has been taken back (rolled back, or restored over) since the table was opened; open it again",
            lost.action, lost.requested_time
        );
        Err(Error::new(Kind::FileCleaned, message).at_instant(&lost.requested_time))
    }

    /// Whether no clean can have come and been archived in between.
    fn check_overlap(&self, now: &Timeline) -> Result<()> {
        // A savepoint can be deleted, and what is pending rolled back, without leaving a trace.
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
        let message = "so much has happened since the table was opened that it cannot be told which of its files have been cleaned away; open it again";
        Err(Error::new(Kind::FileCleaned, message).at_instant(&known.requested_time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::timeline::tests::timeline;

    fn told(before: &[&str], now: &[&str]) -> std::result::Result<usize, (Kind, Option<String>)> {
        let taken = timeline(before).taken_since(&timeline(now));
        taken.map(|taken| taken.0.len()).map_err(|error| (error.kind(), error.place().instant.clone()))
    }

    #[test]
    fn new_cleans_are_looked_at_and_known_ones_not() {
        let known = ["1_2.commit", "3_4.clean", "5_6.deltacommit"];
        assert_eq!(told(&known, &known), Ok(0));
        assert_eq!(told(&known, &["1_2.commit", "3_4.clean", "5_6.deltacommit", "7_8.deltacommit"]), Ok(0));
        // The plan of the new one is not there.
        let now = ["1_2.commit", "3_4.clean", "5_6.deltacommit", "7_8.clean"];
        assert_eq!(told(&known, &now), Err((Kind::FileCleaned, Some("7".into()))));
        // One that was pending may have been done meanwhile.
        let pending = ["1_2.commit", "7.clean.inflight"];
        assert_eq!(told(&pending, &["1_2.commit", "7_8.clean"]), Err((Kind::FileCleaned, Some("7".into()))));
    }

    #[test]
    fn what_was_completed_must_stay_so() {
        let known = ["1_2.commit", "3_4.deltacommit", "5.deltacommit.inflight", "3_9.savepoint"];
        assert_eq!(told(&known, &["1_2.commit", "3_4.deltacommit"]), Ok(0));
        assert_eq!(told(&known, &["1_2.commit", "3.deltacommit.inflight"]), Err((Kind::FileCleaned, Some("3".into()))));
        assert_eq!(told(&known, &["1_2.commit"]), Err((Kind::FileCleaned, Some("3".into()))));
        // Archived, but for the newest.
        assert_eq!(told(&known, &["3_4.deltacommit", "6_7.deltacommit"]), Ok(0));
    }

    #[test]
    fn too_much_may_have_happened() {
        let far = ["8_9.deltacommit", "10_11.clean"];
        assert_eq!(told(&["1_2.commit", "3_4.deltacommit"], &far), Err((Kind::FileCleaned, Some("3".into()))));
        assert_eq!(
            told(&["1_2.clean", "3_4.deltacommit"], &["3_4.deltacommit"]),
            Err((Kind::FileCleaned, Some("1".into())))
        );
        assert_eq!(told(&[], &far), Err((Kind::FileCleaned, Some("10".into()))));
    }
}
