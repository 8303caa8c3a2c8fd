//! `clean`: deletes the files of old slices of a table.

use std::collections::BTreeMap;

use mortice::services::{self, grouped};
use pyo3::prelude::*;

use crate::results::{fields_repr, result_class, visible, warn};
use crate::table::Table;

result_class! {
    /// A file that a clean deleted, or would delete.
    CleanedFile(path, bytes) {
        path: String,
        bytes: u64,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

result_class! {
    /// A clean that was completed, or that would be run.
    Clean(instant, files, partitions, earliest) {
        instant: Option<String>,
        files: Vec<CleanedFile>,
        partitions: Vec<String>,
        earliest: Option<String>,
    }
    repr = clean_repr;
}

result_class! {
    /// What cleaning did, or would do.
    CleanResult(cleans, reason=None) {
        cleans: Vec<Clean>,
        reason: Option<String>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

fn clean_repr(clean: &Bound<'_, Clean>) -> PyResult<String> {
    let (py, clean) = (clean.py(), clean.get());
    let size = clean.files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.bytes));
    let mut parts = vec![format!("{} files, {} bytes", grouped(clean.files.len()), grouped(size))];
    if !clean.partitions.is_empty() {
        parts.push(format!("{} partitions", grouped(clean.partitions.len())));
    }
    parts.extend(clean.earliest.iter().map(|earliest| format!("earliest {earliest}")));
    let instant = clean.instant.as_deref().unwrap_or("not run");
    visible(py, &format!("Clean({instant}: {})", parts.join("; ")))
}

#[pymethods]
impl Table {
    /// Completes pending cleans of a table, and runs a new one.
    fn clean(&self, py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<CleanResult> {
        cleaned(py, self.changed(py, |location| services::run_cleaning(location, &options))?)
    }

    /// What `clean` would do. Nothing is changed.
    fn plan_clean(&self, py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<CleanResult> {
        cleaned(py, self.planned(py, |location| services::plan_cleaning(location, &options))?)
    }
}

fn cleaned(py: Python<'_>, done: services::CleaningResult) -> PyResult<CleanResult> {
    warn(py, &done.warnings)?;
    Ok(CleanResult { cleans: done.cleans.into_iter().map(clean_of).collect(), reason: done.reason })
}

fn clean_of(clean: services::Clean) -> Clean {
    let services::Clean { instant, files, partitions, earliest } = clean;
    let files = files.into_iter().map(|file| CleanedFile { path: file.path, bytes: file.bytes }).collect();
    Clean { instant: instant.map(|instant| instant.to_string()), files, partitions, earliest }
}
