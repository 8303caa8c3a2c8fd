//! `clean`: deletes the files of old slices of a table.

use std::collections::BTreeMap;

use mortice::services::{CleanResult, Cleaning, TableAccess};
use mortice::storage;
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::errors::released;

/// A clean: requested time, files with their sizes, partitions that were deleted, the earliest write that stays
/// readable.
type CleanOfTable = (Option<String>, Vec<(String, u64)>, Vec<String>, Option<String>);

/// Completes pending cleans of a table, and runs a new one. Returns them, and sentences on options without effect.
#[pyfunction]
pub(crate) fn clean(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<(Vec<CleanOfTable>, Vec<String>)> {
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let (access, warnings) = TableAccess::open(uri, &storage, &options, "clean")?;
        let cleaning = Cleaning::new(&access)?;
        let results = if dry_run { cleaning.dry_run()? } else { cleaning.run(false)? };
        Ok((results.into_iter().map(clean_of_table).collect(), warnings))
    })
}

fn clean_of_table(result: CleanResult) -> CleanOfTable {
    let CleanResult { instant, files, partitions, earliest } = result;
    let files = files.into_iter().map(|file| (file.path, file.bytes)).collect();
    (instant.map(|instant| instant.to_string()), files, partitions, earliest)
}
