//! Verification and repair.

use std::collections::BTreeMap;

use mortice::Error;
use mortice::client::distributed;
use mortice::services::{self, VerifyOptions, VerifyReport};
use pyo3::prelude::*;

use crate::arguments::{StorageArgument, at_location};
use crate::commit::{Commit, commit_of_write};
use crate::results::{fields_repr, grouped, result_class};
use crate::task_runner::PythonRunner;

result_class! {
    /// One thing that is wrong with a table.
    ///
    /// `kind` is `missing_file`, `wrong_length`, `unreadable_instant`, `undone_instant`, `unreadable_metadata_table`,
    /// `listed_not_stored`, `stored_not_listed`, `listed_length`, `listed_uncommitted`, `uncommitted_file`,
    /// `unaccounted_file`, `unreadable_file`, `unsupported_file`, `damaged_log`, `duplicate_key`, `duplicate_bucket`,
    /// `index_missing_key`, `index_wrong_location`, `index_stale_key`, `live_replaced_group`, `orphan_file`,
    /// `temporary_file`, `stale_markers` or `dead_heartbeat`.
    Finding(kind, path, message, bytes) {
        kind: String,
        path: String,
        message: String,
        bytes: Option<u64>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);

    /// What to do, in a few words; docs/writing.md has the rest.
    #[getter]
    fn remedy(&self) -> &'static str {
        services::remedy(&self.kind)
    }
}

result_class! {
    /// What a verification found.
    VerifyResult(findings, pending, files, bytes, rows) {
        findings: Vec<Finding>,
        pending: Vec<String>,
        files: u64,
        bytes: u64,
        rows: Option<u64>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);

    /// The findings as a table, for notebooks.
    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let markup = py.import("mortice.display.markup")?;
        let row = |one: &Finding| (one.kind.clone(), one.path.clone(), one.message.clone(), one.remedy());
        let rows: Vec<_> = self.findings.iter().map(row).collect();
        let size: String = markup.call_method1("byte_size", (self.bytes,))?.extract()?;
        let caption = format!("{} data files, {size}; {} findings", grouped(self.files), rows.len());
        markup.call_method1("grid", (["what", "path", "message", "what to do"], rows, caption))
    }
}

result_class! {
    /// What was repaired, or would be, and what is wrong besides.
    RepairResult(repaired, left, merged=None) {
        repaired: Vec<Finding>,
        left: Vec<Finding>,
        merged: Option<Commit>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
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
        services::verify(location, &verify_options(contents, keys, spill_dir)?).map(verified)
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
        let repair = if dry_run { services::plan_repair } else { services::run_repair };
        let services::RepairResult { repaired, left } = repair(location, &options)?;
        Ok(RepairResult { repaired: findings(repaired), left: findings(left), merged: None })
    })
}

/// Buckets with several file groups that got one again, or would.
#[pyclass(frozen, get_all, module = "mortice._mortice")]
pub(crate) struct MergedBuckets {
    buckets: Vec<Finding>,
    commit: Option<Commit>,
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
    let merge = if dry_run { services::plan_bucket_merge } else { services::run_bucket_merge };
    let services::BucketMergeResult { buckets, write } =
        at_location(py, uri, &storage_options, |location| merge(location, &options))?;
    let commit = write.map(|written| commit_of_write(py, written)).transpose()?;
    Ok(MergedBuckets { buckets: findings(buckets), commit })
}

fn findings(found: Vec<services::Finding>) -> Vec<Finding> {
    let finding = |one: services::Finding| Finding {
        kind: one.kind.name().to_owned(),
        path: one.path,
        message: one.message,
        bytes: one.bytes,
    };
    found.into_iter().map(finding).collect()
}
