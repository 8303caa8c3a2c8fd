//! Rollbacks: undo an instant and take it off the timeline (`BaseRollbackActionExecutor`).
//!
//! The plan is on the timeline before anything is undone, and the instant leaves the timeline last: a rollback that was stopped is
//! continued by the next writer, also if another one began it.

use std::sync::Arc;
use std::time::Instant as Started;

use bytes::Bytes;

use super::data_paths::{DataPath, plan_path};
use super::listings::Listings;
use super::rollback_plan::{Undo, instant_info};
use super::undo_files::UndoFiles;
use crate::commit::{Clock, OpenMark, RolledBackFiles, RolledBackPartition, TimelineWriter, delete_heartbeat};
use crate::config::TableConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::metadata_upkeep::MetadataUpkeep;
use crate::names::RequestedTime;
use crate::storage::{FileStore, PutOutcome, Storage};
use crate::timeline::metadata::{
    HoodieRollbackMetadata, HoodieRollbackPartitionMetadata, HoodieRollbackPlan, OrderedMap, TimelineMetadata,
};
use crate::timeline::{Action, Instant, MetadataPart, Timeline};
use crate::write::Markers;

/// Attempts to find a requested time that no other writer has.
const ATTEMPTS: usize = 10;

/// The metadata table's part of a rollback.
pub trait MetadataRollback {
    /// Makes sure that the instant can be undone in the metadata table, before anything is.
    ///
    /// # Errors
    /// `Unsupported` if it cannot.
    fn check(&self, failed: &RequestedTime) -> Result<()>;

    /// Undoes in the metadata table what the failed instant wrote there. It may be repeated.
    ///
    /// # Errors
    /// Those of the storage.
    fn roll_back(&self, failed: &RequestedTime, rollback: &RequestedTime, touched: &RolledBackFiles) -> Result<()>;
}

impl MetadataRollback for MetadataUpkeep {
    fn check(&self, failed: &RequestedTime) -> Result<()> {
        self.check_not_compacted(failed)
    }

    fn roll_back(&self, failed: &RequestedTime, rollback: &RequestedTime, touched: &RolledBackFiles) -> Result<()> {
        Self::roll_back(self, failed, rollback, touched)
    }
}

/// Rolls back instants of a table.
pub struct Rollbacks<'a> {
    /// The table's root.
    pub store: &'a Arc<dyn FileStore>,
    /// The table.
    pub config: &'a TableConfig,
    /// Generates the times of rollbacks.
    pub clock: &'a Clock,
    /// The metadata table; none if the table has none.
    pub metadata: Option<&'a dyn MetadataRollback>,
}

/// What is left of an instant on the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remains {
    Nothing,
    /// The requested file of a table service.
    Plan,
}

/// A rollback that is on the timeline.
struct Planned {
    rollback: RequestedTime,
    target: Instant,
    undo: Undo,
}

