//! The action: plan, files, metadata table, completed instant.
//!
//! | # | operation | if the process stops after it |
//! |---|---|---|
//! | 1 | `t.clean.requested`: the plan | the next clean, also Hudi's, executes the plan |
//! | 2 | `t.clean.inflight` | the same |
//! | 3 | the files of the plan are deleted | the same: files that are gone are no error |
//! | 4 | the metadata table's delta commit `t`: the files are gone | the same; the delta commit is not repeated |
//! | 5 | `t_c.clean` | the clean is complete |
//! | 6 | the metadata table's markers are deleted | empty files stay |
//!
//! Steps 1, 4 and 5 are under the table's lock, if it has one.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::delete_planned::{delete_files, delete_partitions};
use super::options::CleaningOptions;
use super::plan_file::{CheckedPlan, plan_of};
use super::planner::{CleanPlanner, FilesToClean};
use super::reason::why_nothing;
use crate::data_paths::DataPath;
use crate::listings::Listings;
use crate::recovery::{Rollbacks, check_no_restore, roll_back_failed_writes};
use crate::reports::report_clean;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::{CleanedFiles, Clock, FailedWrites, request_instant};
use mortice_commit::writable_table::{TableState, WritableTable};
use mortice_merge::config::{TableType, TimelineLayout};
use mortice_table::file_group::FileSystemView;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::metadata::{
    HoodieCleanMetadata, HoodieCleanPartitionMetadata, HoodieCleanerPlan, OrderedMap, TimelineMetadata,
};
use mortice_table::timeline::{Action, Instant, Timeline};

/// The version of results with file names.
const VERSION: i32 = 2;

/// A file that a clean deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanedFile {
    /// Its path, relative to the table.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What a clean did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clean {
    /// Its requested time; none of a dry run.
    pub instant: Option<RequestedTime>,
    /// The files that were deleted.
    pub files: Vec<CleanedFile>,
    /// Partitions that were deleted, as they had no files any more.
    pub partitions: Vec<String>,
    /// The earliest write that stays readable; none by file versions.
    pub earliest: Option<String>,
}

/// Cleans a table.
pub struct Cleaning<'a> {
    target: &'a WritableTable,
    options: CleaningOptions,
}

impl<'a> Cleaning<'a> {
    /// # Errors
    /// As for [`CleaningOptions::resolve`].
    pub fn new(target: &'a WritableTable) -> Result<Self> {
        Ok(Self { target, options: CleaningOptions::resolve(target.options())? })
    }

