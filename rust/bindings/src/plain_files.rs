//! `PlainFiles`: the files of a scan whose rows another Parquet reader returns, and a scan of all other rows.

use mortice::PlainFiles as CorePlainFiles;
use pyo3::prelude::*;

use crate::arrow::ArrowSchema;
use crate::scan::Scan;

/// The files of a scan whose rows another Parquet reader returns, and a scan of all other rows.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct PlainFiles {
    columns: ArrowSchema,
    #[pyo3(get)]
    paths: Vec<String>,
    #[pyo3(get)]
    condition: Option<String>,
    #[pyo3(get)]
    unbounded: Vec<String>,
    #[pyo3(get)]
    rest: Py<Scan>,
    description: String,
}

impl PlainFiles {
    pub(crate) fn new(py: Python<'_>, found: CorePlainFiles) -> PyResult<Self> {
        let description = found.explain();
        let CorePlainFiles { paths, columns, condition, unbounded, rest, .. } = found;
        Ok(Self {
            columns: ArrowSchema(columns),
            paths,
            condition,
            unbounded: unbounded.into_iter().collect(),
            rest: Py::new(py, Scan::new(rest))?,
            description,
        })
    }
}

#[pymethods]
impl PlainFiles {
    fn columns(&self) -> ArrowSchema {
        self.columns.clone()
    }

    fn explain(&self) -> &str {
        &self.description
    }
}
