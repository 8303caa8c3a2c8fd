//! `write`: rows of Arrow data, written to a table.

use std::collections::BTreeMap;

use mortice::client::{self};
use mortice::commit::WriteOperation;
use mortice::rows::WriteInput;
use mortice::storage;
use mortice::transaction::{WriteResult, with_validator};
use mortice::write::WriteStatus;
use pyo3::prelude::*;

use crate::arguments::{FilterArgument, StorageArgument, filter};
use crate::arrow_in::ArrowInput;
use crate::errors::{raised, released};
use crate::validator::validator as validator_of;

/// A written file: partition, file id, path, bytes, rows written, inserts, updates, deletes.
type FileOfCommit = (String, String, Option<String>, u64, u64, u64, u64, u64);
/// Rows that were left out: their number, and some of them as (key, message).
type RefusedOfCommit = (u64, Vec<(Option<String>, String)>);
/// Requested time, completion time, operation, files, rows that were left out, warnings.
pub(crate) type CommitOfWrite = (String, Option<String>, &'static str, Vec<FileOfCommit>, RefusedOfCommit, Vec<String>);

/// Writes Arrow data to a table, or deletes the keys of it.
#[pyfunction]
#[pyo3(signature = (uri, storage_options, operation, data, options, validator=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn write(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    operation: &str,
    data: &Bound<'_, PyAny>,
    options: BTreeMap<String, String>,
    validator: Option<Py<PyAny>>,
) -> PyResult<CommitOfWrite> {
    let is_in_memory = is_in_memory(data)?;
    let mut rows = ArrowInput::from_python(data)?;
    let validator = validator_of(validator);
    let unknown = || mortice::Error::invalid_argument(format!("no such operation: {operation}"));
    let operation = WriteOperation::from_option(operation).ok_or_else(|| raised(py, &unknown()))?;
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let schema = rows.schema();
        with_validator(validator, || {
            let input = WriteInput { schema, batches: &mut rows, is_in_memory, options: &options };
            let result = match operation {
                WriteOperation::BulkInsert => client::bulk_insert(uri, &storage, input),
                _ => client::write(uri, &storage, operation, input),
            };
            result.map(commit_of_write)
        })
    })
}

/// Whether all rows are in memory for as long as the caller has the object: tables and batches of pyarrow have a number
/// of bytes, DataFrames of polars an estimate of it. Streams have none, nor has what is converted when it is read.
fn is_in_memory(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(data.hasattr("nbytes")? || data.hasattr("estimated_size")?)
}

/// Deletes partitions of a table.
#[pyfunction]
#[pyo3(signature = (uri, storage_options, partitions, options, validator=None))]
pub(crate) fn delete_partitions(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    partitions: Vec<String>,
    options: BTreeMap<String, String>,
    validator: Option<Py<PyAny>>,
) -> PyResult<CommitOfWrite> {
    let validator = validator_of(validator);
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        with_validator(validator, || {
            client::delete_partitions(uri, &storage, &partitions, &options).map(commit_of_write)
        })
    })
}

/// Deletes the rows that filters select.
#[pyfunction]
#[pyo3(signature = (uri, storage_options, filters, options, validator=None))]
pub(crate) fn delete_where(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    filters: FilterArgument<'_>,
    options: BTreeMap<String, String>,
    validator: Option<Py<PyAny>>,
) -> PyResult<CommitOfWrite> {
    let filter = filter(py, filters)?;
    let validator = validator_of(validator);
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        with_validator(validator, || client::delete_where(uri, &storage, &filter, &options).map(commit_of_write))
    })
}

/// A commit as a tuple for Python.
pub(crate) fn commit_of_write(result: WriteResult) -> CommitOfWrite {
    let WriteResult { committed, refused, warnings } = result;
    let errors = refused.errors.into_iter().map(|error| (error.record_key, error.message)).collect();
    (
        committed.instant.to_string(),
        committed.completion_time.map(|time| time.to_string()),
        committed.operation.name(),
        committed.statuses.iter().map(file_of_commit).collect(),
        (refused.total, errors),
        warnings,
    )
}

fn file_of_commit(status: &WriteStatus) -> FileOfCommit {
    let (path, bytes) = status.file.as_ref().map_or((None, 0), |file| (Some(file.path.clone()), file.bytes));
    let WriteStatus { partition, file_id, writes, inserts, updates, deletes, .. } = status;
    (partition.clone(), file_id.clone(), path, bytes, *writes, *inserts, *updates, *deletes)
}
