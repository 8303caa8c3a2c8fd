//! `archive`: moves old instants of a table to the archive.

use std::collections::BTreeMap;

use mortice::services;
use pyo3::prelude::*;

use crate::results::{fields_repr, result_class, warn};
use crate::table::Table;

result_class! {
    /// An instant that was archived, or would be.
    ArchivedInstant(instant, completion_time, action, files) {
        instant: String,
        completion_time: Option<String>,
        action: String,
        files: Vec<(String, u64)>,
    }
    repr = |one| fields_repr(one, &["instant", "completion_time", "action"]);
}

result_class! {
    /// What archival did, or would do.
    ArchiveResult(instants) {
        instants: Vec<ArchivedInstant>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

#[pymethods]
impl Table {
    /// Archives old instants.
    fn archive(&self, py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<ArchiveResult> {
        archived(py, self.changed(py, |location| services::run_archival(location, &options))?)
    }

    /// What `archive` would do. Nothing is changed.
    fn plan_archive(&self, py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<ArchiveResult> {
        archived(py, self.planned(py, |location| services::plan_archival(location, &options))?)
    }
}

fn archived(py: Python<'_>, done: services::ArchivalResult) -> PyResult<ArchiveResult> {
    warn(py, &done.warnings)?;
    let instants = done.archived.into_iter().map(|archived| ArchivedInstant {
        instant: archived.instant.requested_time.to_string(),
        completion_time: archived.instant.completion_time.map(|time| time.to_string()),
        action: archived.instant.action.name().to_owned(),
        files: archived.files,
    });
    Ok(ArchiveResult { instants: instants.collect() })
}
