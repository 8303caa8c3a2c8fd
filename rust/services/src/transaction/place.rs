//! Whether the instant of a write is still its own, just before and just after it is completed.
//!
//! A writer that stalls for longer than its heartbeat and its lock are valid is taken for dead: another one takes the
//! lock over and rolls the instant back. Object stores do not make the creation of a file depend on another one, so
//! that the stalled writer may complete its instant after that; on local disks
//! [`TimelineWriter::stage`](mortice_commit::commit::TimelineWriter::stage) prevents it. Who rolls back publishes the
//! plan first and then looks at the instant; who completes creates the file first and then looks for a plan: at least
//! one of the two sees the other.

use std::collections::BTreeSet;

use super::Transaction;
use super::claims::Claims;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{ConflictCheck, HeldLock, WrittenGroups};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{Action, Instant, InstantState};
use mortice_write::write::Marker;

/// What was compared with other writes before an instant was completed.
pub(super) struct Compared<'a> {
    pub(super) claims: &'a mut Claims,
    /// The table as it was then.
    pub(super) now: &'a OpenTable,
    /// The markers of the write's files.
    pub(super) markers: &'a BTreeSet<Marker>,
}

/// What has rolled a write back whose requested file is gone, if no rollback on the timeline says so.
pub(super) const ARCHIVED_ROLLBACK: &str = "a rollback that is archived";

