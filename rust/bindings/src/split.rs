//! `Split`: one file slice of a query, complete in itself.

use mortice::Split as CoreSplit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrow::ArrowSchema;
use crate::errors::{raised, released};
use crate::merger::handle;
use crate::stream::Stream;

/// One file slice of a query.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Split(pub(crate) CoreSplit);

#[pymethods]
impl Split {
    #[staticmethod]
    #[pyo3(signature = (data, merger=None))]
    fn from_bytes(py: Python<'_>, data: &[u8], merger: Option<Py<PyAny>>) -> PyResult<Self> {
        let split = CoreSplit::from_bytes(data).map_err(|error| raised(py, &error))?;
        Ok(Self(CoreSplit { merger: handle(merger), ..split }))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.to_bytes().map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn schema(&self, py: Python<'_>) -> PyResult<ArrowSchema> {
        self.0.schema().map(ArrowSchema).map_err(|error| raised(py, &error))
    }

    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let slice = &self.0.slice;
        let dict = PyDict::new(py);
        dict.set_item("partition", &slice.partition)?;
        dict.set_item("file_id", &slice.file_id)?;
        dict.set_item("base_instant", &slice.base_instant)?;
        dict.set_item("bytes", self.0.bytes())?;
        dict.set_item("part", self.0.part.map(|part| (part.index, part.of)))?;
        dict.set_item("files", self.0.files())?;
        Ok(dict)
    }

    #[pyo3(signature = (start_row=0))]
    fn stream(&self, py: Python<'_>, start_row: u64) -> PyResult<Stream> {
        let split = self.0.clone();
        released(py, move || mortice::Stream::of_split(split, start_row)).map(Stream::new)
    }
}
