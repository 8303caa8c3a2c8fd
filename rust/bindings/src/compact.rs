//! `compact` and `log_compact`: merge logs into base files, or into logs.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mortice::client::distributed::{CompactionTarget, DistributedCompaction as Core};
use mortice::maintenance::{self, CompactRequest};
use mortice::rows::RefusedRows;
use mortice::transaction::{Committed, WriteResult};
use mortice::{Error, ErrorKind, storage};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::StorageArgument;
use crate::errors::released;
use crate::write::{CommitOfWrite, commit_of_write};

/// The compaction that was planned, those that were completed, and warnings.
type Compacted = (Option<String>, Vec<CommitOfWrite>, Vec<String>);
/// A file slice that would be compacted: partition, file id, base file and log files with their bytes.
type PlannedSlice = (String, String, Option<(String, u64)>, Vec<(String, u64)>);
/// A compaction that would be executed: its requested time, if it is planned already, and its slices.
type Planned = (Option<String>, Vec<PlannedSlice>);

/// Plans a compaction, if one is due, and executes what is pending.
#[pyfunction]
pub(crate) fn compact(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    schedule: bool,
    run: bool,
    options: BTreeMap<String, String>,
) -> PyResult<Compacted> {
    with_storage(py, uri, &storage_options, |storage| {
        maintenance::compact(uri, storage, CompactRequest { schedule, run }, &options).map(compacted)
    })
}

/// Plans a log compaction, if one is due, and executes what is pending.
#[pyfunction]
pub(crate) fn log_compact(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    schedule: bool,
    run: bool,
    options: BTreeMap<String, String>,
) -> PyResult<Compacted> {
    with_storage(py, uri, &storage_options, |storage| {
        maintenance::log_compact(uri, storage, CompactRequest { schedule, run }, &options).map(compacted)
    })
}

fn compacted(done: maintenance::Compacted) -> Compacted {
    let commits = done.committed.into_iter().map(commit_of).collect();
    (done.scheduled.map(|instant| instant.to_string()), commits, done.warnings)
}

fn commit_of(committed: Committed) -> CommitOfWrite {
    commit_of_write(WriteResult { committed, refused: RefusedRows::default(), warnings: Vec::new() })
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
        let core = released(py, || {
            let storage = storage::needed_options(uri, &storage_options)?;
            Core::open((uri, &storage), &options, into, parallelism)
        })?;
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

    fn commit(&self, py: Python<'_>, reports: Vec<Vec<u8>>) -> PyResult<CommitOfWrite> {
        released(py, || self.lock().commit(&reports).map(commit_of))
    }

    fn abort(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        released(py, || self.lock().abort(&Error::new(ErrorKind::Io, reason)))
    }
}

/// What `compact` would do. Nothing is changed.
#[pyfunction]
pub(crate) fn planned_compactions(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    schedule: bool,
    run: bool,
    options: BTreeMap<String, String>,
) -> PyResult<Vec<Planned>> {
    with_storage(py, uri, &storage_options, |storage| {
        maintenance::planned_compactions(uri, storage, CompactRequest { schedule, run }, &options).map(all_planned)
    })
}

/// What `log_compact` would do. Nothing is changed.
#[pyfunction]
pub(crate) fn planned_log_compactions(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    schedule: bool,
    run: bool,
    options: BTreeMap<String, String>,
) -> PyResult<Vec<Planned>> {
    with_storage(py, uri, &storage_options, |storage| {
        maintenance::planned_log_compactions(uri, storage, CompactRequest { schedule, run }, &options).map(all_planned)
    })
}

/// Runs a service with the storage options that a table needs.
fn with_storage<T: Send>(
    py: Python<'_>,
    uri: &str,
    storage_options: &StorageArgument,
    service: impl FnOnce(&StorageArgument) -> mortice::Result<T> + Send,
) -> PyResult<T> {
    released(py, || service(&storage::needed_options(uri, storage_options)?))
}

fn all_planned(plans: Vec<maintenance::PlannedCompaction>) -> Vec<Planned> {
    plans.into_iter().map(planned_slices).collect()
}

fn planned_slices(plan: maintenance::PlannedCompaction) -> Planned {
    let slices = plan.slices.into_iter().map(|slice| {
        let base = slice.base_file.map(|base| (base.name, base.len));
        let logs = slice.log_files.into_iter().map(|log| (log.name, log.len)).collect();
        (slice.partition, slice.file_id, base, logs)
    });
    (plan.instant.map(|instant| instant.to_string()), slices.collect())
}