    /// What a clean would do now: cleans that are pending, and a new one.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn plan(&self) -> Result<Vec<Clean>> {
        let table = self.target.latest();
        check_no_restore(&table.timeline)?;
        let (mut results, mut pending) = (Vec::new(), Vec::new());
        for clean in table.timeline.pending(Action::Clean) {
            if let Some(plan) = self.checked_plan(&table, &clean.requested_time)? {
                results.push(self.described(&clean.requested_time, &plan, &needed_files(&table, &plan)?)?);
                pending.push(plan);
            }
        }
        let mut found = self.planner(&table, |planner| planner.plan(self.target.time().now()))?;
        // A new one is planned once these files are gone.
        let is_pending = |partition: &String, name: &String| {
            pending.iter().any(|plan| plan.partitions.get(partition).is_some_and(|names| names.contains(name)))
        };
        found.partitions.iter_mut().for_each(|(partition, files)| files.retain(|name, _| !is_pending(partition, name)));
        found.partitions.retain(|_, files| !files.is_empty());
        if !found.partitions.is_empty() {
            results.push(result_of_plan(None, &found));
        }
        Ok(results)
    }

    /// Why a clean finds nothing to delete, if it does not.
    #[must_use]
    pub fn why_nothing(&self) -> String {
        why_nothing(&self.target.latest().timeline, self.options.policy)
    }

    /// Completes cleans that are pending, then plans a new one, if there is anything to delete, and runs it.
    ///
    /// # Errors
    /// `InvalidTable` if a plan names what is no data file of the table, `Unsupported` while a restore is not
    /// completed: nothing is deleted then; those of the storage, after which the next clean goes on.
    pub fn run(&self) -> Result<Vec<Clean>> {
        self.complete_and_clean(false)
    }

    /// The same, but a new one is planned only after so many commits as options say.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn run_if_due(&self) -> Result<Vec<Clean>> {
        self.complete_and_clean(true)
    }

    fn complete_and_clean(&self, only_if_due: bool) -> Result<Vec<Clean>> {
        let (time, started) = (self.target.time(), self.target.time().monotonic());
        let cleans = self.complete_and_run(only_if_due)?;
        if !cleans.is_empty() {
            report_clean(self.target, time.since(started), cleans.iter().map(|clean| clean.files.len()).sum());
        }
        Ok(cleans)
    }

    fn complete_and_run(&self, only_if_due: bool) -> Result<Vec<Clean>> {
        let mut table = self.target.latest();
        check_no_restore(&table.timeline)?;
        if self.target.concurrency().failed_writes == FailedWrites::Lazy && has_pending(&table.timeline) {
            self.roll_back_failed()?;
            table = self.target.reopen()?;
        }
        let mut results = Vec::new();
        let pending: Vec<Instant> = table.timeline.pending(Action::Clean).cloned().collect();
        if !pending.is_empty() {
            table = self.target.reopen()?;
            for clean in &pending {
                results.extend(self.complete_pending(&table, clean)?);
            }
            table = self.target.reopen()?;
        }
        let is_due = self.planner(&table, |planner| {
            Ok((!only_if_due || planner.is_due()) && planner.may_find(self.target.time().now())?)
        })?;
        if let Some((instant, found, table)) = if is_due { self.schedule()? } else { None } {
            let plan = self.checked_plan(&table, &instant)?;
            let plan = plan.ok_or_else(|| executed_by_another(&instant))?;
            // This process may have been stopped before its plan was on the timeline, while others went on.
            let (now, needed) = if self.target.timeline_writer(&table).has_other_instants(&table.timeline)? {
                let now = self.target.reopen()?;
                let needed = needed_files(&now, &plan)?;
                (now, needed)
            } else {
                (table, BTreeSet::new())
            };
            let partitions = self.execute(&now, &instant, &plan, &needed)?;
            results.push(Clean { partitions, ..result_of_plan(Some(instant), &found) });
        }
        Ok(results)
    }

    /// Writers that leave failed writes to cleans: those whose heartbeat has expired.
    fn roll_back_failed(&self) -> Result<()> {
        self.target.locked_state(|state| {
            let timeline = &state.table.timeline;
            check_no_restore(timeline)?;
            let concurrency = self.target.concurrency();
            let (policy, heartbeat) = (concurrency.failed_writes, concurrency.heartbeat);
            roll_back_failed_writes(&Rollbacks::new(state), timeline, policy, heartbeat).map(drop)
        })
    }

    fn planner<T>(&self, table: &OpenTable, work: impl FnOnce(&CleanPlanner<'_>) -> Result<T>) -> Result<T> {
        let list = |wanted: Option<&BTreeSet<String>>| table.files_of_partitions(wanted);
        work(&CleanPlanner {
            timeline: &table.timeline,
            config: &table.config,
            writer: self.target.timeline_writer(table),
            options: &self.options,
            list: &list,
        })
    }

    /// Plans a clean and puts it on the timeline; none if nothing is to be deleted.
    fn schedule(&self) -> Result<Option<(RequestedTime, FilesToClean, Arc<OpenTable>)>> {
        self.target.locked(|table, _| {
            check_no_restore(&table.timeline)?;
            let state = self.target.sound_state(table)?;
            let table = Arc::clone(&state.table);
            if table.timeline.pending(Action::Clean).next().is_some() {
                // Another process has planned one meanwhile.
                return Ok(None);
            }
            let found = self.planner(&table, |planner| planner.plan(self.target.time().now()))?;
            if found.partitions.is_empty() {
                return Ok(None);
            }
            let plan = plan_of(&found, &table.timeline, &self.options, self.target.store().as_ref());
            let content = Bytes::from(plan.to_avro()?);
            let writer = self.target.timeline_writer(&table);
            let put = |_: &TableState, time: &RequestedTime| writer.request(time, Action::Clean, &content).map(Some);
            let requested = request_instant(&state.clock.clone(), state, || self.target.state(), put)?;
            let Some((instant, state)) = requested else { return Ok(None) };
            let table = self.target.advance(&state.table, writer.requested_instant(&instant, Action::Clean))?;
            Ok(Some((instant, found, table)))
        })
    }

    /// Reads the plan of a pending clean; none if its file is empty, as that of a process that died while it wrote the
    /// file.
    fn checked_plan(&self, table: &OpenTable, instant: &RequestedTime) -> Result<Option<CheckedPlan>> {
        let writer = self.target.timeline_writer(table);
        let bytes = writer.read_requested(instant, Action::Clean)?.unwrap_or_default();
        let plan = HoodieCleanerPlan::from_bytes(&bytes).map_err(|error| error.at_instant(instant))?;
        plan.map(|plan| CheckedPlan::parse(plan, instant)).transpose()
    }

    fn complete_pending(&self, table: &Arc<OpenTable>, clean: &Instant) -> Result<Option<Clean>> {
        let instant = &clean.requested_time;
        let Some(plan) = self.checked_plan(table, instant)? else {
            self.target.timeline_writer(table).delete_instant(instant, Action::Clean)?;
            return Ok(None);
        };
        let needed = needed_files(table, &plan)?;
        let described = self.described(instant, &plan, &needed)?;
        let partitions = self.execute(table, instant, &plan, &needed)?;
        Ok(Some(Clean { partitions, ..described }))
    }

    /// What the execution of a pending plan deletes: those of its files that are still there and that nobody needs.
    fn described(&self, instant: &RequestedTime, plan: &CheckedPlan, needed: &BTreeSet<DataPath>) -> Result<Clean> {
        let mut listings = Listings::new(self.target.store());
        let mut files = Vec::new();
        for (partition, names) in &plan.partitions {
            let found = listings.files(partition)?;
            for (name, status) in names.iter().filter_map(|name| Some((name, found.get(name)?))) {
                let path = DataPath { partition: partition.clone(), name: name.clone() };
                if !needed.contains(&path) {
                    files.push(CleanedFile { path: path.path(), bytes: status.len });
                }
            }
        }
        Ok(Clean {
            instant: Some(instant.clone()),
            files,
            partitions: plan.empty_partitions.iter().cloned().collect(),
            earliest: Some(plan.earliest.clone()).filter(|earliest| !earliest.is_empty()),
        })
    }

    /// Executes a plan. Returns the partitions that were deleted.
    fn execute(
        &self,
        table: &Arc<OpenTable>,
        instant: &RequestedTime,
        plan: &CheckedPlan,
        needed: &BTreeSet<DataPath>,
    ) -> Result<Vec<String>> {
        let (time, started) = (self.target.time(), self.target.time().monotonic());
        let writer = self.target.timeline_writer(table);
        let inflight = match table.config.layout() {
            // Hudi 0.x reads the plan there when it archives the clean.
            TimelineLayout::V1 => writer.read_requested(instant, Action::Clean)?.unwrap_or_default(),
            TimelineLayout::V2 => Bytes::new(),
        };
        writer.start(instant, Action::Clean, &inflight)?;
        let mut done = delete_files(self.target.store(), plan, needed, self.target.progress())?;
        self.target.locked(|now, lock| {
            if is_completed(&now, instant) {
                return Ok(Vec::new());
            }
            if now.timeline.pending_writes().next().is_none() {
                delete_partitions(self.target.store(), &plan.empty_partitions, &mut done)?;
            }
            let TableState { table: now, metadata, clock, .. } = self.target.sound_state(now)?;
            if let Some(metadata) = &metadata {
                metadata.write_clean(instant, &done)?;
            }
            let millis = time.millis_since(started);
            let content = Bytes::from(clean_metadata_of(instant, plan, &done, needed, millis).to_avro()?);
            lock.check()?;
            self.complete(&clock, &now, instant, &content)?;
            if let Some(metadata) = &metadata {
                // What is left is deleted with the next instants of the metadata table.
                let _ = metadata.clean_up(instant);
            }
            let deleted = done.partitions.into_iter().filter(|(_, cleaned)| cleaned.is_deleted);
            Ok(deleted.map(|(partition, _)| partition).collect())
        })
    }

    fn complete(&self, clock: &Clock, table: &OpenTable, instant: &RequestedTime, content: &Bytes) -> Result<()> {
        let writer = self.target.timeline_writer(table);
        let completion = clock.completion_time(instant, &[&table.timeline])?;
        let completed = writer.complete_or_fail(instant, Action::Clean, &completion, content);
        let completed = completed.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => executed_by_another(instant).caused_by(error),
            _ => error,
        })?;
        self.target.advance(table, completed).map(drop)
    }
}

