//! `clean`: deletes the files of old slices of a table.

use std::collections::BTreeMap;

use mortice::services::{self, Cleaning};
use mortice::writable_table::WritableTable;
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};

/// A clean: its files have their sizes; `earliest` is the earliest write that stays readable.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct Clean {
    instant: Option<String>,
    files: Vec<(String, u64)>,
    partitions: Vec<String>,
    earliest: Option<String>,
}

/// What cleaning did, or would do.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct CleanResult {
    cleans: Vec<Clean>,
    warnings: Vec<String>,
}

/// Completes pending cleans of a table, and runs a new one.
#[pyfunction]
pub(crate) fn clean(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<CleanResult> {
    at_location(py, uri, &storage_options, |location| {
        let target = WritableTable::open(location, &options, "clean")?;
        let cleaning = Cleaning::new(&target)?;
        let results = if dry_run { cleaning.dry_run()? } else { cleaning.run(false)? };
        Ok(CleanResult { cleans: results.into_iter().map(clean_of).collect(), warnings: target.warnings().to_vec() })
    })
}

fn clean_of(result: services::CleanResult) -> Clean {
    let services::CleanResult { instant, files, partitions, earliest } = result;
    let files = files.into_iter().map(|file| (file.path, file.bytes)).collect();
    Clean { instant: instant.map(|instant| instant.to_string()), files, partitions, earliest }
}
