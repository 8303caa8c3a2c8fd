//! `run_service_by_tasks`: services whose plans are executed in other processes.

use std::collections::BTreeMap;

use mortice::Error;
use mortice::client::distributed::{self, PlannedService};
use mortice::services::ServiceRequest;
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};
use crate::commit::{Commit, commit_of};
use crate::errors::raised;
use crate::results::warn;
use crate::task_runner::PythonRunner;

/// Plans a service (`compact`, `log_compact`, `cluster`), if it is due, and executes what is pending. Returns the
/// requested time of the plan, and the commits.
#[pyfunction]
#[pyo3(signature = (uri, storage_options, service, options, runner, *, schedule, run))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn run_service_by_tasks(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    service: &str,
    options: BTreeMap<String, String>,
    runner: &Bound<'_, PyAny>,
    schedule: bool,
    run: bool,
) -> PyResult<(Option<String>, Vec<Commit>)> {
    let unknown = || raised(py, &Error::invalid_argument(format!("no such service: {service}")));
    let service = PlannedService::from_name(service).ok_or_else(unknown)?;
    let (runner, request) = (PythonRunner::new(runner)?, ServiceRequest { schedule, run });
    let done = at_location(py, uri, &storage_options, |location| {
        distributed::run_service_by_tasks(location, service, request, &options, &runner)
    })?;
    warn(py, &done.warnings)?;
    let commits = done.committed.into_iter().map(|committed| commit_of(py, committed)).collect::<PyResult<_>>()?;
    Ok((done.scheduled.map(|instant| instant.to_string()), commits))
}
