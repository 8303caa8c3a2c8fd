//! `archive`: moves old instants of a table to the archive.

use std::collections::BTreeMap;

use mortice::services::{Archival, TableAccess};
use mortice::storage;
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::errors::released;

/// An archived instant: requested time, completion time, action, files with their bytes.
type ArchivedInstant = (String, Option<String>, &'static str, Vec<(String, u64)>);

/// Archives old instants of a table. Returns them, and sentences on options without effect.
#[pyfunction]
pub(crate) fn archive(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<(Vec<ArchivedInstant>, Vec<String>)> {
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let (access, warnings) = TableAccess::open(uri, &storage, &options, "archive")?;
        let archival = Archival::new(&access)?;
        let result = if dry_run { archival.dry_run()? } else { archival.run()? };
        let archived = result.archived.into_iter().map(|archived| {
            let instant = archived.instant;
            let completed = instant.completion_time.map(|time| time.to_string());
            (instant.requested_time.to_string(), completed, instant.action.name(), archived.files)
        });
        Ok((archived.collect(), warnings))
    })
}
