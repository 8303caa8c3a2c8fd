//! Erasure of rows, and what tasks of an engine search with.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema};
use mortice::services::{
    self, ErasedValues as Core, ErasureReads, ErasureReport, ErasureRequest, ErasureWrites, LocalReads,
};
use mortice::{Error, ErrorKind, storage};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::arrow::ArrowBatch;
use crate::arrow_in::ArrowInput;
use crate::errors::{keep_raised, raised, released};
use crate::expression::one_batch;
use crate::filter::filter;
use crate::merger::handle;
use crate::results::{fields_repr, result_class};
use crate::table::Table;

result_class! {
    /// What `Table.erase` has done, or `Table.plan_erase` would do. It does not contain what was erased.
    Erasure(
        table, columns, rows, commits=Vec::new(), savepoints=BTreeMap::new(), started=None, finished=None,
        files_read=0, bytes_read=0, values_searched=0
    ) {
        table: String,
        columns: Vec<String>,
        rows: u64,
        commits: Vec<String>,
        savepoints: BTreeMap<String, u64>,
        started: Option<String>,
        finished: Option<String>,
        files_read: u64,
        bytes_read: u64,
        values_searched: u64,
    }
    repr = |one| fields_repr(one, Self::FIELDS);

    /// Returns the audit record as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let Self { table, columns, rows, commits, savepoints, started, finished, .. } = self.clone();
        let Self { files_read, bytes_read, values_searched, .. } = *self;
        let report = ErasureReport {
            table, columns, rows, commits, savepoints, started, finished, files_read, bytes_read, values_searched,
        };
        report.to_json().map_err(|error| raised(py, &error))
    }
}

fn erasure_of(report: ErasureReport) -> Erasure {
    let ErasureReport {
        table,
        columns,
        rows,
        commits,
        savepoints,
        started,
        finished,
        files_read,
        bytes_read,
        values_searched,
    } = report;
    Erasure { table, columns, rows, commits, savepoints, started, finished, files_read, bytes_read, values_searched }
}

#[pymethods]
impl Table {
    /// Erases the rows that filters select. `table` deletes, compacts, cleans and builds the metadata table, by the
    /// methods of `mortice.Table`; `tasks`, if given, do the first two, and read rows and files.
    #[pyo3(signature = (filters, options, table, *, tasks=None, merger=None))]
    fn erase(
        &self,
        filters: &Bound<'_, PyAny>,
        options: BTreeMap<String, String>,
        table: Py<PyAny>,
        tasks: Option<Py<PyAny>>,
        merger: Option<Py<PyAny>>,
    ) -> PyResult<Erasure> {
        let py = filters.py();
        let (filter, merger) = (filter(filters.extract()?), handle(merger));
        let (core, filters) = (self.core(), filters.clone().unbind());
        let by_tasks =
            tasks.as_ref().map(|tasks| TaskReads { tasks: tasks.clone_ref(py), filters: filters.clone_ref(py) });
        let writes = Writes { rows: tasks.unwrap_or_else(|| table.clone_ref(py)), table, filters };
        let request = ErasureRequest { filter: &filter, options: &options };
        let report = self.changed(py, |location| {
            let read = &core.opened().options;
            let local = LocalReads { location, options: read, filter: &filter, merger: merger.as_ref() };
            let reads: &dyn ErasureReads = match &by_tasks {
                None => &local,
                Some(tasks) => tasks,
            };
            services::run_erasure(location, &request, reads, &writes)
        })?;
        Ok(erasure_of(report))
    }

    /// What `erase` would do. Nothing is changed.
    #[pyo3(signature = (filters, *, merger=None))]
    fn plan_erase(&self, filters: &Bound<'_, PyAny>, merger: Option<Py<PyAny>>) -> PyResult<Erasure> {
        let py = filters.py();
        let (filter, merger, core) = (filter(filters.extract()?), handle(merger), self.core());
        let report = self.planned(py, |location| {
            let read = &core.opened().options;
            let reads = LocalReads { location, options: read, filter: &filter, merger: merger.as_ref() };
            services::plan_erasure(location, &filter, &reads)
        })?;
        Ok(erasure_of(report))
    }
}

