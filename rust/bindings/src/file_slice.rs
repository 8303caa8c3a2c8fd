//! `FileSlice` and `DataFile`: the files of a table that a query reads.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::results::{fields_repr, result_class};

result_class! {
    /// One file of a file slice.
    DataFile(path, size) {
        path: String,
        size: u64,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// The files that contain the rows of one file group as of one instant.
    FileSlice(partition, file_id, base_instant, base_file, log_files) {
        partition: String,
        file_id: String,
        base_instant: String,
        base_file: Option<DataFile>,
        log_files: DataFiles,
    }
    repr = |one| fields_repr(one, Self::FIELDS);

    /// The size of all files, in bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.base_file.iter().chain(&self.log_files.0).map(|file| file.size).fold(0, u64::saturating_add)
    }
}

/// Files, as a tuple in Python.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct DataFiles(Vec<DataFile>);

impl<'py> IntoPyObject<'py> for DataFiles {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0)
    }
}

impl<'py> FromPyObject<'_, 'py> for DataFiles {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value.extract().map(Self)
    }
}

impl From<&mortice::FileSlice> for FileSlice {
    fn from(slice: &mortice::FileSlice) -> Self {
        let file = |path: &str, len: u64| DataFile { path: path.to_owned(), size: len };
        Self {
            partition: slice.partition.clone(),
            file_id: slice.file_id.clone(),
            base_instant: slice.base_instant.as_str().to_owned(),
            base_file: slice.base_file.as_ref().map(|base| file(&base.path, base.len)),
            log_files: DataFiles(slice.log_files.iter().map(|log| file(&log.path, log.len)).collect()),
        }
    }
}
