//! `archive`: moves old instants of a table to the archive.

use std::collections::BTreeMap;

use mortice::services::{Archival, TableAccess};
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, with_storage};

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
    with_storage(py, uri, &storage_options, |storage| {
        let (access, warnings) = TableAccess::open(uri, storage, &options, "archive")?;
        let archival = Archival::new(&access)?;
        let result = if dry_run { archival.dry_run()? } else { archival.run()? };
        let instants = result.archived.into_iter().map(|archived| ArchivedInstant {
            instant: archived.instant.requested_time.to_string(),
            completion_time: archived.instant.completion_time.map(|time| time.to_string()),
            action: archived.instant.action.name(),
            files: archived.files,
        });
        Ok(ArchiveResult { instants: instants.collect(), warnings })
    })
}
