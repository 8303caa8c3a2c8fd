//! Rollback, savepoints and restore.

use std::collections::BTreeMap;

use mortice::maintenance::{self, CreatedSavepoint, RestoredTable, SavepointNote, UndoneInstant};
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};

/// An instant that was rolled back, or would be. Files have their bytes.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct RollbackResult {
    instant: String,
    action: &'static str,
    state: &'static str,
    rollback_instant: Option<String>,
    deleted: Vec<(String, u64)>,
    undone_logs: Vec<(String, u64)>,
}

/// A savepoint that was made or deleted, or would be: its files by partition, with their bytes.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct SavepointResult {
    instant: String,
    completion_time: Option<String>,
    files: BTreeMap<String, BTreeMap<String, u64>>,
}

/// A table that was restored, or would be.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct RestoreResult {
    instant: String,
    restore_instant: Option<String>,
    undone: Vec<RollbackResult>,
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
        maintenance::rollback(location, instant, &options, dry_run).map(undone)
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
        let note = SavepointNote { user, comment };
        maintenance::create_savepoint(location, instant, &note, (&options, dry_run)).map(savepoint_of)
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
        maintenance::delete_savepoint(location, instant, &options, dry_run).map(savepoint_of)
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
        let RestoredTable { instant, restore, undone: all } =
            maintenance::restore(location, instant, &options, dry_run)?;
        Ok(RestoreResult {
            instant: instant.to_string(),
            restore_instant: restore.map(|time| time.to_string()),
            undone: all.into_iter().map(undone).collect(),
        })
    })
}

fn savepoint_of(savepoint: CreatedSavepoint) -> SavepointResult {
    SavepointResult {
        instant: savepoint.instant.to_string(),
        completion_time: savepoint.completion_time.map(|time| time.to_string()),
        files: savepoint.files,
    }
}

fn undone(instant: UndoneInstant) -> RollbackResult {
    RollbackResult {
        instant: instant.instant.to_string(),
        action: instant.action.name(),
        state: instant.state.name(),
        rollback_instant: instant.rollback.map(|time| time.to_string()),
        deleted: instant.deleted,
        undone_logs: instant.undone_logs,
    }
}
