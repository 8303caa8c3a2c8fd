//! `QueryPlan`: a query that is not planned yet; `Scan`: a planned query.

use std::sync::{Mutex, PoisonError};

use mortice::{IncrementalRows, QueryPlan as CoreQueryPlan, Scan as CoreScan};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList};

use crate::arrow::ArrowSchema;
use crate::arrow_in::ArrowInput;
use crate::errors::{raised, released};
use crate::plain_files::PlainFiles;
use crate::results::warn;
use crate::split::{KnownQueries, SharedQuery, Split, wrapped};
use crate::stream::Stream;

/// A query that is not planned yet.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct QueryPlan(pub(crate) CoreQueryPlan);

#[pymethods]
impl QueryPlan {
    fn schema(&self, py: Python<'_>) -> PyResult<ArrowSchema> {
        released(py, || self.0.schema()).map(ArrowSchema)
    }

    fn scan(&self, py: Python<'_>) -> PyResult<Scan> {
        let scan = released(py, || self.0.scan())?;
        warn(py, scan.warnings())?;
        Ok(Scan::new(scan))
    }
}

/// A planned query.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Scan {
    scan: CoreScan,
    /// The Python objects of the queries of its splits, by address: the same for every call of `splits`.
    queries: Mutex<KnownQueries>,
}

impl Scan {
    pub(crate) fn new(scan: CoreScan) -> Self {
        Self { scan, queries: Mutex::default() }
    }
}

#[pymethods]
impl Scan {
    /// Returns a scan that another process has planned; `columns` is Arrow data of its schema.
    #[staticmethod]
    fn from_splits(
        columns: &Bound<'_, PyAny>,
        query: &Bound<'_, SharedQuery>,
        splits: Vec<PyRef<'_, Split>>,
        description: String,
    ) -> PyResult<Self> {
        let schema = ArrowInput::from_python(columns)?.schema();
        let splits = splits.iter().map(|split| split.core().clone()).collect();
        Ok(Self::new(CoreScan::from_splits(schema, query.get().query(), splits, description)))
    }

    /// Returns what the splits share, as bytes.
    fn query_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.scan.query().to_bytes().map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn schema(&self) -> ArrowSchema {
        ArrowSchema(self.scan.schema())
    }

    fn without_columns(&self) -> Self {
        Self::new(self.scan.without_columns())
    }

    #[pyo3(signature = (max_split_bytes=None))]
    fn splits<'py>(&self, py: Python<'py>, max_split_bytes: Option<u64>) -> PyResult<Bound<'py, PyList>> {
        let divided = max_split_bytes.map(|most| self.scan.splits_within(most));
        let splits = divided.as_deref().unwrap_or(self.scan.splits());
        // Creating objects may run the garbage collector, which may let another thread run: that one waits without the
        // GIL.
        let mut queries = self.queries.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        wrapped(py, splits, &mut queries)
    }

    #[getter]
    fn split_count(&self) -> usize {
        self.scan.splits().len()
    }

    #[getter]
    fn size(&self) -> u64 {
        self.scan.bytes()
    }

    fn base_share(&self, py: Python<'_>) -> PyResult<f64> {
        released(py, || self.scan.base_share())
    }

    fn explain(&self) -> String {
        self.scan.explain()
    }

    fn plain_files(&self, py: Python<'_>) -> PyResult<PlainFiles> {
        PlainFiles::new(py, released(py, || self.scan.plain_files())?)
    }

    fn stream(&self) -> Stream {
        Stream::new(self.scan.stream())
    }
}

/// Returns the rows that an incremental query returns. A change log has deletes in any case.
pub(crate) fn incremental_rows(changelog: bool, emit_deletes: bool) -> IncrementalRows {
    match (changelog, emit_deletes) {
        (true, _) => IncrementalRows::Changelog,
        (false, true) => IncrementalRows::MergedWithDeletes,
        (false, false) => IncrementalRows::Merged,
    }
}
