//! The end of a write that fails.

use super::Transaction;
use crate::commit::{HeldLock, WrittenGroups};
use crate::services::remove_files_of_attempt;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_table::plan::OpenTable;

impl Transaction {
    /// Gives the write up: deletes its files and takes its instant off the timeline. If another writer has rolled it back already, or
    /// executes its plan, only the files of this attempt are deleted.
    ///
    /// # Errors
    /// `reason` if the storage failed as well, with a note of that. The write is pending then, and the next write rolls it back.
    pub fn abort(self, reason: &Error) -> Result<()> {
        self.undo(None).map_err(|failed| with_note(reason, &failed))
    }

    /// Rolls the write back under the lock, which may be held already, and returns the error that ended the write.
    pub(super) fn roll_back_after(self, error: Error, lock: Option<Box<dyn HeldLock>>) -> Error {
        match self.undo(lock) {
            Ok(()) => error,
            Err(failed) => with_note(&error, &failed),
        }
    }

    fn undo(mut self, lock: Option<Box<dyn HeldLock>>) -> Result<()> {
        let still_held = lock.and_then(|mut lock| lock.check().is_ok().then_some(lock));
        let lock = match still_held {
            Some(lock) => Some(lock),
            None => self.target.concurrency().lock()?,
        };
        let undone = self.roll_back();
        let released = self.target.concurrency().release(lock);
        undone.and(released)
    }

    fn roll_back(&mut self) -> Result<()> {
        // The rollback deletes the heartbeat's file.
        if let Some(heartbeat) = self.heartbeat.take() {
            heartbeat.stop()?;
        }
        let now = self.target.state()?;
        let rollbacks = now.rollbacks();
        if !self.owns_instant(&now.table)? {
            return remove_files_of_attempt(&rollbacks, &self.instant, &self.data.begun());
        }
        match self.is_service() {
            true => rollbacks.roll_back_execution(&self.instant).map(|_| ()),
            false => rollbacks.roll_back(&self.instant).map(|_| ()),
        }
    }

    /// Whether what is on the timeline of the instant is of this write. A plan whose execution another process took for dead is executed
    /// by others, and may be completed; Hudi takes up a compaction without a look at heartbeats.
    fn owns_instant(&self, now: &OpenTable) -> Result<bool> {
        if !self.is_service() {
            return Ok(now.timeline.writes_at(&self.instant).any(|instant| !instant.is_completed()));
        }
        match self.conflict_check(now, &WrittenGroups::default()).check_own_instant() {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WriteConflict => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// An error that ended a write, with the one that ended its rollback.
fn with_note(error: &Error, failed: &Error) -> Error {
    let note = format!("the write could not be rolled back either, which the next write does: {}", failed.text());
    let location = error.location();
    let mut noted = Error::new(error.kind(), format!("{}; {note}", error.text()));
    if let Some(path) = &location.path {
        noted = noted.in_file(path);
    }
    if let Some(offset) = location.offset {
        noted = noted.at_offset(offset);
    }
    if let Some(instant) = &location.instant {
        noted = noted.at_instant(instant);
    }
    noted
}
