//! Rollbacks: undo an instant and take it off the timeline (`BaseRollbackActionExecutor`).
//!
//! The plan is on the timeline before anything is undone, and the instant leaves the timeline last: a rollback that was
//! stopped is continued by the next writer, also if another one began it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::late_logs::LateLogs;
use super::rollback_plan::{LogRollback, Undo, instant_info, is_log_of_slice};
use super::undo_files::UndoFiles;
use crate::data_paths::{DataPath, plan_path};
use crate::listings::Listings;
use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_commit::commit::{
    Clock, HeartbeatOptions, OpenMark, RolledBackFiles, RolledBackPartition, TimelineWriter, Timelines,
    delete_heartbeat, request_instant,
};
use mortice_commit::metadata_upkeep::{MetadataLeftovers, MetadataUpkeep};
use mortice_commit::writable_table::TableState;
use mortice_merge::config::TableConfig;
use mortice_storage::{FileStore, PutOutcome, Storage};
use mortice_table::timeline::metadata::{
    HoodieInstantInfo, HoodieRollbackMetadata, HoodieRollbackPartitionMetadata, HoodieRollbackPlan, OrderedMap,
    TimelineMetadata,
};
use mortice_table::timeline::{Action, Instant, InstantState, MetadataPart, Timeline};
use mortice_write::index::delete_hashing_files;
use mortice_write::write::Markers;

/// The metadata table's part of a rollback.
pub(crate) trait MetadataRollback {
    /// Makes sure that the instant can be undone in the metadata table, before anything is.
    fn check(&self, failed: &RequestedTime) -> Result<()>;

    /// Undoes in the metadata table what the failed instant wrote there. It may be repeated.
    fn roll_back(&self, failed: &RequestedTime, rollback: &RequestedTime, touched: &RolledBackFiles) -> Result<()>;

    /// The timeline of the metadata table, which a new rollback must be later than.
    fn timeline(&self) -> Option<&Timeline> {
        None
    }

    /// What stopped writers left in the metadata table.
    fn leftovers(&self) -> Result<Option<MetadataLeftovers>> {
        Ok(None)
    }

    /// Removes it, given the table's timeline, which was read after it was listed.
    fn remove_leftovers(&self, _: &MetadataLeftovers, _: &Timeline, _: HeartbeatOptions) -> Result<()> {
        Ok(())
    }
}

impl MetadataRollback for MetadataUpkeep {
    fn check(&self, failed: &RequestedTime) -> Result<()> {
        self.check_not_compacted(failed)
    }

    fn roll_back(&self, failed: &RequestedTime, rollback: &RequestedTime, touched: &RolledBackFiles) -> Result<()> {
        Self::roll_back(self, failed, rollback, touched)
    }

    fn timeline(&self) -> Option<&Timeline> {
        Some(Self::timeline(self))
    }

    fn leftovers(&self) -> Result<Option<MetadataLeftovers>> {
        let found = Self::leftovers(self)?;
        Ok(self.may_have_left(&found).then_some(found))
    }

    fn remove_leftovers(&self, found: &MetadataLeftovers, table: &Timeline, options: HeartbeatOptions) -> Result<()> {
        Self::remove_leftovers(self, found, table, options)
    }
}

/// Rolls back instants of a table.
pub(crate) struct Rollbacks<'a> {
    /// The table's root.
    pub store: &'a Arc<dyn FileStore>,
    /// The table.
    pub config: &'a TableConfig,
    /// Generates the times of rollbacks.
    pub clock: &'a Clock,
    /// The metadata table; none if the table has none.
    pub metadata: Option<&'a dyn MetadataRollback>,
}

impl<'a> Rollbacks<'a> {
    /// Rollbacks of a table and, with it, of its metadata table.
    #[must_use]
    pub(crate) fn new(state: &'a TableState) -> Self {
        let metadata = state.metadata.as_ref().map(|metadata| metadata as &dyn MetadataRollback);
        Self { store: &state.store, config: &state.table.config, clock: &state.clock, metadata }
    }

    /// Rollbacks of a table alone.
    #[must_use]
    pub(crate) fn without_metadata(state: &'a TableState) -> Self {
        Self { metadata: None, ..Self::new(state) }
    }
}

/// The timeline of a table as a rollback has read it, and that of its metadata table.
pub(crate) struct RollbackTimelines<'a> {
    pub(crate) table: Timeline,
    pub(crate) metadata: Option<&'a Timeline>,
}

