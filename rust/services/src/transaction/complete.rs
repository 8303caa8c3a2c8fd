//! The end of a write that succeeds.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::column_ids::{ColumnIds, with_stored_schema};
use super::commit_metadata::{commit_metadata, completed_content};
use super::place::{ARCHIVED_ROLLBACK, Compared};
use super::{CommitExtra, Committed, Transaction};
use crate::reports::report_commit;
use mortice_avro::Schema;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::CompletionTime;
use mortice_commit::commit::{CompletionOutcome, Content, HeldLock, WrittenGroups, delete_heartbeat};
use mortice_commit::metadata_upkeep::{CommitUpdate, MetadataUpkeep};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::metadata::HoodieCommitMetadata;
use mortice_table::timeline::{Action, Instant, WriteOperation};
use mortice_write::write::{Marker, Markers, WriteStatus};

/// Why a write is not known to be part of the table.
enum Failure {
    /// It is not, and is rolled back.
    NotCommitted(Error),
    /// It may be, or its instant is another writer's: nothing is rolled back.
    Open(Error),
}

impl Failure {
    /// Of [`Transaction::confirm`]: without an answer of the storage it is not known whether the write is part of the
    /// table.
    fn of_confirmation(error: Error) -> Self {
        match error.kind() {
            ErrorKind::WriteConflict => Self::NotCommitted(error),
            _ => Self::Open(error),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::NotCommitted(error)
    }
}

/// What is left to be released and removed once a write is part of the table.
struct Done {
    instant: Instant,
    metadata: HoodieCommitMetadata,
    upkeep: Option<MetadataUpkeep>,
}

impl Transaction {
    /// Makes the write part of the table: deletes files of attempts that failed, checks conflicts, writes the metadata
    /// table, and completes the instant.
    ///
    /// # Errors
    /// `WriteConflict` if another writer wrote to the same file groups; those of the storage. The write is rolled back
    /// then, unless it is not known whether the instant was completed, which the message says.
    pub fn commit(mut self, statuses: Vec<WriteStatus>, extra: &CommitExtra) -> Result<Committed> {
        let mut lock = None;
        match self.try_commit(&mut lock, &statuses, extra) {
            Ok(done) => {
                // The write is part of the table: a lock that cannot be released stays until it expires or is removed.
                let _ = self.target.concurrency().release(lock);
                self.clean_up(done.upkeep.as_ref());
                let (instant, completion_time) = (done.instant.requested_time, done.instant.completion_time);
                let (operation, metadata) = (self.operation, done.metadata);
                report_commit(&self.target, operation, self.action, &instant, &metadata);
                Ok(Committed { instant, completion_time, operation, metadata, statuses })
            }
            Err(Failure::NotCommitted(error)) => Err(self.roll_back_after(error, lock)),
            Err(Failure::Open(error)) => {
                let _ = self.target.concurrency().release(lock);
                Err(error)
            }
        }
    }

    fn try_commit(
        &mut self,
        lock: &mut Option<Box<dyn HeldLock>>,
        statuses: &[WriteStatus],
        extra: &CommitExtra,
    ) -> Result<Done, Failure> {
        self.check_alive()?;
        let markers = self.markers().list()?;
        let abandoned = self.abandoned_files(&markers, statuses)?;
        let mut claims = self.claims(statuses, extra)?;
        claims.check_early(self)?;
        *lock = Some(self.target.concurrency().lock()?);
        self.drop_staged_by_others()?;
        let now = self.target.reopen()?;
        claims.check(self, &now)?;
        // Not before: they may be those of another process, which executes the plan since.
        self.markers().delete_data_files(&abandoned)?;
        let ids = self.column_ids(&now, extra)?;
        let extra = &self.described(&now, extra)?;
        let metadata = commit_metadata(self.operation, statuses, extra, ids.as_ref())?;
        let content = completed_content(&self.files, self.action, &metadata, extra)?;
        self.validate(&now, &content)?;
        let upkeep = self.write_metadata(&now, statuses, extra)?;
        let completion = self.clock.completion_time(&self.instant, &[&now.timeline])?;
        self.check_alive()?;
        let staged = self.stage(&completion, &content)?;
        // Who takes the lock over after this check deletes the file.
        let held = lock.as_mut().map_or(Ok(()), |lock| lock.check());
        let ready = held.and_then(|()| self.check_pending()).and_then(|()| match &ids {
            Some(ids) => self.write_history(ids, &completion),
            None => Ok(()),
        });
        ready.inspect_err(|_| self.drop_staged(staged.as_deref()))?;
        let content = Content { bytes: &content, staged: staged.as_deref() };
        match self.files.complete(&self.instant, self.action, &completion, content) {
            CompletionOutcome::Completed(instant) => {
                let compared = Compared { claims: &mut claims, now: &now, markers: &markers };
                self.confirm(&instant, lock, compared).map_err(Failure::of_confirmation)?;
                // A failure would say of a write that is part of the table that it is not.
                if self.target.advance(&now, instant.clone()).is_err() {
                    self.target.mark_changed();
                }
                Ok(Done { instant, metadata, upkeep })
            }
            // Its data files may be those of the other writer.
            CompletionOutcome::Failed(error) if error.kind() == ErrorKind::AlreadyExists => {
                let conflict = Error::new(ErrorKind::WriteConflict, error.text()).at_instant(&self.instant);
                Err(Failure::Open(conflict.caused_by(error)))
            }
            CompletionOutcome::Failed(error) => Err(Failure::NotCommitted(error)),
            CompletionOutcome::Unknown(error) => Err(Failure::Open(error)),
        }
    }

