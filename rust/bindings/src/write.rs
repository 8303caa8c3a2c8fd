//! `write`: rows of Arrow data, written to a table.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use mortice::client::{self};
use mortice::rows::{SchemaChange, WriteInput};
use mortice::timeline::WriteOperation;
use mortice::transaction::WriteResult;
use mortice::write::WriteStatus;
use pyo3::prelude::*;

use crate::arguments::{FilterArgument, StorageArgument, at_location, filter};
use crate::arrow::ArrowSchema;
use crate::arrow_in::ArrowInput;
use crate::errors::raised;
use crate::validator::validator as validator_of;

/// What a write did to a file group: one file of it.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct WrittenFile {
    partition: String,
    file_id: String,
    path: Option<String>,
    file_bytes: u64,
    rows_written: u64,
    inserts: u64,
    updates: u64,
    deletes: u64,
}

/// A row that was left out.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct LeftOutRow {
    record_key: Option<String>,
    message: String,
}

/// A column, or a field within one, that a write has added or given another type: schemas of one field each.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct ColumnChange {
    column: String,
    before: Option<ArrowSchema>,
    after: ArrowSchema,
}

impl ColumnChange {
    fn new(change: SchemaChange) -> Self {
        let SchemaChange { column, before, after } = change;
        let of_one = |kind: DataType| ArrowSchema(Arc::new(Schema::new(vec![Field::new(column.as_str(), kind, true)])));
        let (before, after) = (before.map(of_one), of_one(after));
        Self { column, before, after }
    }
}

/// A completed write: files, some of the rows that were left out, their number.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct WrittenCommit {
    instant: String,
    completion_time: Option<String>,
    operation: &'static str,
    files: Vec<WrittenFile>,
    errors: Vec<LeftOutRow>,
    error_count: u64,
    warnings: Vec<String>,
    attempts: u32,
    schema_changes: Vec<ColumnChange>,
}

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
) -> PyResult<WrittenCommit> {
    let is_in_memory = is_in_memory(data)?;
    let mut rows = ArrowInput::from_python(data)?;
    let validator = validator_of(validator);
    let unknown = || mortice::Error::invalid_argument(format!("no such operation: {operation}"));
    let operation = WriteOperation::from_option(operation).ok_or_else(|| raised(py, &unknown()))?;
    at_location(py, uri, &storage_options, |location| {
        let schema = rows.schema();
        let input = WriteInput { schema, batches: &mut rows, is_in_memory, options: &options, validator };
        let result = match operation {
            WriteOperation::BulkInsert => client::bulk_insert(location, input),
            _ => client::write(location, operation, input),
        };
        result.map(commit_of_write)
    })
}

/// Whether an option names a property of the table, which the table keeps.
#[pyfunction]
pub(crate) fn is_table_property(py: Python<'_>, name: &str) -> PyResult<bool> {
    mortice::config::is_table_property(name).map_err(|error| raised(py, &error))
}

/// How many seconds a caller that repeats writes waits after an attempt that had a conflict; None if it does not
/// repeat it.
#[pyfunction]
pub(crate) fn pause_after_conflict(
    py: Python<'_>,
    options: BTreeMap<String, String>,
    attempt: u32,
) -> PyResult<Option<f64>> {
    let pause = client::pause_after_conflict(&options, attempt).map_err(|error| raised(py, &error))?;
    Ok(pause.map(|pause| pause.as_secs_f64()))
}

/// Whether all rows are in memory for as long as the caller has the object: tables and batches of pyarrow have a number
/// of bytes, DataFrames of polars an estimate of it. Streams have none, nor has what is converted when it is read. The
/// class is asked: pyarrow 17 cannot count the bytes of all types.
pub(crate) fn is_in_memory(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = data.get_type();
    Ok(class.hasattr("nbytes")? || class.hasattr("estimated_size")?)
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
) -> PyResult<WrittenCommit> {
    let validator = validator_of(validator);
    at_location(py, uri, &storage_options, |location| {
        client::delete_partitions(location, &partitions, &options, validator).map(commit_of_write)
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
) -> PyResult<WrittenCommit> {
    let filter = filter(py, filters)?;
    let validator = validator_of(validator);
    at_location(py, uri, &storage_options, |location| {
        client::delete_where(location, &filter, &options, validator).map(commit_of_write)
    })
}

/// A commit as an object for Python.
pub(crate) fn commit_of_write(result: WriteResult) -> WrittenCommit {
    let WriteResult { committed, refused, warnings, attempts, schema_changes } = result;
    let errors =
        refused.errors.into_iter().map(|error| LeftOutRow { record_key: error.record_key, message: error.message });
    WrittenCommit {
        instant: committed.instant.to_string(),
        completion_time: committed.completion_time.map(|time| time.to_string()),
        operation: committed.operation.name(),
        files: committed.statuses.iter().map(file_of_commit).collect(),
        errors: errors.collect(),
        error_count: refused.total,
        warnings,
        attempts,
        schema_changes: schema_changes.into_iter().map(ColumnChange::new).collect(),
    }
}

fn file_of_commit(status: &WriteStatus) -> WrittenFile {
    let (path, file_bytes) = status.file.as_ref().map_or((None, 0), |file| (Some(file.path.clone()), file.bytes));
    WrittenFile {
        partition: status.partition.clone(),
        file_id: status.file_id.clone(),
        path,
        file_bytes,
        rows_written: status.writes,
        inserts: status.inserts,
        updates: status.updates,
        deletes: status.deletes,
    }
}
