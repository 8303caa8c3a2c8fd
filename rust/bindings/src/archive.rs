//! `archive`: moves old instants of a table to the archive.

use std::collections::BTreeMap;

use mortice::maintenance;
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};

/// An archived instant.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct ArchivedInstant {
    instant: String,
    completion_time: Option<String>,
    action: &'static str,
    files: Vec<(String, u64)>,
}

/// What archival did, or would do.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct ArchiveResult {
    instants: Vec<ArchivedInstant>,
    warnings: Vec<String>,
}

/// Archives old instants of a table.
#[pyfunction]
pub(crate) fn archive(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<ArchiveResult> {
    at_location(py, uri, &storage_options, |location| {
        let archive = if dry_run { maintenance::plan_archival } else { maintenance::run_archival };
        let result = archive(location, &options)?;
        let instants = result.archived.into_iter().map(|archived| ArchivedInstant {
            instant: archived.instant.requested_time.to_string(),
            completion_time: archived.instant.completion_time.map(|time| time.to_string()),
            action: archived.instant.action.name(),
            files: archived.files,
        });
        Ok(ArchiveResult { instants: instants.collect(), warnings: result.warnings })
    })
}