/// Calls Python from the core. Its exception is raised by the call that has called the core.
fn called<T>(call: impl FnOnce(Python<'_>) -> PyResult<T>) -> mortice::Result<T> {
    Python::attach(call).map_err(|error| {
        let message = format!("the work of an erasure failed: {error}");
        keep_raised(error);
        Error::new(ErrorKind::Io, message)
    })
}

/// Changes by methods of Python's table, or of an engine.
struct Writes {
    rows: Py<PyAny>,
    table: Py<PyAny>,
    filters: Py<PyAny>,
}

impl ErasureWrites for Writes {
    fn delete(&self, options: &BTreeMap<String, String>) -> mortice::Result<()> {
        called(|py| self.rows.call_method1(py, "delete_where", (self.filters.clone_ref(py), options.clone())).map(drop))
    }

    fn compact(&self, options: &BTreeMap<String, String>) -> mortice::Result<()> {
        called(|py| self.rows.call_method1(py, "compact", (options.clone(),)).map(drop))
    }

    fn clean(&self, options: &BTreeMap<String, String>) -> mortice::Result<()> {
        called(|py| self.table.call_method1(py, "clean", (options.clone(),)).map(drop))
    }

    fn rebuild_metadata(&self, options: &BTreeMap<String, String>) -> mortice::Result<()> {
        called(|py| {
            let named = pyo3::types::PyDict::new(py);
            named.set_item("rebuild", true)?;
            self.table.call_method(py, "build_metadata", (options.clone(),), Some(&named)).map(drop)
        })
    }
}

/// Reads by tasks of an engine.
struct TaskReads {
    tasks: Py<PyAny>,
    filters: Py<PyAny>,
}

impl ErasureReads for TaskReads {
    fn count(&self, as_of: Option<&str>) -> mortice::Result<u64> {
        called(|py| self.tasks.call_method1(py, "count", (self.filters.clone_ref(py), as_of))?.extract(py))
    }

    fn count_unaided(&self) -> mortice::Result<u64> {
        called(|py| self.tasks.call_method1(py, "count_unaided", (self.filters.clone_ref(py),))?.extract(py))
    }

    fn values(&self, columns: &[String]) -> mortice::Result<Vec<(String, ArrayRef)>> {
        called(|py| {
            let found = self.tasks.call_method1(py, "values", (columns.to_vec(), self.filters.clone_ref(py)))?;
            named_columns(found.bind(py))
        })
    }

    fn shared(&self, column: &str, values: &ArrayRef) -> mortice::Result<Vec<ArrayRef>> {
        called(|py| {
            let values = batch_of(py, column, values)?;
            let found = self.tasks.call_method1(py, "shared", (column, values))?;
            Ok(named_columns(found.bind(py))?.into_iter().map(|(_, shared)| shared).collect())
        })
    }

    fn search(&self, files: &[(String, u64)], erased: &Core) -> mortice::Result<Vec<(String, String)>> {
        let erased = ErasedValues(Core::from_columns(erased.columns()?)?);
        called(|py| self.tasks.call_method1(py, "search", (files.to_vec(), erased))?.extract(py))
    }

    fn is_in_metadata(&self, erased: &Core) -> mortice::Result<bool> {
        let erased = ErasedValues(Core::from_columns(erased.columns()?)?);
        called(|py| self.tasks.call_method1(py, "is_in_metadata", (erased,))?.extract(py))
    }
}

fn batch_of(py: Python<'_>, name: &str, values: &ArrayRef) -> PyResult<ArrowBatch> {
    let schema = Schema::new(vec![Field::new(name, values.data_type().clone(), true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::clone(values)]);
    let unfit = |error: ArrowError| raised(py, &Error::internal("values are a column").caused_by(error));
    batch.map(ArrowBatch).map_err(unfit)
}

/// Returns the columns of batches.
fn named_columns(batches: &Bound<'_, PyAny>) -> PyResult<Vec<(String, ArrayRef)>> {
    let mut found = Vec::new();
    for batch in batches.try_iter()? {
        let batch = one_batch(&batch?)?;
        let names = batch.schema();
        found.extend(names.fields().iter().map(|field| field.name().clone()).zip(batch.columns().iter().cloned()));
    }
    Ok(found)
}

/// The values of erased rows, which files are searched for in tasks of an engine. It pickles.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct ErasedValues(Core);

#[pymethods]
impl ErasedValues {
    #[new]
    fn new(columns: &Bound<'_, PyAny>) -> PyResult<Self> {
        let named = named_columns(columns)?;
        released(columns.py(), || Core::from_columns(named)).map(Self)
    }

    /// Reads files of a table, by their paths within it. Returns those that have values, and how.
    fn search(&self, py: Python<'_>, uri: &str, paths: Vec<String>) -> PyResult<Vec<(String, String)>> {
        released(py, || {
            let store = storage::open_file_store(uri, &BTreeMap::new())?;
            services::search_files(store.as_ref(), paths.iter().map(String::as_str), &self.0)
        })
    }

    /// Whether strings and binary values of records contain a value.
    fn is_in(&self, records: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = records.py();
        let records = ArrowInput::from_python(records)?;
        released(py, || services::is_in_records(records, &self.0))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let record_batch = py.import("pyarrow")?.getattr("record_batch")?;
        let columns = slf.get().0.columns().map_err(|error| raised(py, &error))?;
        let batches = columns.iter().map(|(name, values)| record_batch.call1((batch_of(py, name, values)?,)));
        Ok((slf.get_type(), PyTuple::new(py, [batches.collect::<PyResult<Vec<_>>>()?])?))
    }
}

/// Returns the distinct values, without null, of each column of Arrow data, each in a batch.
#[pyfunction]
pub(crate) fn distinct_values(data: &Bound<'_, PyAny>) -> PyResult<Vec<ArrowBatch>> {
    let py = data.py();
    let rows = ArrowInput::from_python(data)?;
    let found = released(py, || services::distinct_values(rows))?;
    found.iter().map(|(name, values)| batch_of(py, name, values)).collect()
}
