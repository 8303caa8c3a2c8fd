//! `upgrade` and `downgrade`: bring a table to another version.

use std::collections::BTreeMap;

use mortice::services::{self, UpgradeRequest, VersionChange};
use pyo3::prelude::*;

use crate::results::{fields_repr, result_class, warn};
use crate::table::Table;

result_class! {
    /// What an upgrade or downgrade did, or would do.
    UpgradeResult(
        from_version, to_version, properties, rolled_back, compactions, log_files, timeline_files, archived_instants,
        rebuilt
    ) {
        from_version: u8,
        to_version: u8,
        properties: Vec<(String, Option<String>, Option<String>)>,
        rolled_back: Vec<String>,
        compactions: Vec<String>,
        log_files: u64,
        timeline_files: u64,
        archived_instants: u64,
        rebuilt: Vec<String>,
    }
    repr = |one| fields_repr(one, Self::FIELDS);
}

#[pymethods]
impl Table {
    /// Brings the table to a later version.
    fn upgrade(&self, py: Python<'_>, to: u8, options: BTreeMap<String, String>) -> PyResult<UpgradeResult> {
        let request = UpgradeRequest { change: VersionChange::Upgrade, to };
        result_of(py, self.changed(py, |location| services::run_upgrade(location, &request, &options))?)
    }

    /// What `upgrade` would do. Nothing is changed.
    fn plan_upgrade(&self, py: Python<'_>, to: u8, options: BTreeMap<String, String>) -> PyResult<UpgradeResult> {
        let request = UpgradeRequest { change: VersionChange::Upgrade, to };
        result_of(py, self.planned(py, |location| services::plan_upgrade(location, &request, &options))?)
    }

    /// Brings the table to an earlier version.
    fn downgrade(&self, py: Python<'_>, to: u8, options: BTreeMap<String, String>) -> PyResult<UpgradeResult> {
        let request = UpgradeRequest { change: VersionChange::Downgrade, to };
        result_of(py, self.changed(py, |location| services::run_upgrade(location, &request, &options))?)
    }

    /// What `downgrade` would do. Nothing is changed.
    fn plan_downgrade(&self, py: Python<'_>, to: u8, options: BTreeMap<String, String>) -> PyResult<UpgradeResult> {
        let request = UpgradeRequest { change: VersionChange::Downgrade, to };
        result_of(py, self.planned(py, |location| services::plan_upgrade(location, &request, &options))?)
    }
}

fn result_of(py: Python<'_>, done: services::UpgradeResult) -> PyResult<UpgradeResult> {
    warn(py, &done.warnings)?;
    let text = |instants: Vec<mortice::names::RequestedTime>| instants.iter().map(ToString::to_string).collect();
    Ok(UpgradeResult {
        from_version: done.from,
        to_version: done.to,
        properties: done.properties.into_iter().map(|one| (one.name, one.before, one.after)).collect(),
        rolled_back: text(done.rolled_back),
        compactions: text(done.compactions),
        log_files: done.log_files,
        timeline_files: done.timeline_files,
        archived_instants: done.archived,
        rebuilt: done.rebuilt,
    })
}