impl Transaction {
    /// The files of the write's instant among those of the timeline.
    pub(super) fn own_files<'a>(&self, files: &'a [Instant]) -> impl Iterator<Item = &'a Instant> {
        files.iter().filter(|file| file.requested_time == self.instant && file.action.is_write())
    }

    /// Whether the write's requested file is among those of the timeline. Rollbacks delete it last: without it an
    /// inflight file was created after a rollback, which may be archived since.
    pub(super) fn is_requested(&self, files: &[Instant]) -> bool {
        self.own_files(files).any(|file| file.state == InstantState::Requested)
    }

    /// Makes sure, after the inflight file was created, that nobody had rolled the write back before. The timeline
    /// would begin with it if later instants were archived since, and readers would take these for not completed. It is
    /// deleted then.
    pub(super) fn confirm_inflight(&self) -> Result<()> {
        if self.heartbeat.is_none() {
            return Ok(());
        }
        let files = self.files.files()?;
        if self.is_requested(&files) {
            return Ok(());
        }
        for file in self.own_files(&files).filter(|file| file.state == InstantState::Inflight) {
            self.target.store().delete(&self.files.path(&file.file_name))?;
        }
        let (now, groups) = (self.target.reopen()?, WrittenGroups::default());
        Err(self.conflict_check(&now, &groups).rolled_back("before it was inflight"))
    }

    /// Makes sure, where there may be other writers, that none takes this one for dead and none has rolled the instant
    /// back.
    pub(super) fn check_place(&self) -> Result<()> {
        self.check_alive()?;
        if self.heartbeat.is_some() { self.check_pending() } else { Ok(()) }
    }

    /// Makes sure, after the completed instant was created, that no other writer had rolled the write back before, and
    /// that none has committed the same file groups or keys since they were compared, if the lock was lost then. If one
    /// had, the completed file is deleted again, under the lock.
    ///
    /// Args:
    ///     completed: The completed instant, which this write created.
    ///     lock: The lock, which another writer may have taken over: it is taken again then.
    ///     compared: What was compared.
    pub(super) fn confirm(
        &self,
        completed: &Instant,
        lock: &mut Option<Box<dyn HeldLock>>,
        compared: Compared<'_>,
    ) -> Result<()> {
        let confirmed = self.is_undisputed(completed, lock).and_then(|is_undisputed| match is_undisputed {
            true => Ok(()),
            false => self.confirm_locked(completed, lock, compared),
        });
        confirmed.map_err(|error| unconfirmed(error, completed))
    }

    /// Whether the lock was kept, and nobody has rolled the write back.
    fn is_undisputed(&self, completed: &Instant, lock: &mut Option<Box<dyn HeldLock>>) -> Result<bool> {
        Ok(!is_lost(lock)? && matches!(self.check_completed(completed)?, Seen::Committed))
    }

    /// The other writer rolls back and commits under the lock: it is done when this one has the lock again, or has
    /// found the instant completed and has given its rollback, or its commit, up.
    fn confirm_locked(
        &self,
        completed: &Instant,
        lock: &mut Option<Box<dyn HeldLock>>,
        Compared { claims, now, markers }: Compared<'_>,
    ) -> Result<()> {
        // Who requests an instant after this listing sees the completed one.
        let files = self.files.files()?;
        let others = files.into_iter().map(|file| file.requested_time).filter(|time| !now.timeline.is_completed(time));
        let others: BTreeSet<RequestedTime> = others.collect();
        if is_lost(lock)? {
            drop(lock.take());
            *lock = Some(self.target.concurrency().lock()?);
        }
        let conflict = match self.check_completed(completed)? {
            Seen::RolledBack(conflict) => conflict,
            Seen::Committed => match claims.check_completed(self, &*self.target.reopen()?, &others) {
                Err(error) if error.kind() == ErrorKind::WriteConflict => error,
                compared => return compared,
            },
        };
        // Another writer may have removed them, as those of a completed write: a rollback goes by them.
        markers.iter().try_for_each(|marker| self.markers().create(&marker.data_path, marker.kind))?;
        self.target.store().delete(&self.files.path(&completed.file_name))?;
        Err(conflict)
    }

    /// What the timeline says of the instant that this write has completed. Usually this is one listing.
    fn check_completed(&self, completed: &Instant) -> Result<Seen> {
        let files = self.files.files()?;
        let own = || self.own_files(&files);
        if own().any(|file| file.is_completed() && file.file_name != completed.file_name) {
            let message =
                "another writer took this execution of a plan for dead, rolled it back, and completed the plan";
            let conflict = Error::new(ErrorKind::WriteConflict, message).at_instant(&self.instant);
            return Ok(Seen::RolledBack(conflict));
        }
        let is_rollback = |file: &Instant| file.action == Action::Rollback && file.requested_time > self.instant;
        let is_kept = own().any(|file| file.file_name == completed.file_name);
        let is_requested = self.is_requested(&files);
        if is_kept && is_requested && !files.iter().any(is_rollback) {
            return Ok(Seen::Committed);
        }
        let (now, groups) = (self.target.reopen()?, WrittenGroups::default());
        let check: ConflictCheck<'_> = self.conflict_check(&now, &groups);
        match check.check_not_rolled_back() {
            // Without its requested file it was rolled back, and the rollback is archived since; an instant of which
            // nothing is left was archived itself.
            Ok(()) if is_kept && !is_requested => Ok(Seen::RolledBack(check.rolled_back(ARCHIVED_ROLLBACK))),
            Ok(()) => Ok(Seen::Committed),
            Err(error) if error.kind() == ErrorKind::WriteConflict => Ok(Seen::RolledBack(error)),
            Err(error) => Err(error),
        }
    }
}

/// Whether another writer may have taken the lock over.
fn is_lost(lock: &mut Option<Box<dyn HeldLock>>) -> Result<bool> {
    match lock.as_mut().map_or(Ok(()), |lock| lock.check()) {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == ErrorKind::WriteConflict => Ok(true),
        Err(error) => Err(error),
    }
}

/// What the timeline says of an instant that was completed.
enum Seen {
    Committed,
    RolledBack(Error),
}

/// The error of a write that created its completed file and does not know whether it was rolled back before.
fn unconfirmed(error: Error, completed: &Instant) -> Error {
    if error.kind() == ErrorKind::WriteConflict {
        return error;
    }
    let message = format!(
        "{completed} was completed, and it is not known whether another writer had rolled it back before: before the write is repeated, \
         check whether the instant is on the timeline"
    );
    Error::new(error.kind(), message).at_instant(&completed.requested_time).caused_by(error)
}