impl Timelines for RollbackTimelines<'_> {
    fn timelines(&self) -> Vec<&Timeline> {
        std::iter::once(&self.table).chain(self.metadata).collect()
    }
}

/// The files that a rollback undoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoneFiles {
    /// Those that the instant wrote, by its markers or its commit metadata.
    OfInstant,
    /// Also all others whose names have the instant, by listing the table: logs that were added to slices that it
    /// began, which a restore has undone already.
    OfInstantAndItsSlices,
}

/// What a rollback would do to data files: paths relative to the table, with bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UndonePreview {
    /// Files that would be deleted.
    pub deleted: Vec<(String, u64)>,
    /// Log files that a rollback block would be appended behind: up to table version 7.
    pub undone_logs: Vec<(String, u64)>,
}

/// A rollback that was begun and not completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BegunRollback {
    /// The rollback.
    pub rollback: RequestedTime,
    /// The instant that it undoes, which may be gone from the timeline already.
    pub target: Instant,
    /// Whether it may have undone something: it is inflight.
    pub is_started: bool,
}

/// What is left of an instant on the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remains {
    Nothing,
    /// The requested file of a table service.
    Plan,
}

impl Remains {
    /// Of a rollback that another process has begun: log files of later writes may count on the plan of a compaction.
    fn of_stopped(target: &Instant) -> Self {
        let is_planned = !target.is_completed() && !target.file_name.is_empty();
        match target.action {
            Action::Compaction | Action::LogCompaction | Action::Clustering if is_planned => Self::Plan,
            _ => Self::Nothing,
        }
    }
}

/// A rollback that is on the timeline.
struct Planned {
    rollback: RequestedTime,
    target: Instant,
    undo: Undo,
}

