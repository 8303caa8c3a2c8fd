//! Rollback, savepoints and restore.

use std::collections::BTreeMap;

use mortice::maintenance::{self, CreatedSavepoint, RestoredTable, SavepointNote, UndoneInstant};
use mortice::storage;
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::errors::released;

/// Paths with bytes.
type Files = Vec<(String, u64)>;
/// Requested time, action, state, requested time of the rollback, deleted files, logs with rollback blocks behind them.
type UndoneOfRollback = (String, &'static str, &'static str, Option<String>, Files, Files);
/// Requested time, requested time of the restore, the instants that were undone.
type RestoreOfTable = (String, Option<String>, Vec<UndoneOfRollback>);
/// Requested time, completion time, files by partition, with their bytes.
type SavepointOfTable = (String, Option<String>, BTreeMap<String, BTreeMap<String, u64>>);

/// Rolls an instant back.
#[pyfunction]
pub(crate) fn rollback(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    instant: &str,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<UndoneOfRollback> {
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        maintenance::rollback(uri, &storage, instant, &options, dry_run).map(undone)
    })
}

/// Makes a savepoint: the instant, the user and the comment.
#[pyfunction]
pub(crate) fn create_savepoint(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    savepoint: (String, String, String),
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<SavepointOfTable> {
    let (instant, user, comment) = savepoint;
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let note = SavepointNote { user, comment };
        let made = maintenance::create_savepoint(uri, &storage, &instant, &note, (&options, dry_run))?;
        Ok(savepoint_of(made))
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
) -> PyResult<SavepointOfTable> {
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        maintenance::delete_savepoint(uri, &storage, instant, &options, dry_run).map(savepoint_of)
    })
}

fn savepoint_of(savepoint: CreatedSavepoint) -> SavepointOfTable {
    let completed = savepoint.completion_time.map(|time| time.to_string());
    (savepoint.instant.to_string(), completed, savepoint.files)
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
) -> PyResult<RestoreOfTable> {
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let RestoredTable { instant, restore, undone: all } =
            maintenance::restore(uri, &storage, instant, &options, dry_run)?;
        Ok((instant.to_string(), restore.map(|time| time.to_string()), all.into_iter().map(undone).collect()))
    })
}

/// An instant that was undone, as a tuple for Python.
fn undone(instant: UndoneInstant) -> UndoneOfRollback {
    (
        instant.instant.to_string(),
        instant.action.name(),
        instant.state.name(),
        instant.rollback.map(|time| time.to_string()),
        instant.deleted,
        instant.undone_logs,
    )
}