/// The error of a clean that stalled while another process has executed its plan, and maybe archived it.
fn executed_by_another(instant: &RequestedTime) -> Error {
    let message = "another writer has executed the plan of this clean meanwhile; clean again to delete what is left";
    Error::new(ErrorKind::WriteConflict, message).at_instant(instant)
}

/// Whether there are instants that a writer may have failed at.
fn has_pending(timeline: &Timeline) -> bool {
    timeline.pending_writes().next().is_some() || timeline.pending(Action::Rollback).next().is_some()
}

fn is_completed(table: &OpenTable, instant: &RequestedTime) -> bool {
    table.timeline.instants_at(instant).iter().any(|one| one.action == Action::Clean && one.is_completed())
}

/// The files of a plan that readers of the latest state need, or savepoints: the plan is damaged, or instants were
/// rolled back or savepoints made since it was made.
fn needed_files(table: &OpenTable, plan: &CheckedPlan) -> Result<BTreeSet<DataPath>> {
    let view = FileSystemView::new(&table.timeline, &table.config, None)?;
    let partitions: BTreeSet<String> = plan.partitions.keys().cloned().collect();
    let mut needed = BTreeSet::new();
    let has_logs = table.config.table_type == TableType::MergeOnRead;
    for savepoint in table.timeline.savepoints() {
        for (partition, names) in table.timeline.files_of_savepoint(savepoint, has_logs)? {
            let planned = plan.partitions.get(&partition);
            let kept = names.into_iter().filter(|name| planned.is_some_and(|planned| planned.contains(name)));
            needed.extend(kept.map(|name| DataPath { partition: partition.clone(), name }));
        }
    }
    for files in table.files_of_partitions(Some(&partitions))? {
        let Some(names) = plan.partitions.get(&files.partition) else { continue };
        for slice in view.slices(&files)? {
            for (path, _) in slice.files() {
                let name = path.rsplit('/').next().unwrap_or(path);
                if names.contains(name) {
                    needed.insert(DataPath { partition: files.partition.clone(), name: name.to_owned() });
                }
            }
        }
    }
    Ok(needed)
}

