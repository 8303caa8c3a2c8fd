//! `archive`: moves old instants of a table to the archive.

use std::collections::BTreeMap;

use mortice::services;
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};
use crate::results::{fields_repr, result_class, warn};

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

/// Archives old instants of a table.
#[pyfunction]
pub(crate) fn archive(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<ArchiveResult> {
    let archive = if dry_run { services::plan_archival } else { services::run_archival };
    let done = at_location(py, uri, &storage_options, |location| archive(location, &options))?;
    warn(py, &done.warnings)?;
    let instants = done.archived.into_iter().map(|archived| ArchivedInstant {
        instant: archived.instant.requested_time.to_string(),
        completion_time: archived.instant.completion_time.map(|time| time.to_string()),
        action: archived.instant.action.name().to_owned(),
        files: archived.files,
    });
    Ok(ArchiveResult { instants: instants.collect() })
}
