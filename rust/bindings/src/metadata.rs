//! The metadata table: built, changed, deleted. The progress of services.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use mortice::client::distributed;
use mortice::progress::Progress;
use mortice::services::{self, MetadataBuildRequest, MetadataBuildResult};
use mortice::writable_table::TableLocation;
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};
use crate::results::{fields_repr, result_class, warn};
use crate::task_runner::PythonRunner;

result_class! {
    /// What was done with a metadata table, or would be.
    MetadataResult(partitions, added, dropped, files, bytes, deleted) {
        partitions: Vec<String>,
        added: Vec<String>,
        dropped: Vec<String>,
        files: u64,
        bytes: u64,
        deleted: Vec<(String, u64)>,
    }
    repr = |one| fields_repr(one, &["partitions", "added", "dropped", "files", "bytes"]);
}

/// Changes the metadata table of a table, or says what would be done.
#[pyfunction]
#[pyo3(signature = (uri, storage_options, options, *, add, drop, rebuild, dry_run))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn build_metadata(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    add: Vec<String>,
    drop: Vec<String>,
    rebuild: bool,
    dry_run: bool,
) -> PyResult<MetadataResult> {
    let request = MetadataBuildRequest { added: add, dropped: drop, rebuilds: rebuild, deletes: false };
    let built = at_location(py, uri, &storage_options, |location| changed(location, &request, &options, dry_run))?;
    result_of(py, built)
}

/// Changes the metadata table of a table; tasks of an engine read the keys of a record index and write its base files.
#[pyfunction]
#[pyo3(signature = (uri, storage_options, options, runner, *, add, drop, rebuild))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn build_metadata_by_tasks(
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    runner: &Bound<'_, PyAny>,
    add: Vec<String>,
    drop: Vec<String>,
    rebuild: bool,
) -> PyResult<MetadataResult> {
    let request = MetadataBuildRequest { added: add, dropped: drop, rebuilds: rebuild, deletes: false };
    let tasks = Arc::new(PythonRunner::new(runner)?);
    let built = at_location(runner.py(), uri, &storage_options, |location| {
        distributed::build_metadata_by_tasks(location, &request, &options, tasks)
    })?;
    result_of(runner.py(), built)
}

/// Deletes the metadata table of a table, or says what would be deleted.
#[pyfunction]
#[pyo3(signature = (uri, storage_options, options, *, dry_run))]
pub(crate) fn delete_metadata(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<MetadataResult> {
    let request = MetadataBuildRequest { added: Vec::new(), dropped: Vec::new(), rebuilds: false, deletes: true };
    let built = at_location(py, uri, &storage_options, |location| changed(location, &request, &options, dry_run))?;
    result_of(py, built)
}

fn changed(
    location: &TableLocation,
    request: &MetadataBuildRequest,
    options: &BTreeMap<String, String>,
    dry_run: bool,
) -> mortice::Result<MetadataBuildResult> {
    let build = if dry_run { services::plan_metadata_build } else { services::run_metadata_build };
    build(location, request, options)
}

fn result_of(py: Python<'_>, built: MetadataBuildResult) -> PyResult<MetadataResult> {
    let MetadataBuildResult { partitions, added, dropped, files, bytes, deleted, warnings } = built;
    warn(py, &warnings)?;
    Ok(MetadataResult { partitions, added, dropped, files, bytes, deleted })
}

/// The progress of all services that are run through this module: a command runs one.
static SERVICES: LazyLock<Progress> = LazyLock::new(Progress::default);

/// What services are given to tell how much is done.
pub(crate) fn progress_of_services() -> Progress {
    SERVICES.clone()
}

/// How much of the service that this process runs is done, and of how much.
#[pyfunction]
pub(crate) fn service_progress() -> (u64, u64) {
    SERVICES.current()
}
