//! `write`: rows of Arrow data, written to a table.

use std::collections::BTreeMap;

use mortice::client;
use mortice::client::WriteInput;
use mortice::timeline::WriteOperation;
use pyo3::prelude::*;

use crate::arguments::{FilterArgument, StorageArgument, at_location, filter};
use crate::arrow_in::ArrowInput;
use crate::commit::{Commit, commit_of_write};
use crate::errors::raised;
use crate::validator::validator as validator_of;

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
) -> PyResult<Commit> {
    let is_in_memory = is_in_memory(data)?;
    let mut rows = ArrowInput::from_python(data)?;
    let validator = validator_of(validator);
    let unknown = || mortice::Error::invalid_argument(format!("no such operation: {operation}"));
    let operation = WriteOperation::from_option(operation).ok_or_else(|| raised(py, &unknown()))?;
    let written = at_location(py, uri, &storage_options, |location| {
        let schema = rows.schema();
        let input = WriteInput { schema, batches: &mut rows, is_in_memory, options: &options, validator };
        match operation {
            WriteOperation::BulkInsert => client::bulk_insert(location, input),
            _ => client::write(location, operation, input),
        }
    })?;
    commit_of_write(py, written)
}

/// Whether an option names a property of the table, which the table keeps.
#[pyfunction]
pub(crate) fn is_table_property(py: Python<'_>, name: &str) -> PyResult<bool> {
    mortice::config::is_table_property(name).map_err(|error| raised(py, &error))
}

/// The value that an option of writes and services has if it is not given.
#[pyfunction]
pub(crate) fn option_default(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    mortice::config::default_of(name).map_err(|error| raised(py, &error))
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
) -> PyResult<Commit> {
    let validator = validator_of(validator);
    let written = at_location(py, uri, &storage_options, |location| {
        client::delete_partitions(location, &partitions, &options, validator)
    })?;
    commit_of_write(py, written)
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
) -> PyResult<Commit> {
    let filter = filter(py, filters)?;
    let validator = validator_of(validator);
    let written = at_location(py, uri, &storage_options, |location| {
        client::delete_where(location, &filter, &options, validator)
    })?;
    commit_of_write(py, written)
}
