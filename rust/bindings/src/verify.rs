//! Verification and repair.

use std::collections::BTreeMap;

use mortice::maintenance::{self, VerifyOptions, VerifyReport};
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};
use crate::write::{WrittenCommit, commit_of_write};

/// One thing that is wrong with a table.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct Finding {
    kind: &'static str,
    path: String,
    message: String,
    bytes: Option<u64>,
}

/// What a verification found.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct VerifyResult {
    findings: Vec<Finding>,
    pending: Vec<String>,
    files: u64,
    bytes: u64,
    rows: Option<u64>,
}

/// What was repaired, and what is wrong besides.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
#[derive(Clone)]
pub(crate) struct RepairResult {
    repaired: Vec<Finding>,
    left: Vec<Finding>,
}

/// Verifies a table.
#[pyfunction]
#[pyo3(signature = (uri, storage_options, *, contents, keys, global_keys))]
pub(crate) fn verify(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    contents: bool,
    keys: bool,
    global_keys: bool,
) -> PyResult<VerifyResult> {
    at_location(py, uri, &storage_options, |location| {
        let options = VerifyOptions { contents, keys, global_keys };
        let VerifyReport { findings: found, pending, files, bytes, rows } = maintenance::verify(location, options)?;
        Ok(VerifyResult { findings: findings(found), pending, files, bytes, rows })
    })
}

/// Repairs a table.
#[pyfunction]
pub(crate) fn repair(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<RepairResult> {
    at_location(py, uri, &storage_options, |location| {
        let maintenance::RepairResult { repaired, left } = maintenance::repair(location, &options, dry_run)?;
        Ok(RepairResult { repaired: findings(repaired), left: findings(left) })
    })
}

/// Makes one file group of those of each bucket that has several.
#[pyfunction]
pub(crate) fn merge_buckets(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
) -> PyResult<Option<WrittenCommit>> {
    at_location(py, uri, &storage_options, |location| {
        Ok(maintenance::merge_buckets(location, &options)?.map(commit_of_write))
    })
}

fn findings(found: Vec<maintenance::Finding>) -> Vec<Finding> {
    let finding = |one: maintenance::Finding| Finding {
        kind: one.kind.name(),
        path: one.path,
        message: one.message,
        bytes: one.bytes,
    };
    found.into_iter().map(finding).collect()
}