impl Rollbacks<'_> {
    /// Reads the timeline as it is now.
    ///
    /// # Errors
    /// As for [`Timeline::load`].
    pub fn timeline(&self) -> Result<Timeline> {
        let place: Arc<dyn Storage> = Arc::<dyn FileStore>::clone(self.store);
        Timeline::load(&place, self.config)
    }

    /// Rolls an instant back, pending or completed, and goes on with a rollback of it that was begun. Returns the rollback's requested
    /// time; none if the instant is not on the timeline (any more).
    ///
    /// The caller holds the table's lock, if it has one, and has made sure that nobody is writing the instant, and of a completed one
    /// that it is the latest.
    ///
    /// # Errors
    /// `InvalidTable` if a plan or a marker names files that are not the instant's, and as for [`MetadataRollback::check`]: nothing is
    /// undone then; those of the storage, after which the rollback can be repeated.
    pub fn roll_back(&self, target: &RequestedTime) -> Result<Option<RequestedTime>> {
        self.undo(target, Remains::Nothing)
    }

    /// The same for the execution of a plan, which was stopped: its files are deleted, and the plan is left on the timeline.
    ///
    /// # Errors
    /// As for [`Self::roll_back`].
    pub fn roll_back_execution(&self, service: &RequestedTime) -> Result<Option<RequestedTime>> {
        self.undo(service, Remains::Plan)
    }

    fn undo(&self, target: &RequestedTime, remains: Remains) -> Result<Option<RequestedTime>> {
        let started = Started::now();
        let timeline = self.timeline()?;
        let Some(target) = timeline.writes_at(target).next().cloned() else { return Ok(None) };
        if let Some(metadata) = self.metadata {
            metadata.check(&target.requested_time)?;
        }
        // Before the markers are listed: attempts of tasks that run on add no files any more.
        OpenMark::new(Arc::clone(self.store), &target.requested_time).close()?;
        let planned = match self.pending(&timeline, &target)? {
            Some(planned) => planned,
            None => self.plan(timeline, target)?,
        };
        let Planned { rollback, target, undo } = &planned;
        let files = self.timeline_writer();
        put_once(files.start(rollback, Action::Rollback, &Bytes::new()))?;
        files.revert_to_inflight(&target.requested_time, target.action)?;
        let undo_files = UndoFiles { store: self.store, instant: &target.requested_time, rollback };
        let done = undo_files.run(undo)?;
        if let Some(metadata) = self.metadata {
            metadata.roll_back(&target.requested_time, rollback, &done)?;
        }
        let millis = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let result = self.result(&planned, &done, millis).to_avro()?;
        let completion = self.clock.completion_time(rollback, &[&self.timeline()?])?;
        files.complete_or_fail(rollback, Action::Rollback, &completion, &Bytes::from(result))?;
        match remains {
            Remains::Nothing => files.delete_instant(&target.requested_time, target.action)?,
            Remains::Plan => files.revert_to_requested(&target.requested_time, target.action)?,
        }
        let markers = Markers::new(Arc::clone(self.store), &target.requested_time);
        markers.remove()?;
        delete_heartbeat(&**self.store, &target.requested_time)?;
        Ok(Some(planned.rollback))
    }

    fn timeline_writer(&self) -> TimelineWriter {
        TimelineWriter::new(Arc::clone(self.store), self.config)
    }

    /// A rollback of the instant that was begun, by this or another writer.
    fn pending(&self, timeline: &Timeline, target: &Instant) -> Result<Option<Planned>> {
        for rollback in timeline.pending(Action::Rollback) {
            let time = &rollback.requested_time;
            let Some(bytes) = self.timeline_writer().read_requested(time, Action::Rollback)? else { continue };
            let plan = HoodieRollbackPlan::from_bytes(&bytes).map_err(|error| error.at_instant(time))?;
            let Some(plan) = plan else { continue };
            let is_target = |info: &crate::timeline::metadata::HoodieInstantInfo| {
                target.requested_time == info.commit_time.as_str()
            };
            if plan.instant_to_rollback.as_ref().is_some_and(is_target) {
                let undo = Undo::from_plan(self.config, &target.requested_time, &plan)?;
                return Ok(Some(Planned { rollback: time.clone(), target: target.clone(), undo }));
            }
        }
        Ok(None)
    }

    /// Plans a rollback and puts it on the timeline.
    fn plan(&self, mut timeline: Timeline, target: Instant) -> Result<Planned> {
        let (time, mut listings) = (&target.requested_time, Listings::new(self.store));
        let undo = if target.is_completed() {
            let commit = timeline.commit_metadata(&target, MetadataPart::All)?.unwrap_or_default();
            Undo::from_commit(self.config, time, &commit, &mut listings)?
        } else {
            let markers = Markers::new(Arc::clone(self.store), time).list()?;
            Undo::from_markers(self.config, time, &markers, &mut listings)?
        };
        let plan = Bytes::from(undo.to_plan(&**self.store, &target).to_avro()?);
        for _ in 0..ATTEMPTS {
            let rollback = self.clock.requested_time(&[&timeline])?;
            match self.timeline_writer().request(&rollback, Action::Rollback, &plan)? {
                PutOutcome::Written(_) => return Ok(Planned { rollback, target, undo }),
                PutOutcome::Refused => timeline = self.timeline()?,
            }
        }
        let message =
            "other writers keep creating instants at the same times: the table has several writers without a lock";
        Err(Error::new(ErrorKind::AlreadyExists, message).at_instant(&target.requested_time))
    }

    fn result(&self, planned: &Planned, done: &RolledBackFiles, millis: i64) -> HoodieRollbackMetadata {
        let partitions = done.partitions.iter().map(|(partition, files)| (partition, self.partition(partition, files)));
        let deleted: usize = done.partitions.values().map(|files| files.deleted.len()).sum();
        HoodieRollbackMetadata {
            start_rollback_time: planned.rollback.as_str().to_owned(),
            time_taken_in_millis: millis,
            total_files_deleted: i32::try_from(deleted).unwrap_or(i32::MAX),
            commits_rollback: vec![planned.target.requested_time.as_str().to_owned()],
            partition_metadata: partitions.map(|(partition, files)| (partition.clone(), files)).collect(),
            version: Some(1),
            instants_rollback: vec![instant_info(&planned.target)],
            ..HoodieRollbackMetadata::default()
        }
    }

    fn partition(&self, partition: &str, files: &RolledBackPartition) -> HoodieRollbackPartitionMetadata {
        let full = |name: &String| {
            let path = DataPath { partition: partition.to_owned(), name: name.clone() };
            plan_path(&**self.store, &path.path())
        };
        let lengths = |logs: &std::collections::BTreeMap<String, u64>| {
            let lengths = logs.iter().map(|(name, len)| (full(name), i64::try_from(*len).unwrap_or(i64::MAX)));
            Some(lengths.collect::<OrderedMap<i64>>())
        };
        HoodieRollbackPartitionMetadata {
            partition_path: partition.to_owned(),
            success_delete_files: files.deleted.iter().map(full).collect(),
            failed_delete_files: Vec::new(),
            rollback_log_files: lengths(&files.rollback_logs),
            log_files_from_failed_commit: lengths(&files.failed_logs),
            ..HoodieRollbackPartitionMetadata::default()
        }
    }
}

/// A file that is there already is as good as one that was created.
fn put_once(put: Result<PutOutcome>) -> Result<()> {
    put.map(|_| ())
}
