//! Writes that have left the active timeline since a write began.
//!
//! Archival keeps what a pending write has to see, but not each version of Hudi does so. What was archived is compared
//! as if it were active. What cannot be found any more may have written to the same file groups, or this write may have
//! read its rows: it conflicts.

use std::collections::BTreeSet;

use super::conflicts::ConflictCheck;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_table::timeline::{Action, Instant};

impl ConflictCheck<'_> {
    /// Makes sure that no write has vanished. `completed` are the requested times of those that were completed since
    /// this write began.
    pub(super) fn check_gone(&self, completed: &BTreeSet<RequestedTime>) -> Result<()> {
        // What this write has read is not in the table any more.
        if let Some(lost) = self.before.completed_writes().find(|write| !self.now.is_completed(&write.requested_time)) {
            return Err(self.gone(lost, "was completed when this write began, and has been rolled back since"));
        }
        let is_gone = |write: &&Instant| {
            let time = &write.requested_time;
            time != self.instant && self.now.writes_at(time).next().is_none() && !completed.contains(time)
        };
        let mut gone = self.before.pending_writes().filter(is_gone).peekable();
        if gone.peek().is_none() {
            return Ok(());
        }
        let rolled_back = self.rolled_back_since()?;
        match gone.find(|write| !rolled_back.contains(write.requested_time.as_str())) {
            None => Ok(()),
            Some(lost) => Err(self.gone(
                lost,
                "was pending when this write began, and is neither on the timeline nor in the archive now: what it wrote is not \
                 known",
            )),
        }
    }

    fn gone(&self, other: &Instant, what: &str) -> Error {
        let message = format!("{other} of another writer {what}; nothing was committed, write again");
        Error::new(ErrorKind::WriteConflict, message).at_instant(self.instant)
    }

    /// The requested times that rollbacks name which were not completed when this write began.
    fn rolled_back_since(&self) -> Result<BTreeSet<String>> {
        let was_completed = |rollback: &Instant| {
            self.before
                .instants_at(&rollback.requested_time)
                .iter()
                .any(|one| one.is_same(rollback) && one.is_completed())
        };
        let mut targets = BTreeSet::new();
        for rollback in self.now.instants().iter().filter(|instant| instant.action == Action::Rollback) {
            if !was_completed(rollback) {
                targets.extend(self.writer.rollback_targets(rollback)?);
            }
        }
        Ok(targets)
    }
}
