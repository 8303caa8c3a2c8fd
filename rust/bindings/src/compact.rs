//! `compact`: merges logs into base files.

use std::collections::BTreeMap;

use mortice::client::{self, CompactRequest, RefusedRows, WriteResult};
use mortice::storage;
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::errors::released;
use crate::write::{CommitOfWrite, commit_of_write};

/// The compaction that was planned, those that were completed, and warnings.
type Compacted = (Option<String>, Vec<CommitOfWrite>, Vec<String>);
/// A file slice that would be compacted: partition, file id, base file, log files, bytes that are read and written, in MB.
type PlannedSlice = (String, String, Option<String>, Vec<String>, f64);
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
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let done = client::compact(uri, &storage, CompactRequest { schedule, run }, &options)?;
        let commits = done.committed.into_iter().map(|committed| {
            commit_of_write(WriteResult { committed, refused: RefusedRows::default(), warnings: Vec::new() })
        });
        Ok((done.scheduled.map(|instant| instant.to_string()), commits.collect(), done.warnings))
    })
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
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let planned = client::planned_compactions(uri, &storage, CompactRequest { schedule, run }, &options)?;
        let slice = |operation: mortice::timeline::metadata::HoodieCompactionOperation| {
            let metric = operation.metrics.as_ref().and_then(|metrics| metrics.get("TOTAL_IO_MB")).copied();
            (
                operation.partition_path.unwrap_or_default(),
                operation.file_id.unwrap_or_default(),
                operation.data_file_path,
                operation.delta_file_paths.unwrap_or_default(),
                metric.unwrap_or_default(),
            )
        };
        let of_plan = |plan: client::PlannedCompaction| {
            (plan.instant.map(|instant| instant.to_string()), plan.operations.into_iter().map(slice).collect())
        };
        Ok(planned.into_iter().map(of_plan).collect())
    })
}
