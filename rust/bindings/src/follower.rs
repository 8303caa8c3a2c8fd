//! `Follower`: commits in the order of their completion.

use std::sync::{Mutex, PoisonError};

use mortice::QueryOptions;
use pyo3::prelude::*;

use crate::errors::released;
use crate::filter::{FilterArgument, filter};
use crate::merger::handle;
use crate::scan::{Scan, incremental_rows};

/// The position in a table's commits, and the following commits.
#[pyclass(frozen, module = "mortice._mortice")]
pub(crate) struct Follower(Mutex<mortice::Follower>);

impl Follower {
    pub(crate) fn new(follower: mortice::Follower) -> Self {
        Self(Mutex::new(follower))
    }
}

#[pymethods]
impl Follower {
    fn position(&self, py: Python<'_>) -> Option<String> {
        let position = || self.0.lock().unwrap_or_else(PoisonError::into_inner).position().map(ToString::to_string);
        py.detach(position)
    }

    fn layout(&self, py: Python<'_>) -> u8 {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).layout())
    }

    fn peek(&self, py: Python<'_>) -> PyResult<Option<(String, u64, bool)>> {
        let step = released(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).peek())?;
        Ok(step.map(|step| (step.position.into(), step.bytes, step.is_service)))
    }

    fn advance(&self, py: Python<'_>) {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).pass());
    }

    #[allow(clippy::too_many_arguments)]
    fn next(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filters: FilterArgument<'_>,
        merger: Option<Py<PyAny>>,
        changelog: bool,
        emit_deletes: bool,
    ) -> PyResult<Option<(String, Scan)>> {
        let merger = handle(merger);
        let options = QueryOptions { columns, filter: filter(filters), merger };
        let rows = incremental_rows(changelog, emit_deletes);
        let next = released(py, || {
            let mut follower = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            follower.next(&options, rows)
        })?;
        Ok(next.map(|(instant, scan)| (instant.into(), Scan::new(scan))))
    }
}
