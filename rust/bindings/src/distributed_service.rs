//! `DistributedService`: services whose plans are executed in other processes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mortice::client::distributed::{DistributedService as Core, PlannedService};
use mortice::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{StorageArgument, at_location};
use crate::commit::{Commit, commit_of};
use crate::errors::{raised, released};

/// The driver's part of such a service.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct DistributedService(Mutex<Core>);

impl DistributedService {
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl DistributedService {
    #[new]
    fn new(
        py: Python<'_>,
        uri: &str,
        storage_options: StorageArgument,
        service: &str,
        options: BTreeMap<String, String>,
        parallelism: u32,
    ) -> PyResult<Self> {
        let unknown = || raised(py, &Error::invalid_argument(format!("no such service: {service}")));
        let service = PlannedService::from_name(service).ok_or_else(unknown)?;
        let core =
            at_location(py, uri, &storage_options, |location| Core::open(location, &options, service, parallelism))?;
        Ok(Self(Mutex::new(core)))
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.lock().warnings().to_vec()
    }

    fn schedule(&self, py: Python<'_>) -> PyResult<Option<String>> {
        released(py, || self.lock().schedule().map(|instant| instant.map(|instant| instant.to_string())))
    }

    fn find_pending(&self, py: Python<'_>) -> PyResult<usize> {
        released(py, || self.lock().find_pending())
    }

    fn begin_next<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyBytes>, u32)>> {
        let step = released(py, || self.lock().begin_next())?;
        Ok(step.map(|step| (PyBytes::new(py, &step.stage), step.tasks)))
    }

    fn commit(&self, py: Python<'_>, reports: Vec<Vec<u8>>) -> PyResult<Commit> {
        let committed = released(py, || self.lock().commit(&reports))?;
        commit_of(py, committed)
    }

    fn abort(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        released(py, || self.lock().abort(&Error::new(ErrorKind::Io, reason)))
    }
}
