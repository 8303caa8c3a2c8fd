//! `clean`: deletes the files of old slices of a table.

use std::collections::BTreeMap;

use mortice::maintenance::{self, CleaningResult};
use mortice::services;
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
        let clean = if dry_run { maintenance::plan_cleaning } else { maintenance::run_cleaning };
        let CleaningResult { cleans, warnings } = clean(location, &options)?;
        Ok(CleanResult { cleans: cleans.into_iter().map(clean_of).collect(), warnings })
    })
}

fn clean_of(result: services::Clean) -> Clean {
    let services::Clean { instant, files, partitions, earliest } = result;
    let files = files.into_iter().map(|file| (file.path, file.bytes)).collect();
    Clean { instant: instant.map(|instant| instant.to_string()), files, partitions, earliest }
}
