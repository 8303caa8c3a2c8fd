//! Mergers that are Python functions: called for many keys at once, with Arrow batches.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use mortice::merge::fold::RowMerger;
use mortice::{Error, MergerHandle};
use pyo3::prelude::*;

use crate::arrow::ArrowBatch;
use crate::arrow_in::ArrowInput;

/// A Python function of two batches that returns one: the merged rows, followed by a column that selects the kept ones
/// (`mortice.reading.mergers.Merging`).
pub(crate) struct PythonMerger(Py<PyAny>);

/// Returns the merger of a Python function, if there is one.
pub(crate) fn handle(function: Option<Py<PyAny>>) -> Option<MergerHandle> {
    function.map(|function| MergerHandle(Arc::new(PythonMerger(function))))
}

impl RowMerger for PythonMerger {
    fn merge(&self, older: &RecordBatch, newer: &RecordBatch) -> mortice::Result<(RecordBatch, BooleanArray)> {
        let merged = Python::attach(|py| self.called(py, older, newer).map_err(|error| failed(py, &error)))?;
        let Some((keep, columns)) = merged.columns().split_last() else {
            return Err(Error::invalid_argument("a registered merger gave no columns"));
        };
        let Some(keep) = keep.as_boolean_opt() else {
            return Err(Error::invalid_argument("a registered merger gave no mask of booleans"));
        };
        let rows = merged.project(&(0..columns.len()).collect::<Vec<_>>());
        let rows = rows.map_err(|error| Error::invalid_argument("the rows of a merger").caused_by(error))?;
        Ok((rows, keep.clone()))
    }
}

impl PythonMerger {
    fn called(&self, py: Python<'_>, older: &RecordBatch, newer: &RecordBatch) -> PyResult<RecordBatch> {
        let merged = self.0.bind(py).call1((ArrowBatch(older.clone()), ArrowBatch(newer.clone())))?;
        let mut batches = ArrowInput::from_python(&merged)?;
        let schema = batches.schema();
        match batches.next() {
            Some(batch) => batch.map_err(|error| crate::errors::raised(py, &error)),
            None => Ok(RecordBatch::new_empty(schema)),
        }
    }
}

/// Describes the exception of a function, with its type: the error may be raised in another thread or process.
fn failed(py: Python<'_>, error: &PyErr) -> Error {
    let text = error.value(py).to_string();
    let class = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    Error::invalid_argument(format!("a registered merger failed: {class}: {text}"))
}
