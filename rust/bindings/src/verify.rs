//! Verification and repair.

use std::collections::BTreeMap;

use mortice::maintenance::{self, Finding, RepairResult, VerifyOptions, VerifyReport};
use mortice::storage;
use pyo3::prelude::*;

use crate::arguments::StorageArgument;
use crate::errors::released;

/// Kind, path, message, bytes.
type FindingOfTable = (&'static str, String, String, Option<u64>);
/// Findings, pending writes, files, bytes, rows.
type ReportOfTable = (Vec<FindingOfTable>, Vec<String>, u64, u64, Option<u64>);

/// Verifies a table: `checks` are contents, keys within partitions, keys of the whole table.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    checks: (bool, bool, bool),
) -> PyResult<ReportOfTable> {
    let (contents, keys, global_keys) = checks;
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let options = VerifyOptions { contents, keys, global_keys };
        let VerifyReport { findings: found, pending, files, bytes, rows } =
            maintenance::verify(uri, &storage, options)?;
        Ok((findings(found), pending, files, bytes, rows))
    })
}

/// Repairs a table. Returns what was repaired, and what is left.
#[pyfunction]
pub(crate) fn repair(
    py: Python<'_>,
    uri: &str,
    storage_options: StorageArgument,
    options: BTreeMap<String, String>,
    dry_run: bool,
) -> PyResult<(Vec<FindingOfTable>, Vec<FindingOfTable>)> {
    released(py, || {
        let storage = storage::needed_options(uri, &storage_options)?;
        let RepairResult { repaired, left } = maintenance::repair(uri, &storage, &options, dry_run)?;
        Ok((findings(repaired), findings(left)))
    })
}

fn findings(found: Vec<Finding>) -> Vec<FindingOfTable> {
    found.into_iter().map(|one| (one.kind.name(), one.path, one.message, one.bytes)).collect()
}
