//! The metadata table: built, changed, deleted. The progress of services.

use std::collections::BTreeMap;
use std::sync::Arc;

use mortice::client::distributed;
use mortice::services::{self, MetadataBuildRequest, MetadataBuildResult};
use pyo3::prelude::*;

use crate::results::{fields_repr, result_class, warn};
use crate::table::Table;
use crate::task_runner::PythonRunner;

result_class! {
    /// What was done with a metadata table, or would be.
    MetadataResult(partitions, added, dropped, files, bytes, deleted) {
        partitions: Vec<String>,
        added: Vec<String>,
        dropped: Vec<String>,
        files: u64,
        bytes: u64,
        deleted: Vec<(String, u64)>,
    }
    repr = |one| fields_repr(one, &["partitions", "added", "dropped", "files", "bytes"]);
}

#[pymethods]
impl Table {
    /// Changes the metadata table. With a runner, tasks of an engine read the keys of a record index and write its base
    /// files.
    #[pyo3(signature = (options, add, drop, rebuild, *, runner=None))]
    #[allow(clippy::too_many_arguments)]
    fn build_metadata(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        add: Vec<String>,
        drop: Vec<String>,
        rebuild: bool,
        runner: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<MetadataResult> {
        let request = MetadataBuildRequest { added: add, dropped: drop, rebuilds: rebuild, deletes: false };
        let tasks = runner.map(PythonRunner::new).transpose()?;
        let built = self.changed(py, |location| match tasks {
            None => services::run_metadata_build(location, &request, &options),
            Some(tasks) => distributed::build_metadata_by_tasks(location, &request, &options, Arc::new(tasks)),
        })?;
        result_of(py, built)
    }

    /// The name, the type and the columns of each index of the metadata table.
    fn indexes(&self, py: Python<'_>) -> PyResult<Vec<(String, String, String)>> {
        let found = self.planned(py, services::indexes)?;
        Ok(found.into_iter().map(|index| (index.name, index.kind, index.columns.join(","))).collect())
    }

    /// What `build_metadata` would do. Nothing is changed.
    fn plan_build_metadata(
        &self,
        py: Python<'_>,
        options: BTreeMap<String, String>,
        add: Vec<String>,
        drop: Vec<String>,
        rebuild: bool,
    ) -> PyResult<MetadataResult> {
        let request = MetadataBuildRequest { added: add, dropped: drop, rebuilds: rebuild, deletes: false };
        result_of(py, self.planned(py, |location| services::plan_metadata_build(location, &request, &options))?)
    }

    /// Deletes the metadata table.
    fn delete_metadata(&self, py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<MetadataResult> {
        result_of(py, self.changed(py, |location| services::run_metadata_build(location, &deletion(), &options))?)
    }

    /// What `delete_metadata` would delete. Nothing is changed.
    fn plan_delete_metadata(&self, py: Python<'_>, options: BTreeMap<String, String>) -> PyResult<MetadataResult> {
        result_of(py, self.planned(py, |location| services::plan_metadata_build(location, &deletion(), &options))?)
    }
}

fn deletion() -> MetadataBuildRequest {
    MetadataBuildRequest { added: Vec::new(), dropped: Vec::new(), rebuilds: false, deletes: true }
}

fn result_of(py: Python<'_>, built: MetadataBuildResult) -> PyResult<MetadataResult> {
    let MetadataBuildResult { partitions, added, dropped, files, bytes, deleted, warnings } = built;
    warn(py, &warnings)?;
    Ok(MetadataResult { partitions, added, dropped, files, bytes, deleted })
}