/// The content of the completed instant.
pub(crate) fn clean_metadata_of(
    instant: &RequestedTime,
    plan: &CheckedPlan,
    done: &CleanedFiles,
    needed: &BTreeSet<DataPath>,
    millis: i64,
) -> HoodieCleanMetadata {
    let partitions = plan.partitions.keys().chain(&plan.empty_partitions).collect::<BTreeSet<_>>();
    let partitions = partitions.into_iter().map(|partition| {
        let cleaned = done.partitions.get(partition).cloned().unwrap_or_default();
        let failed = needed.iter().filter(|path| path.partition == *partition).map(|path| path.name.clone());
        let metadata = HoodieCleanPartitionMetadata {
            partition_path: partition.clone(),
            policy: plan.policy.clone(),
            delete_path_patterns: cleaned.files.clone(),
            success_delete_files: cleaned.files,
            failed_delete_files: failed.collect(),
            is_partition_deleted: Some(cleaned.is_deleted),
            ..HoodieCleanPartitionMetadata::default()
        };
        (partition.clone(), metadata)
    });
    let deleted: usize = done.partitions.values().map(|cleaned| cleaned.files.len()).sum();
    HoodieCleanMetadata {
        start_clean_time: instant.to_string(),
        time_taken_in_millis: millis,
        total_files_deleted: i32::try_from(deleted).unwrap_or(i32::MAX),
        earliest_commit_to_retain: plan.earliest.clone(),
        last_completed_commit_timestamp: plan.last_write.clone(),
        partition_metadata: partitions.collect(),
        version: Some(VERSION),
        bootstrap_partition_metadata: Some(OrderedMap::new()),
        extra_metadata: plan.extra.clone(),
        ..HoodieCleanMetadata::default()
    }
}

fn result_of_plan(instant: Option<RequestedTime>, found: &FilesToClean) -> Clean {
    let file = |partition: &String, (name, bytes): (&String, &u64)| {
        let path = DataPath { partition: partition.clone(), name: name.clone() }.path();
        CleanedFile { path, bytes: *bytes }
    };
    let files =
        found.partitions.iter().flat_map(|(partition, files)| files.iter().map(move |one| file(partition, one)));
    Clean {
        instant,
        files: files.collect(),
        partitions: found.empty_partitions.clone(),
        earliest: found.earliest.as_ref().map(|earliest| earliest.requested_time.to_string()),
    }
}
