//! Writes of Arrow data to a table, and deletes of partitions and of rows that filters select.

use std::collections::BTreeMap;

use mortice::client;
use mortice::client::WriteInput;
use mortice::timeline::WriteOperation;
use pyo3::prelude::*;

use crate::arrow_in::ArrowInput;
use crate::commit::{Commit, commit_of_write};
use crate::errors::raised;
use crate::filter::{FilterArgument, filter};
use crate::table::Table;
use crate::validator::validator as validator_of;

#[pymethods]
impl Table {
    /// Updates the rows whose keys are in the table, and inserts the others.
    #[pyo3(signature = (data, options, validator=None))]
    fn upsert(
        &self,
        data: &Bound<'_, PyAny>,
        options: BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        self.write(WriteOperation::Upsert, data, &options, validator)
    }

    /// Inserts rows.
    #[pyo3(signature = (data, options, validator=None))]
    fn insert(
        &self,
        data: &Bound<'_, PyAny>,
        options: BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        self.write(WriteOperation::Insert, data, &options, validator)
    }

    /// Inserts rows into new file groups.
    #[pyo3(signature = (data, options, validator=None))]
    fn bulk_insert(
        &self,
        data: &Bound<'_, PyAny>,
        options: BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        self.write(WriteOperation::BulkInsert, data, &options, validator)
    }

    /// Replaces the partitions that the rows belong to.
    #[pyo3(signature = (data, options, validator=None))]
    fn insert_overwrite(
        &self,
        data: &Bound<'_, PyAny>,
        options: BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        self.write(WriteOperation::InsertOverwrite, data, &options, validator)
    }

    /// Replaces the content of the table.
    #[pyo3(signature = (data, options, validator=None))]
    fn insert_overwrite_table(
        &self,
        data: &Bound<'_, PyAny>,
        options: BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        self.write(WriteOperation::InsertOverwriteTable, data, &options, validator)
    }

    /// Deletes the keys of rows.
    #[pyo3(signature = (data, options, validator=None))]
    fn delete(
        &self,
        data: &Bound<'_, PyAny>,
        options: BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        self.write(WriteOperation::Delete, data, &options, validator)
    }

    /// Deletes partitions.
    #[pyo3(signature = (partitions, options, validator=None))]
    fn delete_partitions(
        &self,
        py: Python<'_>,
        partitions: Vec<String>,
        options: BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        let validator = validator_of(validator);
        let written =
            self.changed(py, |location| client::delete_partitions(location, &partitions, &options, validator))?;
        commit_of_write(py, written)
    }

    /// Deletes the rows that filters select.
    #[pyo3(signature = (filters, options, validator=None))]
    fn delete_where(
        &self,
        py: Python<'_>,
        filters: FilterArgument<'_>,
        options: BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        let (filter, validator) = (filter(filters), validator_of(validator));
        let written = self.changed(py, |location| client::delete_where(location, &filter, &options, validator))?;
        commit_of_write(py, written)
    }
}

impl Table {
    fn write(
        &self,
        operation: WriteOperation,
        data: &Bound<'_, PyAny>,
        options: &BTreeMap<String, String>,
        validator: Option<Py<PyAny>>,
    ) -> PyResult<Commit> {
        let is_in_memory = is_in_memory(data)?;
        let mut rows = ArrowInput::from_python(data)?;
        let validator = validator_of(validator);
        let written = self.changed(data.py(), |location| {
            let schema = rows.schema();
            let input = WriteInput { schema, batches: &mut rows, is_in_memory, options, validator };
            match operation {
                WriteOperation::BulkInsert => client::bulk_insert(location, input),
                _ => client::write(location, operation, input),
            }
        })?;
        commit_of_write(data.py(), written)
    }
}

/// Whether an option names a property of the table, which the table keeps.
#[pyfunction]
pub(crate) fn is_table_property(py: Python<'_>, name: &str) -> PyResult<bool> {
    mortice::config::is_table_property(name).map_err(|error| raised(py, &error))
}

/// Whether writes follow an option of Hudi, in every table.
#[pyfunction]
pub(crate) fn is_followed_option(py: Python<'_>, name: &str) -> PyResult<bool> {
    mortice::config::is_followed_option(name).map_err(|error| raised(py, &error))
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
