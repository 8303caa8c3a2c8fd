//! The end of a write that fails.

use super::Transaction;
use super::place::ARCHIVED_ROLLBACK;
use crate::recovery::{Rollbacks, remove_files_of_attempt};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_commit::commit::{HeldLock, WrittenGroups};
use mortice_commit::writable_table::TableState;
use mortice_table::plan::OpenTable;

impl Transaction {
    /// Gives the write up: deletes its files and takes its instant off the timeline. If another writer has rolled it
    /// back already, or executes its plan, only the files of this attempt are deleted.
    ///
    /// # Errors
    /// `reason` if the storage failed as well, with a note of that. The write is pending then, and the next write rolls
    /// it back. `WriteConflict`, with `reason` in its message, if the instant was not this writer's any more: the
    /// failure may be the other writer's doing, and the write can be repeated.
    pub fn abort(self, reason: &Error) -> Result<()> {
        match self.undo(None) {
            Ok(InstantOwnership::Kept) => Ok(()),
            Ok(InstantOwnership::Lost(_)) if reason.kind() == ErrorKind::WriteConflict => Ok(()),
            Ok(InstantOwnership::Lost(conflict)) => Err(with_reason(&conflict, reason)),
            Err(failed) => Err(with_note(reason, &failed)),
        }
    }

    /// Goes on with the write and what was done for it, or gives the write up.
    ///
    /// # Errors
    /// That of `done`; `WriteConflict` if an instant has left the timeline since the write began; as for
    /// [`Self::abort`].
    pub fn or_abort<T>(self, done: Result<T>) -> Result<(Self, T)> {
        match done {
            Ok(done) => Ok((self, done)),
            Err(error) => {
                let error = self.or_conflict(error);
                self.abort(&error)?;
                Err(error)
            }
        }
    }

    /// A completed instant that is gone was another writer's, which had been taken for dead and found that out: the
    /// write can be repeated.
    fn or_conflict(&self, error: Error) -> Error {
        let folder = format!("{}/", self.table.config.timeline_folder);
        let is_of_timeline = || error.location().path.as_deref().is_some_and(|path| path.contains(&folder));
        if error.kind() != ErrorKind::FileCleaned
            || !self.target.concurrency().has_several_writers()
            || !is_of_timeline()
        {
            return error;
        }
        let message = "an instant of another writer has left the timeline since this write began; nothing was committed, write again";
        Error::new(ErrorKind::WriteConflict, message).at_instant(&self.instant).caused_by(error)
    }

    /// Rolls the write back under the lock, which may be held already, and returns the error that ended the write.
    pub(super) fn roll_back_after(self, error: Error, lock: Option<Box<dyn HeldLock>>) -> Error {
        let error = self.or_conflict(error);
        match self.undo(lock) {
            Ok(InstantOwnership::Lost(conflict)) if error.kind() != ErrorKind::WriteConflict => {
                with_reason(&conflict, &error).caused_by(error)
            }
            Ok(_) => error,
            Err(failed) => with_note(&error, &failed),
        }
    }

    fn undo(mut self, lock: Option<Box<dyn HeldLock>>) -> Result<InstantOwnership> {
        let still_held = lock.and_then(|mut lock| lock.check().is_ok().then_some(lock));
        let lock = match still_held {
            Some(lock) => lock,
            None => self.target.concurrency().lock()?,
        };
        let undone = self.roll_back();
        let released = self.target.concurrency().release(Some(lock));
        let ownership = undone?;
        released.map(|()| ownership)
    }

    fn roll_back(&mut self) -> Result<InstantOwnership> {
        // The rollback deletes the heartbeat's file.
        if let Some(heartbeat) = self.heartbeat.take() {
            heartbeat.stop()?;
        }
        let now = self.target.state()?;
        let rollbacks = Rollbacks::new(&now);
        let ownership = self.ownership(&now.table)?;
        let is_kept = matches!(ownership, InstantOwnership::Kept);
        let is_pending = || now.table.timeline.writes_at(&self.instant).any(|instant| !instant.is_completed());
        match self.is_service() {
            true if is_kept => rollbacks.roll_back_execution(&self.instant).map(drop)?,
            false if is_kept => rollbacks.roll_back(&self.instant).map(drop)?,
            _ => {
                // A pending instant is of this write: others do not begin one at its time.
                if !self.is_service() && is_pending() {
                    rollbacks.roll_back(&self.instant)?;
                }
                // The other writer may have deleted the marker of a file before there was the file.
                remove_files_of_attempt(&rollbacks, &self.instant, &self.data.begun())?;
                self.undo_metadata(&now)?;
            }
        }
        Ok(ownership)
    }

    /// Undoes what this write has in the metadata table. The other writer's rollback came before it, and the instant is
    /// off the timeline, so that no later rollback finds it. Nothing is done if it is on the timeline: the plan is
    /// executed by others.
    pub(super) fn undo_metadata(&self, now: &TableState) -> Result<()> {
        let Some(upkeep) = now.metadata.as_ref().filter(|_| self.is_in_metadata) else { return Ok(()) };
        let timeline = &now.table.timeline;
        let may_be_archived = self.is_service() && timeline.is_before_start(&self.instant);
        if may_be_archived || timeline.writes_at(&self.instant).next().is_some() {
            return Ok(());
        }
        let rollback = self.clock.requested_time(&[timeline, upkeep.timeline()])?;
        upkeep.undo_late(&self.instant, &rollback)
    }

    /// Whether what is on the timeline of the instant is of this write. A plan whose execution another process took for
    /// dead is executed by others, and may be completed; Hudi takes up a compaction without a look at heartbeats.
    fn ownership(&self, now: &OpenTable) -> Result<InstantOwnership> {
        let groups = WrittenGroups::default();
        let check = self.conflict_check(now, &groups);
        match check.check_own_instant() {
            // The inflight file was created after a rollback that is archived since.
            Ok(()) if !self.is_requested(&self.files.files()?) => {
                Ok(InstantOwnership::Lost(check.rolled_back(ARCHIVED_ROLLBACK)))
            }
            Ok(()) => Ok(InstantOwnership::Kept),
            Err(error) if error.kind() == ErrorKind::WriteConflict => Ok(InstantOwnership::Lost(error)),
            Err(error) => Err(error),
        }
    }
}

/// Whether the instant was still this writer's when it was given up.
pub(super) enum InstantOwnership {
    Kept,
    /// It was not, as the error says.
    Lost(Error),
}

/// The error of a write that lost its instant, which failed for another reason before it found that out.
fn with_reason(conflict: &Error, reason: &Error) -> Error {
    let mut error =
        Error::new(ErrorKind::WriteConflict, format!("{}; it failed with: {}", conflict.text(), reason.text()));
    if let Some(path) = &reason.location().path {
        error = error.in_file(path);
    }
    match &conflict.location().instant {
        Some(instant) => error.at_instant(instant),
        None => error,
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
