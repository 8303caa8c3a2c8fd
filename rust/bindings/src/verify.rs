//! Verification and repair.

use std::collections::BTreeMap;

use mortice::client::distributed;
use mortice::services::{self, BucketMergeResult, VerifyOptions, VerifyReport, grouped};
use pyo3::prelude::*;

use crate::commit::{Commit, commit_of_write};
use crate::results::{fields_repr, result_class};
use crate::table::Table;
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

    /// What to do, in a few words; docs/recovery.md has the rest.
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

#[pymethods]
impl Table {
    /// Verifies the table. With a runner, tasks of an engine read the keys and compare them.
    #[pyo3(signature = (*, contents, keys, global_keys, runner=None))]
    fn verify(
        &self,
        py: Python<'_>,
        contents: bool,
        keys: bool,
        global_keys: bool,
        runner: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<VerifyResult> {
        let spill_dir = self.core().opened().options.spill_dir.clone();
        let options = VerifyOptions { contents, keys: keys || global_keys, global_keys, spill_dir };
        let tasks = runner.map(PythonRunner::new).transpose()?;
        let report = self.planned(py, |location| match &tasks {
            None => services::verify(location, &options),
            Some(tasks) => distributed::verify_by_tasks(location, &options, tasks),
        })?;
        let VerifyReport { findings: found, pending, files, bytes, rows } = report;
        Ok(VerifyResult { findings: findings(found), pending, files, bytes, rows })
    }

    /// Repairs the table; with `merge_buckets` makes one file group of those of each bucket that has several, before.
    fn repair(&self, py: Python<'_>, options: BTreeMap<String, String>, merge_buckets: bool) -> PyResult<RepairResult> {
        let (merged, done) = self.changed(py, |location| {
            let merged = merge_buckets.then(|| services::run_bucket_merge(location, &options)).transpose()?;
            Ok((merged, services::run_repair(location, &options)?))
        })?;
        repaired(py, merged, done)
    }

    /// What `repair` would do. Nothing is changed.
    fn plan_repair(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        merge_buckets: bool,
    ) -> PyResult<RepairResult> {
        let (merged, plan) = self.planned(py, |location| {
            let merged = merge_buckets.then(|| services::plan_bucket_merge(location, &options)).transpose()?;
            Ok((merged, services::plan_repair(location, &options)?))
        })?;
        repaired(py, merged, plan)
    }
}

/// Returns what was merged and repaired. What is left does not name the merged buckets again.
fn repaired(py: Python<'_>, merged: Option<BucketMergeResult>, done: services::RepairResult) -> PyResult<RepairResult> {
    let (buckets, written) = merged.map_or_else(Default::default, |merged| (merged.buckets, merged.write));
    let mut repaired = findings(buckets);
    let left = findings(done.left).into_iter().filter(|one| !repaired.contains(one)).collect();
    repaired.extend(findings(done.repaired));
    let merged = written.map(|written| commit_of_write(py, written)).transpose()?;
    Ok(RepairResult { repaired, left, merged })
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
