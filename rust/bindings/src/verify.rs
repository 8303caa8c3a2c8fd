//! Verification and repair.

use std::collections::BTreeMap;

use mortice::Error;
use mortice::client::distributed;
use mortice::maintenance::{self, VerifyOptions, VerifyReport};
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};
use crate::task_runner::PythonRunner;
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
#[pyo3(signature = (uri, storage_options, *, contents, keys, spill_dir))]
pub(crate) fn verify(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    contents: bool,
    keys: Option<&str>,
    spill_dir: Option<String>,
) -> PyResult<VerifyResult> {
    at_location(py, uri, &storage_options, |location| {
        maintenance::verify(location, &verify_options(contents, keys, spill_dir)?).map(verified)
    })
}

/// The same, with keys that tasks of an engine read and compare.
#[pyfunction]
#[pyo3(signature = (uri, storage_options, runner, *, contents, keys, spill_dir))]
pub(crate) fn verify_by_tasks(
    uri: &str,
    storage_options: StorageArgument,
    runner: &Bound<'_, PyAny>,
    contents: bool,
    keys: Option<&str>,
    spill_dir: Option<String>,
) -> PyResult<VerifyResult> {
    let tasks = PythonRunner::new(runner)?;
    at_location(runner.py(), uri, &storage_options, |location| {
        let options = verify_options(contents, keys, spill_dir)?;
        distributed::verify_by_tasks(location, &options, &tasks).map(verified)
    })
}

fn verify_options(contents: bool, keys: Option<&str>, spill_dir: Option<String>) -> mortice::Result<VerifyOptions> {
    let (keys, global_keys) = match keys {
        None => (false, false),
        Some("partition") => (true, false),
        Some("table") => (true, true),
        Some(other) => {
            let message = format!("keys must be None, 'partition' or 'table', got {other:?}");
            return Err(Error::invalid_argument(message));
        }
    };
    Ok(VerifyOptions { contents, keys, global_keys, spill_dir })
}

fn verified(report: VerifyReport) -> VerifyResult {
    let VerifyReport { findings: found, pending, files, bytes, rows } = report;
    VerifyResult { findings: findings(found), pending, files, bytes, rows }
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
        let repair = if dry_run { maintenance::plan_repair } else { maintenance::run_repair };
        let maintenance::RepairResult { repaired, left } = repair(location, &options)?;
        Ok(RepairResult { repaired: findings(repaired), left: findings(left) })
    })
}

/// Buckets with several file groups that got one again, or would.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
pub(crate) struct MergedBuckets {
    buckets: Vec<Finding>,
    commit: Option<WrittenCommit>,
}

/// Makes one file group of those of each bucket that has several.
#[pyfunction]
pub(crate) fn merge_buckets(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<MergedBuckets> {
    at_location(py, uri, &storage_options, |location| {
        let merge = if dry_run { maintenance::plan_bucket_merge } else { maintenance::run_bucket_merge };
        let maintenance::BucketMergeResult { buckets, write } = merge(location, &options)?;
        Ok(MergedBuckets { buckets: findings(buckets), commit: write.map(commit_of_write) })
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
