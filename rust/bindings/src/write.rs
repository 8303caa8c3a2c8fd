//! `write`: rows of Arrow data, written to a table.

use std::collections::BTreeMap;

use mortice::client::{self, Committed, WriteInput};
use mortice::commit::WriteOperation;
use mortice::storage;
use mortice::write::WriteStatus;
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::arrow_in::ArrowInput;
use crate::errors::{raised, released};

/// A written file: partition, file id, path, bytes, rows written, inserts, updates, deletes.
type FileOfCommit = (String, String, Option<String>, u64, u64, u64, u64, u64);
/// Requested time, completion time, operation, files, refused rows as (key, message), warnings.
pub(crate) type CommitOfWrite =
    (String, Option<String>, &'static str, Vec<FileOfCommit>, Vec<(Option<String>, String)>, Vec<String>);

/// Writes Arrow data to a table, or deletes the keys of it.
#[pyfunction]
pub(crate) fn write(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    operation: &str,
    data: &Bound<'_, PyAny>,
    options: BTreeMap<String, String>,
) -> PyResult<CommitOfWrite> {
    let rows = ArrowInput::from_python(data)?;
    let unknown = || mortice::Error::invalid_argument(format!("no such operation: {operation}"));
    let operation = WriteOperation::named(&operation.to_ascii_uppercase()).ok_or_else(|| raised(py, &unknown()))?;
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let schema = rows.schema();
        let batches = rows.collect::<mortice::Result<Vec<_>>>()?;
        let result = client::write(uri, &storage, operation, &WriteInput { schema, batches, options })?;
        Ok(commit_of_write(&result.committed, result.warnings))
    })
}

/// A commit as a tuple for Python.
pub(crate) fn commit_of_write(committed: &Committed, warnings: Vec<String>) -> CommitOfWrite {
    let refused = committed.statuses.iter().flat_map(|status| &status.errors);
    (
        committed.instant.to_string(),
        committed.completion_time.as_ref().map(ToString::to_string),
        committed.operation.name(),
        committed.statuses.iter().map(file_of_commit).collect(),
        refused.map(|error| (error.record_key.clone(), error.message.clone())).collect(),
        warnings,
    )
}

fn file_of_commit(status: &WriteStatus) -> FileOfCommit {
    let (path, bytes) = status.file.as_ref().map_or((None, 0), |file| (Some(file.path.clone()), file.bytes));
    let WriteStatus { partition, file_id, writes, inserts, updates, deletes, .. } = status;
    (partition.clone(), file_id.clone(), path, bytes, *writes, *inserts, *updates, *deletes)
}
