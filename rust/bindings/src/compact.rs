//! `compact` and `log_compact`: merge logs into base files, or into logs.

use std::collections::BTreeMap;

use mortice::maintenance::{self, ServiceRequest};
use mortice::transaction::{Committed, WriteResult};
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};
use crate::write::{WrittenCommit, commit_of_write};

/// What a service did that is planned, and then executed: the requested time of the new plan, the commits of executed
/// plans.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct ScheduledService {
    pub(crate) scheduled: Option<String>,
    pub(crate) commits: Vec<WrittenCommit>,
    pub(crate) warnings: Vec<String>,
}

/// A file slice that would be compacted.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct PlannedSlice {
    partition: String,
    file_id: String,
    base_file: Option<String>,
    base_bytes: u64,
    log_files: Vec<String>,
    log_bytes: u64,
}

/// A compaction that would be executed: its requested time, if it is planned already, and its slices.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct PlannedCompaction {
    instant: Option<String>,
    slices: Vec<PlannedSlice>,
}

/// Plans a compaction, if one is due, and executes what is pending.
#[pyfunction]
pub(crate) fn compact(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    schedule: bool,
    run: bool,
) -> PyResult<ScheduledService> {
    at_location(py, uri, &storage_options, |location| {
        maintenance::run_compaction(location, ServiceRequest { schedule, run }, &options).map(compacted)
    })
}

/// Plans a log compaction, if one is due, and executes what is pending.
#[pyfunction]
pub(crate) fn log_compact(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    schedule: bool,
    run: bool,
) -> PyResult<ScheduledService> {
    at_location(py, uri, &storage_options, |location| {
        maintenance::run_log_compaction(location, ServiceRequest { schedule, run }, &options).map(compacted)
    })
}

fn compacted(done: maintenance::CompactionResult) -> ScheduledService {
    ScheduledService {
        scheduled: done.scheduled.map(|instant| instant.to_string()),
        commits: done.committed.into_iter().map(commit_of).collect(),
        warnings: done.warnings,
    }
}

pub(crate) fn commit_of(committed: Committed) -> WrittenCommit {
    commit_of_write(WriteResult::new(committed))
}

/// What `compact` would do. Nothing is changed.
#[pyfunction]
pub(crate) fn plan_compact(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    schedule: bool,
    run: bool,
) -> PyResult<Vec<PlannedCompaction>> {
    at_location(py, uri, &storage_options, |location| {
        maintenance::plan_compaction(location, ServiceRequest { schedule, run }, &options).map(all_planned)
    })
}

/// What `log_compact` would do. Nothing is changed.
#[pyfunction]
pub(crate) fn plan_log_compact(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    schedule: bool,
    run: bool,
) -> PyResult<Vec<PlannedCompaction>> {
    at_location(py, uri, &storage_options, |location| {
        maintenance::plan_log_compaction(location, ServiceRequest { schedule, run }, &options).map(all_planned)
    })
}

fn all_planned(plans: Vec<maintenance::PlannedCompaction>) -> Vec<PlannedCompaction> {
    plans.into_iter().map(planned_compaction).collect()
}

fn planned_compaction(plan: maintenance::PlannedCompaction) -> PlannedCompaction {
    let slices = plan.slices.into_iter().map(|slice| {
        let (base_file, base_bytes) = slice.base_file.map(|base| (base.name().to_owned(), base.len)).unzip();
        PlannedSlice {
            partition: slice.partition,
            file_id: slice.file_id,
            base_file,
            base_bytes: base_bytes.unwrap_or(0),
            log_bytes: slice.log_files.iter().fold(0, |sum: u64, log| sum.saturating_add(log.len)),
            log_files: slice.log_files.iter().map(|log| log.name().to_owned()).collect(),
        }
    });
    PlannedCompaction { instant: plan.instant.map(|instant| instant.to_string()), slices: slices.collect() }
}
