//! `Split`: one file slice of a query, self-contained; `SharedQuery`: the common part of the splits of a query.

use std::collections::HashMap;
use std::sync::Arc;

use mortice::{MergerHandle, Query, Split as CoreSplit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::arrow::ArrowSchema;
use crate::errors::{raised, released};
use crate::merger::handle;
use crate::stream::Stream;

/// The common part of the splits of a query. All of them share one object, which is pickled once with them.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct SharedQuery {
    query: Arc<Query>,
    merger: Option<MergerHandle>,
}

impl SharedQuery {
    pub(crate) fn query(&self) -> Arc<Query> {
        Arc::clone(&self.query)
    }
}

#[pymethods]
impl SharedQuery {
    #[getter]
    fn credentials(&self) -> Option<&str> {
        self.query.storage.get(mortice::storage::CREDENTIALS).map(String::as_str)
    }

    #[staticmethod]
    #[pyo3(signature = (data, merger=None))]
    fn from_bytes(py: Python<'_>, data: &[u8], merger: Option<Py<PyAny>>) -> PyResult<Self> {
        let query = Query::from_bytes(data).map_err(|error| raised(py, &error))?;
        Ok(Self { query: Arc::new(query), merger: handle(merger) })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.query.to_bytes().map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// One file slice of a query.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Split {
    split: CoreSplit,
    query: Py<SharedQuery>,
}

impl Split {
    pub(crate) fn core(&self) -> &CoreSplit {
        &self.split
    }
}

#[pymethods]
impl Split {
    #[staticmethod]
    #[pyo3(signature = (data, merger=None))]
    fn from_bytes(py: Python<'_>, data: &[u8], merger: Option<Py<PyAny>>) -> PyResult<Self> {
        let split = CoreSplit::from_bytes(data).map_err(|error| raised(py, &error))?;
        let shared = SharedQuery { query: Arc::clone(&split.query), merger: handle(merger) };
        let merger = shared.merger.clone();
        Ok(Self { split: CoreSplit { merger, ..split }, query: Py::new(py, shared)? })
    }

    #[staticmethod]
    fn with_query(py: Python<'_>, query: Py<SharedQuery>, data: &[u8]) -> PyResult<Self> {
        let shared = query.get();
        let split = CoreSplit::with_query(&shared.query, data).map_err(|error| raised(py, &error))?;
        Ok(Self { split: CoreSplit { merger: shared.merger.clone(), ..split }, query })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.split.to_bytes().map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn to_bytes_without_query<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.split.to_bytes_without_query().map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn query(&self, py: Python<'_>) -> Py<SharedQuery> {
        self.query.clone_ref(py)
    }

    fn schema(&self, py: Python<'_>) -> PyResult<ArrowSchema> {
        self.split.schema().map(ArrowSchema).map_err(|error| raised(py, &error))
    }

    #[getter]
    fn partition(&self) -> &str {
        &self.split.slice.partition
    }

    #[getter]
    fn file_id(&self) -> &str {
        &self.split.slice.file_id
    }

    #[getter]
    fn size(&self) -> u64 {
        self.split.bytes()
    }

    #[getter]
    fn log_size(&self) -> u64 {
        self.split.log_bytes()
    }

    #[getter]
    fn part(&self) -> Option<(u32, u32)> {
        self.split.part.map(|part| (part.index, part.of))
    }

    #[pyo3(signature = (start_row=0))]
    fn stream(&self, py: Python<'_>, start_row: u64) -> PyResult<Stream> {
        let split = self.split.clone();
        released(py, move || mortice::Stream::from_split(split, start_row)).map(Stream::new)
    }
}

/// The Python objects of queries, by address. Each keeps its query alive, so that its address stays unique.
pub(crate) type KnownQueries = HashMap<usize, Py<SharedQuery>>;

/// Returns the Python objects of splits, which share their file slices with these. Those of one query share one
/// [`SharedQuery`].
pub(crate) fn wrapped<'py>(
    py: Python<'py>,
    splits: &[CoreSplit],
    known: &mut KnownQueries,
) -> PyResult<Bound<'py, PyList>> {
    let objects = PyList::empty(py);
    for split in splits {
        let address = Arc::as_ptr(&split.query).addr();
        let query = match known.get(&address) {
            Some(query) => query.clone_ref(py),
            None => {
                let shared = SharedQuery { query: Arc::clone(&split.query), merger: split.merger.clone() };
                let query = Py::new(py, shared)?;
                known.insert(address, query.clone_ref(py));
                query
            }
        };
        objects.append(Split { split: split.clone(), query })?;
    }
    Ok(objects)
}
