//! Compactions that a user asks for.

use std::collections::BTreeMap;

use super::execute::execute_pending;
use super::schedule::{plan_if_due, schedule};
use crate::commit::check_writable;
use crate::commit::{Clock, Concurrency};
use crate::services::{CompactionOptions, TableCompactions, check_no_restore};
use crate::transaction::Committed;
use crate::transaction::ServiceTarget;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::{ReadOptions, TableType, WriteOptions};
use mortice_storage::{StorageOptions, open_file_store};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;

/// A compaction that was asked for is due at once, unless options say after how many delta commits.
const COMMITS: u64 = 0;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactRequest {
    /// Plan a new compaction, if one is due.
    pub schedule: bool,
    /// Execute what is pending.
    pub run: bool,
}

impl CompactRequest {
    /// Executes what is pending, makes a plan, and executes it.
    pub(super) fn fulfilled(
        self,
        execute: impl Fn() -> Result<Vec<Committed>>,
        schedule: impl FnOnce() -> Result<Option<RequestedTime>>,
    ) -> Result<Compacted> {
        let mut done = Compacted::default();
        if self.run {
            done.committed = execute()?;
        }
        if self.schedule {
            done.scheduled = schedule()?;
        }
        if self.run && done.scheduled.is_some() {
            done.committed.extend(execute()?);
        }
        Ok(done)
    }
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct Compacted {
    /// The compaction that was planned.
    pub scheduled: Option<RequestedTime>,
    /// The compactions that were completed, in this order.
    pub committed: Vec<Committed>,
    /// Sentences on options that have no effect.
    pub warnings: Vec<String>,
}

/// A compaction that would be executed.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCompaction {
    /// Its requested time; none if it is not planned yet.
    pub instant: Option<RequestedTime>,
    /// What it merges, in the order of its plan.
    pub slices: Vec<FileSlice>,
}

/// Compacts a table: executes compactions that are pending, then plans another one, if it is due, and executes it.
///
/// # Errors
/// `InvalidArgument` and `Unsupported`, by name, for tables and options that cannot be compacted with; those of reading the files and of
/// the storage: a compaction that was planned is pending then, and the next call executes it.
pub fn compact(
    uri: &str,
    storage: &StorageOptions,
    request: CompactRequest,
    options: &BTreeMap<String, String>,
) -> Result<Compacted> {
    let parsed = checked(uri, storage, options, "compact")?.1;
    let target = ServiceTarget { uri, storage, options: parsed.values() };
    let done = request.fulfilled(|| execute_pending(target), || schedule(target, COMMITS))?;
    Ok(Compacted { warnings: parsed.warnings().to_vec(), ..done })
}

/// What [`compact`] would do. Nothing is changed.
///
/// # Errors
/// As for [`compact`].
pub fn planned_compactions(
    uri: &str,
    storage: &StorageOptions,
    request: CompactRequest,
    options: &BTreeMap<String, String>,
) -> Result<Vec<PlannedCompaction>> {
    let (table, parsed) = checked(uri, storage, options, "compact")?;
    let compactions = compactions_for_preview(uri, storage, &parsed)?;
    let mut planned = Vec::new();
    if request.run {
        for instant in compactions.pending() {
            let slices = compactions.slices(&instant)?;
            planned.push(PlannedCompaction { instant: Some(instant), slices });
        }
    }
    if request.schedule {
        let options = CompactionOptions::from_options(parsed.values(), COMMITS)?;
        let instant = Clock::new(&table.config).requested_time(&[&table.timeline])?;
        if let Some(plan) = plan_if_due(&compactions, &options, &table, &instant)? {
            let slices = compactions.slices_of_plan(&plan)?;
            planned.push(PlannedCompaction { instant: None, slices });
        }
    }
    Ok(planned)
}

/// Opens the table's compactions as they are once failed writes are rolled back.
pub(super) fn compactions_for_preview(
    uri: &str,
    storage: &StorageOptions,
    options: &WriteOptions,
) -> Result<TableCompactions> {
    let store = open_file_store(uri, storage)?;
    let concurrency = Concurrency::from_options(&store, storage, options.values())?;
    TableCompactions::open_for_preview(&store, &concurrency)
}

/// Opens the table and checks the options of a service.
pub(super) fn checked(
    uri: &str,
    storage: &StorageOptions,
    options: &BTreeMap<String, String>,
    service: &str,
) -> Result<(OpenTable, WriteOptions)> {
    let table = OpenTable::open(uri, storage, ReadOptions::default())?;
    check_writable(&table.config).map_err(|error| error.in_file(uri))?;
    check_no_restore(&table.timeline).map_err(|error| error.in_file(uri))?;
    if table.config.table_type != TableType::MergeOnRead {
        let message = "a copy-on-write table has no logs to compact";
        return Err(Error::invalid_argument(message).in_file(uri));
    }
    let parsed = WriteOptions::parse(options, service, &table.config)?;
    Ok((table, parsed))
}