impl Rollbacks<'_> {
    /// Reads the timeline as it is now.
    pub(crate) fn timeline(&self) -> Result<Timeline> {
        let place: Arc<dyn Storage> = Arc::<dyn FileStore>::clone(self.store);
        Timeline::load(&place, self.config)
    }

    /// Rolls an instant back, pending or completed, and goes on with a rollback of it that was begun. Returns the
    /// rollback's requested time; none if the instant is not on the timeline (any more).
    ///
    /// The caller holds the table's lock, if it has one, and has made sure that nobody is writing the instant, and of a
    /// completed one that it may be rolled back ([`Self::check`]).
    ///
    /// # Errors
    /// `InvalidTable` if a plan or a marker names files that are not the instant's, and as for
    /// [`MetadataRollback::check`]: nothing is undone then; those of the storage, after which the rollback can be
    /// repeated.
    pub(crate) fn roll_back(&self, target: &RequestedTime) -> Result<Option<RequestedTime>> {
        let timeline = self.timeline()?;
        let target = timeline.writes_at(target).next().cloned();
        target.map_or(Ok(None), |target| self.undo_and_publish(timeline, target, Remains::Nothing))
    }

    /// The same for a write that was taken for dead. None also if it is completed: its writer has done that since, and
    /// saw no rollback.
    pub(crate) fn roll_back_failed(&self, target: &RequestedTime) -> Result<Option<RequestedTime>> {
        self.undo_pending(target, Remains::Nothing)
    }

    /// The same for the execution of a plan, which was stopped: its files are deleted, and the plan is left on the
    /// timeline. None also if the plan is completed: another process has executed it since, and its files are part of
    /// the table.
    pub(crate) fn roll_back_execution(&self, service: &RequestedTime) -> Result<Option<RequestedTime>> {
        self.undo_pending(service, Remains::Plan)
    }

    fn undo_pending(&self, target: &RequestedTime, remains: Remains) -> Result<Option<RequestedTime>> {
        let timeline = self.timeline()?;
        let target = timeline.writes_at(target).next().filter(|target| !target.is_completed()).cloned();
        target.map_or(Ok(None), |target| self.undo_and_publish(timeline, target, remains))
    }

    /// None if the instant was completed before the plan of the rollback was on the timeline: nothing is undone then.
    fn undo_and_publish(&self, timeline: Timeline, target: Instant, remains: Remains) -> Result<Option<RequestedTime>> {
        let started = self.store.time().monotonic();
        if let Some(metadata) = self.metadata {
            metadata.check(&target.requested_time)?;
        }
        let planned = self.plan_or_resume(timeline, target, UndoneFiles::OfInstant)?;
        if self.is_overtaken(&planned)? {
            self.timeline_writer().delete_instant(&planned.rollback, Action::Rollback)?;
            return Ok(None);
        }
        let done = self.undo(&planned)?;
        let Planned { rollback, target, .. } = &planned;
        if let Some(metadata) = self.metadata {
            metadata.roll_back(&target.requested_time, rollback, &done)?;
        }
        let result = self.result(&planned, &done, started).to_avro()?;
        let completion = self.clock.completion_time(rollback, &[&self.timeline()?])?;
        let files = self.timeline_writer();
        files.complete_or_fail(rollback, Action::Rollback, &completion, &Bytes::from(result))?;
        self.take_off(target, remains, &done)?;
        Ok(Some(planned.rollback))
    }

    /// Whether the writer of a pending instant, which was taken for dead, has completed it while the rollback was
    /// planned. After it has, it looks for such plans: with one of the two it is known by both whether the write is
    /// part of the table.
    fn is_overtaken(&self, planned: &Planned) -> Result<bool> {
        if planned.target.is_completed() {
            return Ok(false);
        }
        let writer = self.timeline_writer();
        writer.delete_unfinished(&planned.target.requested_time)?;
        let files = writer.files()?;
        let is_begun = |file: &Instant| {
            file.requested_time == planned.rollback
                && file.action == Action::Rollback
                && file.state == InstantState::Inflight
        };
        let is_write_of_target =
            |file: &&Instant| file.requested_time == planned.target.requested_time && file.action.is_write();
        let is_completed = files.iter().filter(is_write_of_target).any(Instant::is_completed);
        // Once it is inflight, files have been deleted.
        Ok(is_completed && !files.iter().any(is_begun))
    }

    /// Rolls an instant back in the course of a restore, which publishes the result. The rollback stays pending.
    pub(crate) fn roll_back_for_restore(&self, target: Instant) -> Result<HoodieRollbackMetadata> {
        let started = self.store.time().monotonic();
        let planned = self.plan_or_resume(self.timeline()?, target, UndoneFiles::OfInstantAndItsSlices)?;
        let done = self.undo(&planned)?;
        if let Some(metadata) = self.metadata {
            metadata.roll_back(&planned.target.requested_time, &planned.rollback, &done)?;
        }
        self.take_off(&planned.target, Remains::Nothing, &done)?;
        Ok(self.result(&planned, &done, started))
    }

    /// Gives up rollbacks of completed instants that have undone nothing. The writer of such an instant, which was
    /// taken for dead, may have completed it before the plan was there, and has reported that; nor has a rollback that
    /// a user asked for undone anything then.
    pub(crate) fn give_up_unstarted(&self) -> Result<()> {
        for begun in self.all_begun(&self.timeline()?)? {
            if begun.target.is_completed() && !begun.is_started {
                self.timeline_writer().delete_instant(&begun.rollback, Action::Rollback)?;
            }
        }
        Ok(())
    }

    /// Goes on with rollbacks that were begun, whether their instants are still on the timeline or not.
    pub(crate) fn finish_pending(&self) -> Result<Vec<RequestedTime>> {
        let timeline = self.timeline()?;
        let mut begun: Vec<BegunRollback> = self.all_begun(&timeline)?;
        begun.reverse();
        let mut done = Vec::new();
        for BegunRollback { target, .. } in begun {
            done.push(target.requested_time.clone());
            let remains = Remains::of_stopped(&target);
            self.undo_and_publish(self.timeline()?, target, remains)?;
        }
        Ok(done)
    }

    /// A rollback of an instant that was begun.
    pub(crate) fn begun(&self, timeline: &Timeline, target: &RequestedTime) -> Result<Option<BegunRollback>> {
        Ok(self.all_begun(timeline)?.into_iter().find(|begun| begun.target.requested_time == *target))
    }

    pub(crate) fn all_begun(&self, timeline: &Timeline) -> Result<Vec<BegunRollback>> {
        let mut begun = Vec::new();
        for rollback in timeline.pending(Action::Rollback) {
            // An empty plan: its writer died while it wrote it, and has undone nothing.
            let Some(plan) = self.plan_of(rollback)? else { continue };
            let Some(info) = plan.instant_to_rollback else { continue };
            let time = RequestedTime::from_metadata("commitTime of a rollback plan", &info.commit_time)?;
            let action = Action::named(&info.action).filter(|action| action.is_write());
            // Hudi may roll other actions back.
            let Some(action) = action else { continue };
            let gone = Instant {
                requested_time: time.clone(),
                completion_time: None,
                action,
                state: InstantState::Requested,
                file_name: String::new(),
            };
            let target = timeline.writes_at(&time).next().cloned().unwrap_or(gone);
            let is_started = rollback.state == InstantState::Inflight;
            begun.push(BegunRollback { rollback: rollback.requested_time.clone(), target, is_started });
        }
        Ok(begun)
    }

    /// What a rollback of an instant would do.
    pub(crate) fn preview(&self, target: &Instant, files: UndoneFiles) -> Result<UndonePreview> {
        let timeline = self.timeline()?;
        let undo = match self.pending(&timeline, target)? {
            Some(planned) => planned.undo,
            None => self.undo_of(&timeline, target, files)?,
        };
        undo.check_removable(&**self.store)?;
        // Those of a completed instant are deleted with it, and a list that cannot be read is found too late then.
        Markers::new(Arc::clone(self.store), &target.requested_time).list()?;
        let mut listings = Listings::new(self.store);
        let mut preview = UndonePreview::default();
        for path in &undo.deletions {
            if let Some(status) = listings.files(&path.partition)?.get(&path.name) {
                preview.deleted.push((path.path(), status.len));
            }
        }
        for LogRollback { partition, logs, .. } in &undo.logs {
            let path = |name: &String| DataPath { partition: partition.clone(), name: name.clone() }.path();
            preview.undone_logs.extend(logs.iter().map(|(name, len)| (path(name), *len)));
        }
        Ok(preview)
    }

    /// A rollback of the instant on the timeline: one that was begun, or a new one.
    fn plan_or_resume(&self, timeline: Timeline, target: Instant, files: UndoneFiles) -> Result<Planned> {
        // Before the markers are listed: attempts of tasks that run on add no files any more.
        OpenMark::new(Arc::clone(self.store), &target.requested_time).close()?;
        let planned = match self.pending(&timeline, &target)? {
            Some(planned) if planned.target.is_completed() => planned,
            Some(mut planned) => {
                // The failed writer may have gone on after the plan was made.
                planned.undo.add_missing(self.undo_of(&timeline, &target, UndoneFiles::OfInstant)?);
                planned
            }
            None => self.plan(timeline, target, files)?,
        };
        planned.undo.check_removable(&**self.store)?;
        Ok(planned)
    }

    fn undo(&self, planned: &Planned) -> Result<RolledBackFiles> {
        let Planned { rollback, target, undo } = planned;
        let files = self.timeline_writer();
        put_once(files.start(rollback, Action::Rollback, &Bytes::new()))?;
        files.revert_to_inflight(&target.requested_time, target.action)?;
        let undo_files = UndoFiles { store: self.store, instant: &target.requested_time, rollback };
        let mut done = undo_files.run(undo)?;
        if !target.is_completed() {
            let since = self.begun_since(target, &done)?;
            undo_files.undo(&since, &mut done)?;
        }
        Ok(done)
    }

    /// What the markers of a pending instant name and a rollback has not undone: its writer is alive, although it was
    /// taken for dead, and has begun these files since the plan was made. The result of the rollback names them then.
    fn begun_since(&self, target: &Instant, done: &RolledBackFiles) -> Result<Undo> {
        let (time, mut since) = (&target.requested_time, BTreeSet::new());
        for marker in Markers::new(Arc::clone(self.store), time).list()? {
            let path = DataPath::parse(&marker.data_path)?;
            let is_log = LogFileName::parse(&path.name).is_some();
            let may_be_undone = path.is_of(time) || is_log && is_log_of_slice(self.config, time, &marker, &path);
            if may_be_undone && !done.partitions.get(&path.partition).is_some_and(|files| files.names(&path.name)) {
                since.insert(marker);
            }
        }
        let undo = Undo::from_markers(self.config, time, &since, &mut Listings::new(self.store))?;
        undo.check_removable(&**self.store)?;
        Ok(undo)
    }

    /// Takes an instant that was undone off the timeline, or what is more of it than its plan. Files that were begun
    /// meanwhile are deleted before their markers.
    fn take_off(&self, target: &Instant, remains: Remains, done: &RolledBackFiles) -> Result<()> {
        let files = self.timeline_writer();
        if matches!(target.action, Action::ReplaceCommit | Action::Clustering) {
            let partitions = done.partitions.keys().cloned().collect();
            delete_hashing_files(self.store.as_ref(), target.requested_time.as_str(), &partitions)?;
        }
        match remains {
            Remains::Nothing => files.delete_instant(&target.requested_time, target.action)?,
            Remains::Plan => files.revert_to_requested(&target.requested_time, target.action)?,
        }
        if !target.is_completed() {
            self.undo_late(target, &self.begun_since(target, done)?)?;
        }
        Markers::new(Arc::clone(self.store), &target.requested_time).remove()?;
        delete_heartbeat(&**self.store, &target.requested_time)
    }

    /// Undoes files that were begun after the metadata table's part of a rollback.
    fn undo_late(&self, target: &Instant, since: &Undo) -> Result<()> {
        since.deletions.iter().try_for_each(|path| self.store.delete(&path.path()))?;
        if since.logs.is_empty() {
            return Ok(());
        }
        let timeline = self.timeline()?;
        let mut logs = LateLogs::new(self.store, self.clock, &timeline, &target.requested_time);
        since.logs.iter().flat_map(LogRollback::paths).try_for_each(|path| logs.undo(&path))
    }

    pub(crate) fn timeline_writer(&self) -> TimelineWriter {
        TimelineWriter::new(Arc::clone(self.store), self.config)
    }

    /// A rollback of the instant that was begun, by this or another writer.
    fn pending(&self, timeline: &Timeline, target: &Instant) -> Result<Option<Planned>> {
        for rollback in timeline.pending(Action::Rollback) {
            // As in `all_begun`.
            let Some(plan) = self.plan_of(rollback)? else { continue };
            let is_target = |info: &HoodieInstantInfo| target.requested_time == info.commit_time.as_str();
            if plan.instant_to_rollback.as_ref().is_some_and(is_target) {
                let undo = Undo::from_plan(self.config, &target.requested_time, &plan)?;
                return Ok(Some(Planned { rollback: rollback.requested_time.clone(), target: target.clone(), undo }));
            }
        }
        Ok(None)
    }

    fn plan_of(&self, rollback: &Instant) -> Result<Option<HoodieRollbackPlan>> {
        let time = &rollback.requested_time;
        let Some(bytes) = self.timeline_writer().read_requested(time, Action::Rollback)? else { return Ok(None) };
        HoodieRollbackPlan::from_bytes(&bytes).map_err(|error| error.at_instant(time))
    }

    /// Plans a rollback and puts it on the timeline.
    fn plan(&self, timeline: Timeline, target: Instant, files: UndoneFiles) -> Result<Planned> {
        let undo = self.undo_of(&timeline, &target, files)?;
        undo.check_removable(&**self.store)?;
        let plan = Bytes::from(undo.to_plan(&**self.store, &target).to_avro()?);
        let rollback = self.request(timeline, Action::Rollback, &plan);
        let rollback = rollback.map_err(|error| error.at_instant(&target.requested_time))?;
        Ok(Planned { rollback, target, undo })
    }

    /// Puts the plan of a rollback or restore on the timeline, and returns its time.
    pub(crate) fn request(&self, timeline: Timeline, action: Action, plan: &Bytes) -> Result<RequestedTime> {
        let (writer, metadata) = (self.timeline_writer(), self.metadata.and_then(MetadataRollback::timeline));
        let known = RollbackTimelines { table: timeline, metadata };
        let reload = || Ok(RollbackTimelines { table: self.timeline()?, metadata });
        let put = |_: &RollbackTimelines<'_>, time: &RequestedTime| writer.request(time, action, plan).map(Some);
        let requested = request_instant(self.clock, known, reload, put)?;
        requested.map(|(time, _)| time).ok_or_else(|| Error::internal("a plan without a requested instant"))
    }

    fn undo_of(&self, timeline: &Timeline, target: &Instant, files: UndoneFiles) -> Result<Undo> {
        let (time, mut listings) = (&target.requested_time, Listings::new(self.store));
        let mut undo = if target.is_completed() {
            let commit = timeline.commit_metadata(target, MetadataPart::All)?.unwrap_or_default();
            Undo::from_commit(self.config, time, &commit, &mut listings)?
        } else {
            let markers = Markers::new(Arc::clone(self.store), time).list()?;
            Undo::from_markers(self.config, time, &markers, &mut listings)?
        };
        if files == UndoneFiles::OfInstantAndItsSlices {
            undo.add_files_of(time, &mut listings)?;
        }
        Ok(undo)
    }

    fn result(&self, planned: &Planned, done: &RolledBackFiles, started: Duration) -> HoodieRollbackMetadata {
        let millis = self.store.time().millis_since(started);
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
