//! `compact` and `log_compact`: merge logs into base files, or into logs.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mortice::client::distributed::{CompactionTarget, DistributedCompaction as Core};
use mortice::maintenance::{self, ServiceRequest};
use mortice::transaction::{Committed, WriteResult};
use mortice::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{StorageArgument, at_location};
use crate::errors::released;
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

fn commit_of(committed: Committed) -> WrittenCommit {
    commit_of_write(WriteResult::new(committed))
}

/// The driver's part of compactions whose slices are merged in other processes.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct DistributedCompaction(Mutex<Core>);

impl DistributedCompaction {
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl DistributedCompaction {
    #[new]
    fn new(
        py: Python<'_>,
        uri: &str,
        storage_options: StorageArgument,
        options: BTreeMap<String, String>,
        into_logs: bool,
        parallelism: u32,
    ) -> PyResult<Self> {
        let into = if into_logs { CompactionTarget::LogFiles } else { CompactionTarget::BaseFiles };
        let core =
            at_location(py, uri, &storage_options, |location| Core::open(location, &options, into, parallelism))?;
        Ok(Self(Mutex::new(core)))
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.lock().warnings().to_vec()
    }

    fn schedule(&self, py: Python<'_>) -> PyResult<Option<String>> {
        released(py, || self.lock().schedule().map(|instant| instant.map(|instant| instant.to_string())))
    }

    fn find_pending(&self, py: Python<'_>) -> PyResult<usize> {
        released(py, || self.lock().find_pending())
    }

    fn begin_next<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyBytes>, u32)>> {
        let step = released(py, || self.lock().begin_next())?;
        Ok(step.map(|step| (PyBytes::new(py, &step.stage), step.tasks)))
    }

    fn commit(&self, py: Python<'_>, reports: Vec<Vec<u8>>) -> PyResult<WrittenCommit> {
        released(py, || self.lock().commit(&reports).map(commit_of))
    }

    fn abort(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        released(py, || self.lock().abort(&Error::new(ErrorKind::Io, reason)))
    }
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
        let (base_file, base_bytes) = slice.base_file.map(|base| (base.name, base.len)).unzip();
        PlannedSlice {
            partition: slice.partition,
            file_id: slice.file_id,
            base_file,
            base_bytes: base_bytes.unwrap_or(0),
            log_bytes: slice.log_files.iter().fold(0, |sum: u64, log| sum.saturating_add(log.len)),
            log_files: slice.log_files.into_iter().map(|log| log.name).collect(),
        }
    });
    PlannedCompaction { instant: plan.instant.map(|instant| instant.to_string()), slices: slices.collect() }
}
