//! `Stream`: record batches as they are read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::{ArrowError, SchemaRef};
use mortice::DamagedFile;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::arrow::{ArrowBatch, ArrowSchema};
use crate::errors::released;

/// Record batches being read. A C stream created from it continues at the same position.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Stream(Arc<Shared>, SchemaRef);

/// A stream shared by Python and a C stream.
struct Shared(Mutex<mortice::Stream>);

impl Drop for Shared {
    /// Reader threads are joined without the GIL: one of them may wait for it, to call a registered merger.
    fn drop(&mut self) {
        let stream = &mut self.0;
        let mut close = || stream.get_mut().unwrap_or_else(PoisonError::into_inner).close();
        if Python::try_attach(|py| py.detach(&mut close)).is_none() {
            close();
        }
    }
}

impl Stream {
    pub(crate) fn new(stream: mortice::Stream) -> Self {
        let schema = stream.schema();
        Self(Arc::new(Shared(Mutex::new(stream))), schema)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, mortice::Stream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Stream {
    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.1.clone())
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<ArrowBatch>> {
        let (batch, damaged) = released(py, || self.0.lock().next_with_damage())?;
        damaged.iter().try_for_each(|file| warn_of_damage(py, file))?;
        Ok(batch.map(ArrowBatch))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = Reader { stream: Arc::clone(&self.0), schema: self.1.clone() };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = py.detach(|| self.0.lock().report());
        let dict = PyDict::new(py);
        dict.set_item("files", report.files)?;
        dict.set_item("blocks", &report.blocks)?;
        let corrupt = report.corrupt.iter().map(|one| -> PyResult<Bound<'py, PyDict>> {
            let place = PyDict::new(py);
            place.set_item("file", &one.file)?;
            place.set_item("offset", one.offset)?;
            place.set_item("reason", &one.reason)?;
            Ok(place)
        });
        dict.set_item("corrupt", corrupt.collect::<PyResult<Vec<_>>>()?)?;
        let damaged = report.damaged.iter().map(|one| -> PyResult<Bound<'py, PyDict>> {
            let place = PyDict::new(py);
            place.set_item("file", &one.file)?;
            place.set_item("offset", one.offset)?;
            place.set_item("instant", one.instant.as_str())?;
            place.set_item("reason", &one.reason)?;
            Ok(place)
        });
        dict.set_item("damaged", damaged.collect::<PyResult<Vec<_>>>()?)?;
        for (name, count) in [
            ("rolled_back", report.rolled_back),
            ("uncommitted", report.uncommitted),
            ("records_read", report.records_read),
            ("records_won", report.records_won),
            ("passes", report.passes),
            ("slices_pruned", report.slices_pruned),
            ("row_groups_pruned", report.row_groups_pruned),
            ("base_rows", report.base_rows),
            ("rows", report.rows),
            ("list_requests", report.requests.list),
            ("open_requests", report.requests.open),
            ("read_requests", report.requests.read),
            ("peak_fetched_bytes", report.peak_fetched_bytes),
        ] {
            dict.set_item(name, count)?;
        }
        Ok(dict)
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.lock().close());
    }
}

/// The stream as an Arrow reader, which keeps the messages of errors.
struct Reader {
    stream: Arc<Shared>,
    schema: SchemaRef,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.stream.lock().next_with_damage();
        let (batch, damaged) = match next {
            Ok(next) => next,
            Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
        };
        if !damaged.is_empty() {
            // The consumer may have released the GIL, and cannot be called from here otherwise.
            let warn = |py: Python<'_>| damaged.iter().try_for_each(|file| warn_of_damage(py, file));
            if let Some(Err(raised)) = Python::try_attach(warn) {
                return Some(Err(ArrowError::ExternalError(Box::new(raised))));
            }
        }
        batch.map(Ok)
    }
}

/// Warns of a damaged file. A warning that the application turned into an error is returned.
pub(crate) fn warn_of_damage(py: Python<'_>, file: &DamagedFile) -> PyResult<()> {
    let warn = py.import("mortice.values.damage")?.getattr("warn_of_damage")?;
    warn.call1((&file.reason, &file.file, file.offset, file.instant.as_str())).map(drop)
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
