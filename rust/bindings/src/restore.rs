//! Rollback, savepoints and restore.

use std::collections::BTreeMap;

use mortice::Error;
use mortice::services::{self, SavepointRequest};
use pyo3::prelude::*;

use crate::errors::raised;
use crate::results::{fields_repr, result_class};
use crate::table::Table;

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

#[pymethods]
impl Table {
    /// Rolls an instant back.
    fn rollback(&self, py: Python<'_>, instant: &str, options: BTreeMap<String, String>) -> PyResult<RollbackResult> {
        self.changed(py, |location| services::run_rollback(location, instant, &options)).map(undone)
    }

    /// What `rollback` would do. Nothing is changed.
    fn plan_rollback(
        &self,
        py: Python<'_>,
        instant: &str,
        options: BTreeMap<String, String>,
    ) -> PyResult<RollbackResult> {
        self.planned(py, |location| services::plan_rollback(location, instant, &options)).map(undone)
    }

    /// Makes a savepoint; without an instant, of the latest completed write that the table shows.
    #[pyo3(signature = (instant, options, *, user, comment))]
    fn savepoint(
        &self,
        py: Python<'_>,
        instant: Option<String>,
        options: BTreeMap<String, String>,
        user: String,
        comment: String,
    ) -> PyResult<SavepointResult> {
        let request = SavepointRequest { instant: self.or_latest_write(py, instant)?, user, comment };
        self.changed(py, |location| services::run_savepoint(location, &request, &options)).map(savepoint_of)
    }

    /// What `savepoint` would keep. Nothing is changed.
    fn plan_savepoint(
        &self,
        py: Python<'_>,
        instant: Option<String>,
        options: BTreeMap<String, String>,
    ) -> PyResult<SavepointResult> {
        let instant = self.or_latest_write(py, instant)?;
        let request = SavepointRequest { instant, user: String::new(), comment: String::new() };
        self.planned(py, |location| services::plan_savepoint(location, &request, &options)).map(savepoint_of)
    }

    /// Deletes a savepoint, and returns it.
    fn delete_savepoint(
        &self,
        py: Python<'_>,
        instant: &str,
        options: BTreeMap<String, String>,
    ) -> PyResult<SavepointResult> {
        self.changed(py, |location| services::run_savepoint_deletion(location, instant, &options)).map(savepoint_of)
    }

    /// What `delete_savepoint` would delete. Nothing is changed.
    fn plan_delete_savepoint(
        &self,
        py: Python<'_>,
        instant: &str,
        options: BTreeMap<String, String>,
    ) -> PyResult<SavepointResult> {
        self.planned(py, |location| services::plan_savepoint_deletion(location, instant, &options)).map(savepoint_of)
    }

    /// Restores a table.
    fn restore(&self, py: Python<'_>, instant: &str, options: BTreeMap<String, String>) -> PyResult<RestoreResult> {
        self.changed(py, |location| services::run_restore(location, instant, &options)).map(restored)
    }

    /// What `restore` would do. Nothing is changed.
    fn plan_restore(
        &self,
        py: Python<'_>,
        instant: &str,
        options: BTreeMap<String, String>,
    ) -> PyResult<RestoreResult> {
        self.planned(py, |location| services::plan_restore(location, instant, &options)).map(restored)
    }
}

impl Table {
    fn or_latest_write(&self, py: Python<'_>, instant: Option<String>) -> PyResult<String> {
        let none = || {
            let message = "the table has no completed write yet, of which a savepoint could be made";
            raised(py, &Error::invalid_argument(message))
        };
        let latest = || {
            let table = self.seen(py)?;
            let write = table.timeline().instants().iter().rfind(|one| one.is_completed_write());
            write.map(|write| write.requested_time.to_string()).ok_or_else(none)
        };
        instant.map_or_else(latest, Ok)
    }
}

fn restored(done: services::RestoreResult) -> RestoreResult {
    RestoreResult {
        instant: done.instant.to_string(),
        restore_instant: done.restore.map(|time| time.to_string()),
        undone: done.undone.into_iter().map(undone).collect(),
    }
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