    /// Prepares the completed file before it is looked whether the write is still pending: who has rolled it back since
    /// has deleted the file, which cannot take its place any more.
    fn stage(&self, completion: &CompletionTime, content: &Bytes) -> Result<Option<String>> {
        self.files.stage(&self.instant, self.action, completion, content)
    }

    /// Writers that have lost the lock since they prepared their completed files cannot create them any more: either
    /// this write sees their instants completed, or they are not. Before the timeline is read by which conflicts are
    /// looked for.
    fn drop_staged_by_others(&self) -> Result<()> {
        match self.target.concurrency().has_several_writers() && self.heartbeat.is_some() {
            true => self.files.delete_staged_by_others(&self.instant),
            false => Ok(()),
        }
    }

    /// Deletes a prepared file; one that stays is no instant.
    fn drop_staged(&self, staged: Option<&str>) {
        if let Some(staged) = staged {
            let _ = self.target.store().delete(staged);
        }
    }

    /// The columns with their ids that the write stores; services store none, as in Hudi.
    fn column_ids(&self, now: &OpenTable, extra: &CommitExtra) -> Result<Option<ColumnIds>> {
        match &extra.column_ids {
            Some(ids) => Ok(Some(ids.clone())),
            None if self.is_service() => Ok(None),
            None => ColumnIds::of_table(now),
        }
    }

    fn described(&self, now: &OpenTable, extra: &CommitExtra) -> Result<CommitExtra> {
        match self.is_service() || self.operation == WriteOperation::AlterSchema {
            true => Ok(extra.clone()),
            false => with_stored_schema(now, extra),
        }
    }

    /// Has the table checked as the write would leave it. Services after a write are not checked.
    fn validate(&self, now: &OpenTable, content: &Bytes) -> Result<()> {
        let Some(validator) = self.target.validator().filter(|_| !self.is_service()) else { return Ok(()) };
        let completion = self.clock.completion_time(&self.instant, &[&now.timeline])?;
        validator.validate(self.preview(&completion, content)?)?;
        self.check_pending()
    }

    /// Writes the metadata table's part of the commit, if the table has one.
    fn write_metadata(
        &mut self,
        now: &Arc<OpenTable>,
        statuses: &[WriteStatus],
        extra: &CommitExtra,
    ) -> Result<Option<MetadataUpkeep>> {
        let Some(upkeep) = self.target.metadata(now)? else { return Ok(None) };
        let schema = Schema::parse(&extra.schema)?;
        self.is_in_metadata = true;
        let update = CommitUpdate { operation: self.operation, statuses, replaced: &extra.replaced, schema: &schema };
        upkeep.write_commit(&self.instant, &update, &|| self.check_place())?;
        Ok(Some(upkeep))
    }

    /// Makes sure, by the timeline as it is now, that no other writer has rolled the write back since its conflicts
    /// were checked: a validator may take long, and so may the metadata table
    /// (`ActiveTimelineV2.transitionStateToComplete`). Usually this is one listing.
    pub(super) fn check_pending(&self) -> Result<()> {
        let files = self.files.files()?;
        let is_rollback = |file: &Instant| file.action == Action::Rollback && file.requested_time > self.instant;
        let is_requested = self.is_requested(&files);
        let is_completed = self.own_files(&files).any(Instant::is_completed);
        if is_requested && !is_completed && !files.iter().any(is_rollback) {
            return Ok(());
        }
        let (now, groups) = (self.target.reopen()?, WrittenGroups::default());
        let check = self.conflict_check(&now, &groups);
        check.check_own_instant()?;
        if is_requested { Ok(()) } else { Err(check.rolled_back(ARCHIVED_ROLLBACK)) }
    }

    pub(super) fn check_alive(&self) -> Result<()> {
        self.heartbeat.as_ref().map_or(Ok(()), |heartbeat| heartbeat.check())
    }

    pub(super) fn markers(&self) -> Markers {
        Markers::new(Arc::clone(self.target.store()), &self.instant)
    }

    /// The files of task attempts whose results are not those of the commit: markers name them, and no status does. As
    /// long as the instant is this write's, all files that its markers name are its own, as it appends to no file.
    fn abandoned_files(&self, markers: &BTreeSet<Marker>, statuses: &[WriteStatus]) -> Result<BTreeSet<String>> {
        let begun: BTreeSet<String> = markers.iter().map(|marker| marker.data_path.clone()).collect();
        let mut committed = BTreeSet::new();
        let files = statuses.iter().filter_map(|status| status.file.as_ref());
        let paths = files.flat_map(|file| [Some(&file.path), file.changes.as_ref().map(|log| &log.path)]);
        for path in paths.flatten() {
            if !begun.contains(path) {
                // A rollback of the write deletes the markers.
                self.check_pending()?;
                return Err(Error::internal("a file that is committed has no marker").in_file(path));
            }
            if !committed.insert(path.as_str()) {
                return Err(Error::internal("a file is committed twice").in_file(path));
            }
        }
        Ok(begun.into_iter().filter(|path| !committed.contains(path.as_str())).collect())
    }

    /// Removes what the write does not need any more. Errors are ignored, as the write is part of the table: the next
    /// one removes what is left.
    fn clean_up(&mut self, upkeep: Option<&MetadataUpkeep>) {
        if let Some(upkeep) = upkeep {
            let _ = upkeep.clean_up(&self.instant);
        }
        let _ = self.markers().remove();
        if let Some(heartbeat) = self.heartbeat.take() {
            let _ = heartbeat.stop();
            let _ = delete_heartbeat(&**self.target.store(), &self.instant);
        }
    }
}
