//! Rollback, savepoints and restore.

use std::collections::BTreeMap;

use mortice::services::{self, SavepointRequest};
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};
use crate::results::{fields_repr, result_class};

result_class! {
    /// An instant that was rolled back, or would be.
    RollbackResult(instant, action, state, rollback_instant, deleted, undone_logs) {
        instant: String,
        action: String,
        state: String,
        rollback_instant: Option<String>,
        deleted: Vec<(String, u64)>,
        undone_logs: Vec<(String, u64)>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// A savepoint that was made or deleted, or would be.
    SavepointResult(instant, completion_time, files) {
        instant: String,
        completion_time: Option<String>,
        files: BTreeMap<String, BTreeMap<String, u64>>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// A table that was restored, or would be.
    RestoreResult(instant, restore_instant, undone) {
        instant: String,
        restore_instant: Option<String>,
        undone: Vec<RollbackResult>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

/// Rolls an instant back.
#[pyfunction]
pub(crate) fn rollback(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    instant: &str,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<RollbackResult> {
    at_location(py, uri, &storage_options, |location| {
        let roll_back = if dry_run { services::plan_rollback } else { services::run_rollback };
        roll_back(location, instant, &options).map(undone)
    })
}

/// Makes a savepoint.
#[pyfunction]
#[pyo3(signature = (uri, storage_options, instant, options, *, user, comment, dry_run))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn create_savepoint(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    instant: &str,
    options: BTreeMap<String, String>,
    user: String,
    comment: String,
    dry_run: bool,
) -> PyResult<SavepointResult> {
    at_location(py, uri, &storage_options, |location| {
        let request = SavepointRequest { instant: instant.to_owned(), user, comment };
        let create = if dry_run { services::plan_savepoint } else { services::run_savepoint };
        create(location, &request, &options).map(savepoint_of)
    })
}

/// Deletes a savepoint, and returns it.
#[pyfunction]
pub(crate) fn delete_savepoint(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    instant: &str,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<SavepointResult> {
    at_location(py, uri, &storage_options, |location| {
        let delete = if dry_run { services::plan_savepoint_deletion } else { services::run_savepoint_deletion };
        delete(location, instant, &options).map(savepoint_of)
    })
}

/// Restores a table.
#[pyfunction]
pub(crate) fn restore(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    instant: &str,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<RestoreResult> {
    at_location(py, uri, &storage_options, |location| {
        let restore = if dry_run { services::plan_restore } else { services::run_restore };
        let services::RestoreResult { instant, restore, undone: all } = restore(location, instant, &options)?;
        Ok(RestoreResult {
            instant: instant.to_string(),
            restore_instant: restore.map(|time| time.to_string()),
            undone: all.into_iter().map(undone).collect(),
        })
    })
}

fn savepoint_of(savepoint: services::SavepointResult) -> SavepointResult {
    SavepointResult {
        instant: savepoint.instant.to_string(),
        completion_time: savepoint.completion_time.map(|time| time.to_string()),
        files: savepoint.files,
    }
}

fn undone(instant: services::RollbackResult) -> RollbackResult {
    RollbackResult {
        instant: instant.instant.to_string(),
        action: instant.action.name().to_owned(),
        state: instant.state.name().to_owned(),
        rollback_instant: instant.rollback.map(|time| time.to_string()),
        deleted: instant.deleted,
        undone_logs: instant.undone_logs,
    }
}
